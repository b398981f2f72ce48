"""A builder of tir loops, and copies of expressions with substituted values."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from ..dialects import tir
from ..dialects.names import name_of, set_name
from ..dialects.quick import clone
from ..dialects.sym.analyzer import Analyzer
from ..dialects.sym.expr import Const, SymExpr, Var, add, as_expr, floordiv, floormod
from ..dialects.tir import BufferType, ForKind
from ..ir.affine.values import Materializer

Insert = Callable[[Operation], object]


def result_of(insert: Insert, op: Operation) -> SSAValue:
    """Insert an operation and return its result."""
    insert(op)
    return op.results[0]


@dataclass(frozen=True)
class Iter:
    """An iterator of a block: its variable and its extent, starting at 0.

    With `parts`, (outer, …, inner), it is several fused iterators: `outer` is its value // inner.extent and `inner` the
    remainder. `var` is then the variable of `inner`, by which accesses advance.
    """

    var: SSAValue
    extent: SymExpr
    reduce: bool
    parts: tuple[Iter, ...] = ()

    @property
    def dtype(self) -> IntegerType:
        return cast(IntegerType, self.var.type)

    @property
    def expr(self) -> Var:
        return Var(self.var, self.dtype)


Bindings = dict[Iter, SSAValue]
"""The values of iterators at a point of the emitted loops."""


def unfused(place: SymExpr, extents: Sequence[SymExpr]) -> list[SymExpr]:
    """Return the values of the iterators with these extents, outermost first, for the value of the fused iterator.

    (t, [n, m])  ->  [t // m, t % m]
    """
    out: list[SymExpr] = []
    below: SymExpr = Const(1, place.dtype)
    for k in range(len(extents) - 1, -1, -1):
        out.append(floordiv(place if k == 0 else floormod(place, below * extents[k]), below))
        below = below * extents[k]
    return out[::-1]


_DECLARATIONS = (tir.AllocConstOp, tir.DeclBufferOp)


class Cloner:
    """Copies the operations that compute a value, with replacements; each operation is copied once."""

    def __init__(self, insert: Insert, replacements: Mapping[SSAValue, SSAValue] | None = None):
        self.insert = insert
        self._map = dict(replacements or {})

    def replace(self, old: SSAValue, new: SSAValue) -> None:
        """Replace `old`, where it is computed or used, by `new`."""
        self._map[old] = new

    def constant(self, value: int, dtype: IntegerType) -> SSAValue:
        return result_of(self.insert, tir.ConstOp(value, dtype))

    def cast(self, value: SSAValue, dtype: Attribute) -> SSAValue:
        """Return `value` cast to `dtype`."""
        return value if value.type == dtype else result_of(self.insert, tir.CastOp(value, dtype))

    def __call__(self, value: SSAValue) -> SSAValue:
        """Return the copy of the expression of `value`; a value from outside of the copied block is not copied."""
        known = self._map.get(value)
        if known is not None:
            return known
        if not isinstance(value, OpResult) or isinstance(value.op, tir.AllocBufferOp):
            return value
        op = value.op
        new = clone(op, {used: used if _declared_outside(used, op) else self(used) for used in captured(op)})
        self.insert(new)
        if op.regions:
            self._replace_inside(op, new)
        self._map[value] = new.results[value.index]
        return self._map[value]

    def _replace_inside(self, op: Operation, copy: Operation) -> None:
        """Apply replacements in the regions of a copy."""
        for old, new in list(zip(op.walk(), copy.walk(), strict=True))[1:]:
            known = [self._map.get(result) for result in old.results]
            if known and None not in known:
                for result, other in zip(new.results, known, strict=True):
                    result.replace_all_uses_with(cast(SSAValue, other))
                new.detach()
                new.erase()

    def store(self, store: tir.StoreOp, value: SSAValue | None = None) -> None:
        """Copy a store, optionally with another value."""
        value = self(store.value) if value is None else value
        self.insert(tir.StoreOp(value, store.buffer, [self(index) for index in store.indices]))


def _declared_outside(buffer: SSAValue, use: Operation) -> bool:
    """Return whether a buffer is declared outside of the block that uses it, so that copies share it."""
    declared = buffer.owner
    return isinstance(declared, _DECLARATIONS) and block_around(declared) is not block_around(use)


def block_around(op: Operation) -> Operation | None:
    """Return the schedulable block that contains an operation."""
    around = op.parent_op()
    while around is not None and not isinstance(around, tir.BlockOp):
        around = around.parent_op()
    return around


def _without_values(extent: SymExpr) -> SymExpr:
    """Return an extent, or its maximum if it varies between iterations of enclosing loops."""
    if all(v.value is None for v in extent.free_vars()):
        return extent
    high = Analyzer().bounds(extent).high
    return extent if high == inf else Const(int(high), extent.dtype)


def captured(op: Operation) -> list[SSAValue]:
    """Return the operands of `op` and the outer values that its regions use."""
    if not op.regions:
        return list(op.operands)
    inside = {r for inner in op.walk() for r in inner.results}
    return [o for inner in op.walk() for o in inner.operands if o not in inside]


class LoopBuilder:
    """Appends loops and statements to a block; expressions are inserted at the position of `insert`."""

    def __init__(self, block: Block):
        self.block = block
        self.build = Materializer(self.insert)

    def insert(self, op: Operation) -> None:
        self.block.add_op(op)

    def value(self, expr: SymExpr, dtype: IntegerType | None = None) -> SSAValue:
        """Return the value of an expression, in its own dtype unless another one is specified."""
        return self.build(expr, dtype)

    def op(self, op: Operation) -> SSAValue:
        """Append an operation and return its result."""
        return result_of(self.insert, op)

    def const(self, value: int | float, dtype: Attribute) -> SSAValue:
        """Return a constant."""
        return self.op(tir.ConstOp(value, dtype))

    def load(self, buffer: SSAValue, place: Sequence[SSAValue]) -> SSAValue:
        """Return the element, or the vector, loaded from a buffer."""
        return self.op(tir.LoadOp(buffer, place))

    def store(self, value: SSAValue, buffer: SSAValue, place: Sequence[SSAValue]) -> None:
        """Store an element or a vector."""
        self.insert(tir.StoreOp(value, buffer, place))

    def ramp(self, first: SSAValue, lanes: int) -> SSAValue:
        """Return the indices of a vector from its first index."""
        return self.op(tir.RampOp(first, self.const(1, first.type), lanes))

    def registers(self, shape: Sequence[SymExpr | int], dtype: Attribute) -> SSAValue:
        """Allocate a local buffer that is kept in registers; the length of its rows is fixed."""
        return self.scratch(shape, dtype, "local")

    def scratch(self, shape: Sequence[SymExpr | int], dtype: Attribute, scope: str = "global") -> SSAValue:
        """Allocate a buffer whose rows may be longer than what is used; extents that vary in loops are replaced by
        their bounds.
        """
        dims = [_without_values(as_expr(dim)) for dim in shape]
        return self.op(tir.AllocBufferOp(BufferType.of(dims, dtype, scope=scope), padded=True))

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Append to another block within the context."""
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
        written_out: bool = False,
    ) -> None:
        """Emit a loop from 0. A loop that runs once becomes its body, and a loop that never runs is omitted.

        A loop that is `written_out` is unrolled when machine code is generated.
        """
        count = as_expr(extent, dtype)
        if count.constant == 0:
            return
        if count.constant == 1 and kind is not ForKind.VECTORIZED:
            body(self.value(Const(0, dtype), dtype))
            return
        end = self.value(count, dtype) if any(v.value is not None for v in count.free_vars()) else count
        block = Block(arg_types=[dtype])
        set_name(block.args[0], name)
        with self.inside(block):
            body(block.args[0])
        annotations: dict[str, Any] | None = {tir.WRITTEN_OUT_LATE: True} if written_out else None
        self.insert(tir.ForOp(Const(0, dtype), end, Region(block), kind, annotations=annotations))

    def branch(self, cond: SSAValue, body: Callable[[], object], other: Block | None = None) -> None:
        """Emit `if cond`, with `other`, which is already built, as else branch."""
        block = Block()
        with self.inside(block):
            body()
        self.insert(tir.IfOp(cond, Region(block), None if other is None else Region(other)))

    def branch_either(self, cond: SSAValue, body: Callable[[], object], other: Callable[[], object]) -> None:
        """Emit `body` if a condition holds, else `other`."""
        block = Block()
        with self.inside(block):
            other()
        self.branch(cond, body, block)

    def branch_at_least(self, size: SymExpr, least: int, many: Callable[[], object], few: Callable[[], object]) -> None:
        """Emit `many` if a run-time size is at least `least`, else `few`."""
        enough = tir.GeOp(self.value(size), self.value(Const(least, size.dtype)))
        self.branch_either(self.op(enough), many, few)

    def branch_if_any(self, count: SymExpr, body: Callable[[], object]) -> None:
        """Emit `body` if a count is positive, without a branch if that is known at build time."""
        if count.constant is None:
            self.branch(self.op(tir.LtOp(self.value(Const(0, count.dtype)), self.value(count))), body)
        elif count.constant:
            body()

    def vectors(
        self, it: Iter, count: SymExpr | int, body: Callable[[SSAValue], object], name: str | None = None
    ) -> None:
        """Emit `body` for each of `count` consecutive values of an iterator, as vectors."""
        self.loop(count, body, dtype=it.dtype, kind=ForKind.VECTORIZED, name=name)

    def unrolled(self, dtype: IntegerType, count: int, body: Callable[[SSAValue], object]) -> None:
        """Emit `body` for each of `count` rows, unrolled."""
        self.loop(count, body, dtype=dtype, kind=ForKind.UNROLLED)

    def nest(self, iters: Sequence[Iter], where: Bindings, body: Callable[[Bindings], object]) -> None:
        """Emit serial loops over `iters`; `body` takes `where` extended by their values."""
        if not iters:
            body(where)
            return
        first, rest = iters[0], iters[1:]
        self.loop(
            first.extent,
            lambda v: self.nest(rest, {**where, first: v}, body),
            dtype=first.dtype,
            name=name_of(first.var),
        )

    def sum(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Return a + b, of one integer type."""
        dtype = cast(IntegerType, a.type)
        return self.value(add(Var(a, dtype), Var(b, cast(IntegerType, b.type))), dtype)

    def cloner(self, where: Bindings | None = None) -> Cloner:
        """Return a cloner that appends here, with the values of iterators for their variables."""
        return Cloner(lambda op: self.insert(op), {it.var: value for it, value in self.parts(where or {}).items()})

    def parts(self, where: Bindings) -> Bindings:
        """Return `where` with the values of both parts in place of those of fused iterators."""
        single: Bindings = {}
        for it, value in where.items():
            if it.parts:
                parts = unfused(Var(value, it.dtype), [part.extent for part in it.parts])
                single.update({part: self.value(e, it.dtype) for part, e in zip(it.parts, parts, strict=True)})
            else:
                single[it] = value
        return single
