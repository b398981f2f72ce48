"""Building scheduled loops: a small builder of tir, and copies of expressions with other values for some of theirs."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from ...dialects import tir
from ...dialects.names import set_name
from ...dialects.sym.expr import Const, SymExpr, as_expr
from ...dialects.tir import ForKind
from ...ir.affine import Materializer

Insert = Callable[[Operation], object]


class Cloner:
    """Copies the operations that compute a value, with replacements; each operation is copied once."""

    def __init__(self, insert: Insert):
        self.insert = insert
        self._map: dict[SSAValue, SSAValue] = {}

    def replace(self, old: SSAValue, new: SSAValue) -> None:
        """Where `old` is computed or used, `new` stands."""
        self._map[old] = new

    def constant(self, value: int, dtype: IntegerType) -> SSAValue:
        op = tir.ConstOp(value, dtype)
        self.insert(op)
        return op.result

    def cast(self, value: SSAValue, dtype: Attribute) -> SSAValue:
        """`value` as `dtype`."""
        if value.type == dtype:
            return value
        op = tir.CastOp(value, dtype)
        self.insert(op)
        return op.result

    def __call__(self, value: SSAValue) -> SSAValue:
        """The copy of what computes `value`; a value from outside of the copied block is itself."""
        found = self._map.get(value)
        if found is not None:
            return found
        if not isinstance(value, OpResult) or isinstance(value.op, tir.AllocBufferOp):
            return value
        op = value.op
        new = op.clone({used: self(used) for used in captured(op)})
        self.insert(new)
        self._map[value] = new.results[value.index]
        return self._map[value]


def captured(op: Operation) -> list[SSAValue]:
    """The operands of `op`, and what its regions use from outside."""
    inside = {r for inner in op.walk() for r in inner.results}
    return [o for inner in op.walk() for o in inner.operands if o not in inside]


class Loops:
    """Appends loops and statements to a block; expressions go where `insert` points."""

    def __init__(self, block: Block):
        self.block = block
        self.build = Materializer(self.insert)

    def insert(self, op: Operation) -> None:
        self.block.add_op(op)

    def value(self, expr: SymExpr, dtype: IntegerType) -> SSAValue:
        """The value of an expression."""
        return self.build(expr, dtype)

    def op(self, op: Operation) -> SSAValue:
        """Append an operation; its result."""
        self.insert(op)
        return op.results[0]

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Append to another block meanwhile."""
        outer = self.block, self.build
        self.block, self.build = block, Materializer(self.insert)
        try:
            yield
        finally:
            self.block, self.build = outer

    def loop(
        self,
        extent: SymExpr | int,
        body: Callable[[SSAValue], object],
        *,
        dtype: IntegerType,
        kind: ForKind = ForKind.SERIAL,
        name: str | None = None,
    ) -> None:
        """A loop from 0; one that runs once is its body, one that never runs is nothing."""
        count = as_expr(extent, dtype)
        if count.constant == 0:
            return
        if count.constant == 1 and kind is not ForKind.VECTORIZED:
            body(self.value(Const(0, dtype), dtype))
            return
        block = Block(arg_types=[dtype])
        set_name(block.args[0], name)
        with self.inside(block):
            body(block.args[0])
        self.insert(tir.ForOp(Const(0, dtype), count, Region(block), kind))

    def branch(self, cond: SSAValue, body: Callable[[], object]) -> None:
        """`if cond`."""
        block = Block()
        with self.inside(block):
            body()
        self.insert(tir.IfOp(cond, Region(block)))

    def cloner(self) -> Cloner:
        """Copies of expressions, appended here."""
        return Cloner(lambda op: self.insert(op))
