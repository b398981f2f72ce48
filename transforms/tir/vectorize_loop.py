"""`vectorize-loop`: loops of kind `vectorized` become operations on vectors.

    for vectorized %i to 8 {store load %A[%j * 8 + %i], %B[%i]}
      ->  store load %A[ramp(%j * 8, 1, 8)], %B[ramp(0, 1, 8)]

What the loop variable does not reach is computed once, and broadcast. A loop with something in it that has no form for
vectors (a branch that differs from lane to lane, a call with effects, an index of a dimension other than the last, a
store of all lanes to one place) becomes a serial loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, VectorType
from xdsl.ir import Block, Operation, Region, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.names import name_of, set_name
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import Const, SymExpr, Var, add
from ...dialects.tir import ForKind
from ...ir.affine.values import Materializer, sym_expr_of
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import inserter
from ...ir.verification.verify import location_of
from .walk import bound_expr, erase_with_tree, functions, remove_dead

_ELEMENTWISE = (*tir.BINARY.values(), tir.CastOp, tir.NotOp, tir.ReinterpretOp, tir.CallIntrinOp)


@dataclass(frozen=True)
class VectorizeLoop(Pass):
    """Vectorize loops of kind `vectorized`; with `enable_vectorize` false these are made serial.

    Raises `UnsupportedError` for a vectorized loop whose extent is no constant.
    """

    name = "vectorize-loop"
    enable_vectorize: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            loops = [inner for inner in func.walk() if isinstance(inner, tir.ForOp)]
            found = [loop for loop in loops if loop.kind is ForKind.VECTORIZED]
            for loop in reversed(found):
                if not self.enable_vectorize:
                    loop.properties.pop("kind_attr")
                elif not _vectorize(loop):
                    loop.properties.pop("kind_attr")
                    set_name(loop.loop_var, f"{name_of(loop.loop_var) or 'i'}_s")
            if found:
                remove_dead(func)


class _NotAVector(Exception):
    """Something in a loop has no form for vectors."""


def _vectorize(loop: tir.ForOp) -> bool:
    """Put vectors in place of a loop; false where that cannot be done, and nothing has changed."""
    lanes = bound_expr(loop.extent).constant
    if lanes is None:
        raise UnsupportedError(
            "a vectorized loop has no constant extent",
            location=location_of(loop),
            expected="a constant",
            found=loop.extent,
        )
    out = Block()
    try:
        _Vectorizer(loop, lanes, out).block(loop.body.block)
    except _NotAVector:
        return False
    insert = inserter(loop)
    for op in list(out.ops):
        op.detach()
        insert(op)
    erase_with_tree(loop)
    return True


class _Vectorizer:
    """Builds the vector form of the body of one loop at the end of `out`."""

    def __init__(self, loop: tir.ForOp, lanes: int, out: Block):
        self.lane = loop.loop_var
        self.first = bound_expr(loop.min)
        self.lanes = lanes
        self.out = out
        self.varying: set[SSAValue] = {loop.loop_var}
        self.values: dict[SSAValue, SSAValue] = {}

    def block(self, block: Block) -> None:
        for op in block.ops:
            self._operation(op)

    def _add(self, op: Operation) -> SSAValue:
        self.out.add_op(op)
        return op.results[0]

    def _operation(self, op: Operation) -> None:
        if any(isinstance(v.type, VectorType) for v in (*op.operands, *op.results)):
            raise _NotAVector
        rule = _RULES.get(type(op))
        if rule is not None:
            rule(self, op)
        elif any(o in self.varying for o in op.operands):
            self.varying.update(op.results)
            if isinstance(op, _ELEMENTWISE):
                self._elementwise(op)
            else:
                raise _NotAVector
        elif isinstance(op, (*_ELEMENTWISE, tir.ConstOp, ValueOp)):
            self._add(op.clone(self.values))
        else:
            raise _NotAVector

    def vector(self, value: SSAValue) -> SSAValue:
        """A value in all lanes: its vector where it varies, else a broadcast."""
        if value not in self.varying:
            return self._add(tir.BroadcastOp(self.values.get(value, value), self.lanes))
        ramp = self.ramp(value) if isinstance(value.type, IntegerType) else None
        found = ramp or self.values.get(value)
        if found is None:
            raise _NotAVector
        return found

    def ramp(self, value: SSAValue) -> SSAValue | None:
        """An integer as base and stride; None where it is none."""
        e = sym_expr_of(value)
        lane = Var(self.lane, cast(IntegerType, self.lane.type))
        if any(v.value in self.varying and v != lane for v in e.free_vars()):
            return None
        slope = (e.substitute({lane: add(lane, 1)}) - e).constant
        if slope is None:
            return None
        dtype = cast(IntegerType, value.type)
        base = self._scalar(e.substitute({lane: self.first}), dtype)
        return self._add(tir.RampOp(base, self._scalar(Const(slope, dtype), dtype), self.lanes))

    def _scalar(self, e: SymExpr, dtype: IntegerType) -> SSAValue:
        """An expression over values of the loop's body, which have copies here."""
        copies = {v: self.values.get(v.value) for v in e.free_vars() if v.value is not None}
        inside = {v: Var(copy, v.dtype) for v, copy in copies.items() if copy is not None}
        return Materializer(self.out.add_op)(e.substitute(inside), dtype)

    def _elementwise(self, op: Operation) -> None:
        operands = [self.vector(o) for o in op.operands]
        types = [VectorType(r.type, [self.lanes]) for r in op.results]
        new = type(op).create(operands=operands, result_types=types, properties=dict(op.properties))
        self.values[op.results[0]] = self._add(new)
        set_name(new.results[0], name_of(op.results[0]))

    def select(self, op: tir.SelectOp) -> None:
        """A condition that is one for all lanes stays one."""
        if not any(o in self.varying for o in op.operands):
            self._add(op.clone(self.values))
            return
        cond = self.vector(op.cond) if op.cond in self.varying else self.values.get(op.cond, op.cond)
        self.varying.add(op.result)
        self.values[op.result] = self._add(tir.SelectOp(cond, self.vector(op.true_value), self.vector(op.false_value)))

    def let(self, op: tir.LetOp) -> None:
        if op.value not in self.varying:
            self._add(op.clone(self.values))
            return
        self.varying.add(op.result)
        self.values[op.result] = self._add(tir.LetOp(self.vector(op.value)))
        set_name(self.values[op.result], name_of(op.result))

    def load(self, op: tir.LoadOp) -> None:
        if not any(o in self.varying for o in op.operands):
            self._add(op.clone(self.values))
            return
        new = tir.LoadOp(self.values.get(op.buffer, op.buffer), self._indices(list(op.indices)))
        self.varying.add(op.result)
        self.values[op.result] = self._add(new)

    def store(self, op: tir.StoreOp) -> None:
        indices = list(op.indices)
        if not indices or indices[-1] not in self.varying:
            raise _NotAVector
        self.out.add_op(tir.StoreOp(self.vector(op.value), op.buffer, self._indices(indices)))

    def _indices(self, indices: list[SSAValue]) -> list[SSAValue]:
        if any(i in self.varying for i in indices[:-1]):
            raise _NotAVector
        return [*(self.values.get(i, i) for i in indices[:-1]), self.vector(indices[-1])]

    def loop(self, op: tir.ForOp) -> None:
        if any(o in self.varying for o in op.operands) or op.kind is ForKind.VECTORIZED:
            raise _NotAVector
        body = Block(arg_types=[op.loop_var.type])
        set_name(body.args[0], name_of(op.loop_var))
        self.values[op.loop_var] = body.args[0]
        self._inside(body, op.body.block)
        first, extent = (self.values.get(b, b) if isinstance(b, SSAValue) else b for b in (op.min, op.extent))
        thread = None if op.thread is None else op.thread.data
        self.out.add_op(tir.ForOp(first, extent, Region(body), op.kind, thread=thread, annotations=op.annotations))

    def branch(self, op: tir.IfOp) -> None:
        if op.cond in self.varying:
            raise _NotAVector
        regions = [Region(Block()) if r.first_block is not None else Region() for r in op.regions]
        for new, old in zip(regions, op.regions, strict=True):
            if old.first_block is not None:
                self._inside(new.block, old.block)
        self.out.add_op(tir.IfOp(self.values.get(op.cond, op.cond), *regions))

    def _inside(self, target: Block, source: Block) -> None:
        outer, self.out = self.out, target
        self.block(source)
        self.out = outer


_RULES: dict[type[Operation], Callable[[_Vectorizer, Operation], None]] = cast(
    "dict[type[Operation], Callable[[_Vectorizer, Operation], None]]",
    {
        tir.LoadOp: _Vectorizer.load,
        tir.StoreOp: _Vectorizer.store,
        tir.SelectOp: _Vectorizer.select,
        tir.LetOp: _Vectorizer.let,
        tir.ForOp: _Vectorizer.loop,
        tir.IfOp: _Vectorizer.branch,
    },
)
