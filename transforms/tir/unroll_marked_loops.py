"""`unroll-marked-loops`: unroll loops of kind `unrolled`, as the last transformation of a tensor function.

    for unrolled %i to 2 {store %x, %A[%i * 4 + %j]}  ->  store %x, %A[0 * 4 + %j]; store %x, %A[1 * 4 + %j]

A schedule or `mark-unrolled-loops` sets the kind. Loops are kept if the extent is not constant even after unrolling the
loops around them, if it exceeds 512, or if the result exceeds the limit `unroll.statements`: unlike in `unroll-loop`,
the kind is only a hint here, and such a loop runs serially. Loop-invariant expressions are not repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects import tir
from ...dialects.dtypes import is_float
from ...dialects.tir import ForKind
from ...ir.affine.values import Materializer
from ...ir.passes.limits import limit
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import insert_all_before
from .walk import bound_expr, copied, erase_with_tree, folded, functions, move_out, outermost

_LIMIT = 512


@dataclass(frozen=True)
class UnrollMarkedLoops(Pass):
    """Unroll loops of kind `unrolled`, outer ones first: their variables may occur in the extents of inner ones."""

    name = "unroll-marked-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        most = limit("unroll.statements")
        for func in functions(op):
            todo = list(outermost(func.body.block.ops, ForKind.UNROLLED))
            while todo:
                loop = todo.pop()
                if _count(loop, {}) is None or _written(loop) > most:
                    todo += outermost(loop.body.block.ops, ForKind.UNROLLED)
                else:
                    todo += _WriteOut(loop).rest


def _count(loop: tir.ForOp, values: dict[SSAValue, SSAValue]) -> int | None:
    """Return how often to unroll a loop after substituting values, or None if not at all."""
    if loop.kind is not ForKind.UNROLLED:
        return None
    extent = loop.extent
    count = bound_expr(values.get(extent, extent) if isinstance(extent, SSAValue) else extent).constant
    return count if count is not None and count <= _LIMIT else None


def _written(loop: tir.ForOp) -> int:
    """Return the maximum number of statements of the unrolled loop, including nested ones."""
    count = _count(loop, {})
    inside = [_written(op) if isinstance(op, tir.ForOp) else 1 for op in loop.body.block.ops if not op.results]
    return (1 if count is None else count) * max(sum(inside), 1)


def _move_out(loop: tir.ForOp) -> None:
    """Hoist loop-invariant operations out of a loop and its nested loops."""
    for inner in outermost(loop.body.block.ops, ForKind.UNROLLED):
        _move_out(inner)
    move_out(loop)


class _WriteOut:
    """Unroller of a loop and of the loops directly inside it; `rest` are the remaining marked loops."""

    def __init__(self, loop: tir.ForOp):
        self.rest: list[tir.ForOp] = []
        self._copies: list[Operation] = []
        self._insert = self._copies.append
        self._build = Materializer(self._insert)
        self._shared: dict[tuple[object, ...], SSAValue] = {}
        _move_out(loop)
        self._loop(loop, {})
        insert_all_before(loop, self._copies)
        erase_with_tree(loop)

    def _loop(self, loop: tir.ForOp, values: dict[SSAValue, SSAValue]) -> None:
        count, variable = _count(loop, values), loop.loop_var
        dtype = cast(IntegerType, variable.type)
        body = [(op, tuple(op.operands), _is_index_arithmetic(op)) for op in loop.body.block.ops]
        first = bound_expr(values.get(loop.min, loop.min) if isinstance(loop.min, SSAValue) else loop.min)
        for i in range(count or 0):
            values[variable] = self._build(first + i, dtype)
            for op, reads, shared in body:
                if op.regions:
                    self._nested(op, values)
                    continue
                operands = [values.get(o, o) for o in reads]
                if shared:
                    values[op.results[0]] = self._once(op, operands)
                else:
                    self._insert(copy := copied(op, operands))
                    values.update(zip(op.results, copy.results, strict=True))

    def _nested(self, op: Operation, values: dict[SSAValue, SSAValue]) -> None:
        if isinstance(op, tir.ForOp) and _count(op, values) is not None:
            self._loop(op, values)
        else:
            self._insert(copy := op.clone(values))
            self.rest += outermost([copy], ForKind.UNROLLED)

    def _once(self, op: Operation, operands: list[SSAValue]) -> SSAValue:
        """Return the value of index arithmetic, reusing an existing operation."""
        dtype = op.results[0].type
        value = folded(type(op), operands)
        if isinstance(value, SSAValue):
            return value
        # By identity: hashing a type takes as long as creating the operation.
        key = (type(op), id(dtype), *map(id, operands)) if value is None else (value, id(dtype))
        result = self._shared.get(key)
        if result is None:
            copy = copied(op, operands) if value is None else tir.ConstOp(value, dtype)
            self._insert(copy)
            result = self._shared[key] = copy.results[0]
        return result


def _is_index_arithmetic(op: Operation) -> bool:
    return type(op) in _ONCE and not is_float(op.results[0].type)


_ONCE = frozenset[type[Operation]]((tir.AddOp, tir.SubOp, tir.MulOp, tir.RampOp))
