"""Values of MLIR in a tensor function: expressions and sizes of scalars, buffers of arrays and memrefs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    IntegerType,
    MemRefType,
    StridedLayoutAttr,
    TensorType,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.names import set_name
from ....dialects.sym import ValueOp
from ....dialects.sym.expr import Const, SymExpr, Var
from ....ir.affine.values import Materializer
from ....ir.locations import location_of
from ..blocks import Place, direct
from ..scalars import Expressions, scalar_type
from ..structured import element_of

Bound = SymExpr | SSAValue
"""A size, or the expression of a number."""


def is_array(value: SSAValue) -> bool:
    """Return whether a value has elements: whether it is a tensor or a vector, not a scalar or memref."""
    return isinstance(value.type, TensorType | VectorType)


def is_fixed(size: SymExpr) -> bool:
    """Return whether a size is composed of constants and variables of the function, not of values in it."""
    return all(variable.value is None for variable in size.free_vars())


def place_of(value: SSAValue) -> Any:
    """Return the location of the operation that makes a value."""
    return location_of(value.owner if isinstance(value.owner, Operation) else None)


class Values:
    """Expressions, sizes and buffers of the values of a function, and loops over their elements."""

    def __init__(self) -> None:
        self.e = Expressions(Block())
        self.known: dict[SSAValue, SSAValue] = {}
        self.sizes: dict[SSAValue, SymExpr] = {}
        self.places: dict[SSAValue, Place] = {}
        self.buffers: dict[SSAValue, SSAValue] = {}
        """Memrefs and arrays that are a buffer, not a part of one."""
        self.dims: dict[SSAValue, Sequence[SymExpr]] = {}
        self._computed: dict[SSAValue, SymExpr] = {}
        """Sizes of parts that are computed: variables for values of the tensor function."""
        self.owned: set[SSAValue] = set()
        """Arrays whose buffer may be overwritten once they have no further use."""
        self.mask: SSAValue | None = None
        """That of the `vector.mask` around an operation."""
        self.bases: dict[SSAValue, SSAValue] = {}
        """The memref of each base that `memref.extract_strided_metadata` takes of one."""

    # -- values ------------------------------------------------------------------------------------------------------

    def value(self, value: SSAValue) -> SSAValue:
        """Return the expression of a scalar."""
        known = self.known.get(value)
        if known is not None:
            return known
        size = self.sizes.get(value)
        if size is None:
            raise UnsupportedError("a value from outside of the function", location=place_of(value))
        if size.constant is not None:
            return self.e.const(size.constant, scalar_type(value.type))
        return self.e.cast(self.number(size), scalar_type(value.type))

    def values(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Return the expressions of scalars."""
        return [self.value(v) for v in values]

    def bound(self, value: SSAValue) -> Bound:
        """Return a bound of a loop as a size if it is one."""
        size = self.sizes.get(value)
        return size if size is not None and is_fixed(size) else self.value(value)

    def number(self, value: Bound, type: Attribute = i64) -> SSAValue:
        """Return a size or a value as an expression."""
        if isinstance(value, SSAValue):
            return value
        if not is_fixed(value):
            return Materializer(self.e.add)(value, cast(IntegerType, type))
        return self.e.const(value.constant, type) if value.constant is not None else self.e.add(ValueOp(value))

    def size(self, value: SSAValue, of: str) -> SymExpr:
        """Return an index as a size. Raises `UnsupportedError` for one that is computed from data."""
        size = self.sizes.get(value)
        if size is None:
            raise UnsupportedError(
                f"{of} whose size is computed from data",
                location=place_of(value),
                expected="constants, dimensions of tensors and memrefs, and arithmetic of them",
            )
        return size

    def part_size(self, value: SSAValue) -> SymExpr:
        """Return an index as the size of a part; it may be computed, of the index of a loop for instance."""
        known = self.sizes.get(value) or self._computed.get(value)
        if known is None:
            number = self.e.add(tir.LetOp(self.e.cast(self.value(value), i64)))
            known = self._computed[value] = Var(number, i64)
        return known

    def shape(self, type: Attribute, dynamic: Sequence[SSAValue], of: str) -> list[SymExpr]:
        """Return the sizes of a type, whose unknown ones are values."""
        rest = iter(dynamic)
        shape = cast("MemRefType[Attribute]", type).get_shape()
        return [self.size(next(rest), of) if d == DYNAMIC_INDEX else Const(d) for d in shape]

    # -- buffers -----------------------------------------------------------------------------------------------------

    def new_buffer(self, value: SSAValue, buffer: SSAValue, owned: bool = False) -> None:
        """Remember that a memref or an array is a buffer."""
        self.places[value] = direct(buffer)
        self.buffers[value] = buffer
        self.dims[value] = cast(tir.BufferType, buffer.type).dims
        if owned:
            self.owned.add(value)

    def new_memref(self, value: SSAValue, buffer: SSAValue) -> None:
        """Remember a memref; one with a layout of its own is no buffer, whose elements would lie in order."""
        self.new_buffer(value, buffer)
        if isinstance(getattr(value.type, "layout", None), StridedLayoutAttr | AffineMapAttr):
            del self.buffers[value]

    def alloc(self, dims: Sequence[SymExpr], dtype: Attribute) -> SSAValue:
        """Return a new buffer. Raises `UnsupportedError` for sizes that are computed."""
        if not all(map(is_fixed, dims)):
            raise UnsupportedError(
                "an allocation whose size is computed from data",
                expected="constants, dimensions of tensors and memrefs, and arithmetic of them",
            )
        return self.e.add(tir.AllocBufferOp(tir.BufferType.of(dims, dtype)))

    def same(self, value: SSAValue, source: SSAValue) -> None:
        """Let a value be what another one is."""
        for table in (self.places, self.dims, self.sizes, self.known, self.buffers):
            if source in table:
                cast("dict[SSAValue, Any]", table)[value] = cast("dict[SSAValue, Any]", table)[source]
        if source in self.owned and len(list(source.uses)) == 1:
            self.owned.add(value)

    def element(self, value: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        """Return the element of an array or memref at some indices, as it is at this point."""
        return self.e.add(tir.LetOp(self.read(self.places[value], indices)))

    def read(self, place: Place, indices: Sequence[SSAValue]) -> SSAValue:
        """Return the expression of an element."""
        return self.e.add(tir.LoadOp(*place(self.e, indices)))

    def write(self, value: SSAValue, place: Place, indices: Sequence[SSAValue]) -> None:
        """Store an element."""
        self.e.block.add_op(tir.StoreOp(value, *place(self.e, indices)))

    def each(self, dims: Sequence[SymExpr], body: Callable[[list[SSAValue]], None]) -> None:
        """Append loops over all indices."""

        def nest(rest: Sequence[SymExpr], indices: list[SSAValue]) -> None:
            if not rest:
                body(indices)
                return
            self.loop(Const(0), rest[0], Const(1), lambda index: nest(rest[1:], [*indices, index]))

        nest(dims, [])

    def array(
        self,
        value: SSAValue,
        dims: Sequence[SymExpr],
        compute: Callable[[list[SSAValue]], SSAValue],
    ) -> None:
        """Let an array be a new buffer, whose elements are computed at their indices."""
        buffer = self.alloc(dims, element_of(value))
        self.each(dims, lambda indices: self.write(compute(indices), direct(buffer), indices))
        self.new_buffer(value, buffer, owned=True)

    def static(self, value: SSAValue) -> list[SymExpr]:
        """Return the sizes of an array of known shape, such as a vector."""
        shape = cast("VectorType[Attribute]", value.type).get_shape()
        if isinstance(value.type, VectorType) and value.type.get_num_scalable_dims():
            raise UnsupportedError(f"the scalable {value.type}", location=place_of(value), expected="fixed extents")
        return [Const(d) for d in shape]

    def copy(self, dims: Sequence[SymExpr], source: Place, target: Place) -> None:
        """Copy all elements."""
        self.each(dims, lambda indices: self.write(self.read(source, indices), target, indices))

    def reusable(self, value: SSAValue, at: Operation) -> bool:
        """Return whether `at` may overwrite an array in place: it is its only use, and runs once for each of them."""
        return (
            value in self.owned
            and value in self.buffers
            and len(list(value.uses)) == 1
            and value.owner in (at.parent, *(at.parent.ops if at.parent is not None else ()))
        )

    def updated(self, value: SSAValue, at: Operation, result: SSAValue) -> SSAValue:
        """Return the buffer of `result`, which begins as a copy of `value`, or as it."""
        if self.reusable(value, at):
            buffer = self.buffers[value]
        else:
            buffer = self.alloc(self.dims[value], element_of(value))
            self.copy(self.dims[value], self.places[value], direct(buffer))
        self.new_buffer(result, buffer, owned=True)
        return buffer

    # -- blocks and loops ---------------------------------------------------------------------------------------------

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Append to a block."""
        outer, self.e = self.e, Expressions(block)
        try:
            yield
        finally:
            self.e = outer

    def loop(
        self,
        low: Bound,
        high: Bound,
        step: Bound,
        body: Callable[[SSAValue], None],
        kind: tir.ForKind = tir.ForKind.SERIAL,
        type: Attribute = i64,
    ) -> None:
        """Append a loop from `low` to `high`; `body` takes the index."""
        simple = isinstance(step, SymExpr) and step.constant == 1
        if simple and isinstance(low, SymExpr) and isinstance(high, SymExpr) and is_fixed(low) and is_fixed(high):
            first: Bound = low
            extent: Bound = high - low
        else:
            start, end, by = (self.number(v, type) for v in (low, high, step))
            count = self.e.binary("sub", end, start)
            first = Const(0, type) if not simple else start  # type: ignore[arg-type]
            extent = count if simple else self.rounded_up(count, by)
        block = Block(arg_types=[type])
        set_name(block.args[0], "i")
        self.e.block.add_op(tir.ForOp(first, extent, Region(block), kind))
        with self.inside(block):
            index = block.args[0]
            if not simple:
                index = self.e.binary(
                    "add", self.number(low, type), self.e.binary("mul", index, self.number(step, type))
                )
            body(index)

    def rounded_up(self, count: SSAValue, step: SSAValue) -> SSAValue:
        """Return the quotient of two numbers, rounded up."""
        zero = self.e.const(0, count.type)
        return self.e.binary("sub", zero, self.e.binary("floordiv", self.e.binary("sub", zero, count), step))
