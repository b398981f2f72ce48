"""`unroll-marked-loops`: loops of kind `unrolled` are written out, when a tensor function is what it shall be.

    for unrolled %i to 2 {store %x, %A[%i * 4 + %j]}  ->  store %x, %A[0 * 4 + %j]; store %x, %A[1 * 4 + %j]

Which loops these are was said by a schedule or found by `mark-unrolled-loops`. A loop whose extent is no constant, not
even where the loops around it are written out, or above 512, or that becomes longer than the limit
`unroll.statements` stays as it is: the kind is a wish here, unlike in
`unroll-loop`, and such a loop runs serially. Expressions that do not depend on the loop are not repeated.
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
    """Write loops of kind `unrolled` out, outer ones first: their variables may be in the extents of inner ones."""

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
    """How often a loop is to be written out where values have become others; None if not at all."""
    if loop.kind is not ForKind.UNROLLED:
        return None
    extent = loop.extent
    count = bound_expr(values.get(extent, extent) if isinstance(extent, SSAValue) else extent).constant
    return count if count is not None and count <= _LIMIT else None


def _written(loop: tir.ForOp) -> int:
    """How many statements the loop, with those in it, becomes at the most."""
    count = _count(loop, {})
    inside = [_written(op) if isinstance(op, tir.ForOp) else 1 for op in loop.body.block.ops if not op.results]
    return (1 if count is None else count) * max(sum(inside), 1)


def _move_out(loop: tir.ForOp) -> None:
    """Move what is the same each time before a loop, out of the loops in it as well."""
    for inner in outermost(loop.body.block.ops, ForKind.UNROLLED):
        _move_out(inner)
    move_out(loop)


class _WriteOut:
    """Puts copies in place of a loop and of the loops directly in it; `rest` are the marked loops that are left."""

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
        """What index arithmetic gives, for which no second operation is made."""
        dtype = op.results[0].type
        value = folded(type(op), operands)
        if isinstance(value, SSAValue):
            return value
        # By identity: hashing a type takes as long as making the operation.
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
