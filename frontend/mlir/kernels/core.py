"""The state of a translation to a tensor function: the values, sizes and buffers so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StridedLayoutAttr,
    TensorType,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....diagnostics import ShapeError, UnsupportedError
from ....dialects import tir
from ....dialects.names import set_name
from ....dialects.sym import ValueOp
from ....dialects.sym.expr import Const, SymExpr
from ....ir.locations import location_of
from ..blocks import Place, Storage, append_block, append_loops, direct, extents_of
from ..scalars import RULES, Expressions, expression, scalar_type
from ..sizes import size_of
from ..structured import element_of, rank, structured

Bound = SymExpr | SSAValue
"""A size, or the expression of a number."""
STATEMENTS: dict[str, Callable[[Kernel, Any], None]] = {}
"""operation -> its translation; the files of this folder add theirs."""
ENDS = frozenset(
    ("func.return", "scf.yield", "scf.condition", "affine.yield", "scf.reduce", "scf.reduce.return",
     "memref.alloca_scope.return", "memref.atomic_yield", "scf.forall.in_parallel", "linalg.yield")
)  # fmt: skip
"""The terminators of blocks without successors."""


def is_array(value: SSAValue) -> bool:
    """Return whether a value has elements: whether it is a tensor or a vector, not a scalar or memref."""
    return isinstance(value.type, TensorType | VectorType)


def place_of(value: SSAValue) -> Any:
    """Return the location of the operation that makes a value."""
    return location_of(value.owner if isinstance(value.owner, Operation) else None)


class Kernel:
    """Translates the body of a function to a tensor function."""

    def __init__(self, functions: dict[str, func.FuncOp], globals_: dict[str, Operation] | None = None):
        self.functions, self.globals = functions, globals_ or {}
        self.e = Expressions(Block())
        self.known: dict[SSAValue, SSAValue] = {}
        self.sizes: dict[SSAValue, SymExpr] = {}
        self.places: dict[SSAValue, Place] = {}
        self.buffers: dict[SSAValue, SSAValue] = {}
        """Memrefs and arrays that are a buffer, not a part of one."""
        self.dims: dict[SSAValue, Sequence[SymExpr]] = {}
        self.owned: set[SSAValue] = set()
        """Arrays whose buffer may be overwritten once they have no further use."""
        self.bases: dict[SSAValue, SSAValue] = {}
        """The memref of each base that `memref.extract_strided_metadata` takes of one."""
        self.open: list[func.FuncOp] = []

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
        return self.e.cast(self.e.add(ValueOp(size)), scalar_type(value.type))

    def values(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Return the expressions of scalars."""
        return [self.value(v) for v in values]

    def bound(self, value: SSAValue) -> Bound:
        """Return a bound of a loop as a size if it is one."""
        return self.sizes.get(value) or self.value(value)

    def number(self, value: Bound, type: Attribute = i64) -> SSAValue:
        """Return a size or a value as an expression."""
        if isinstance(value, SSAValue):
            return value
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
        """Return a new buffer."""
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

    # -- statements --------------------------------------------------------------------------------------------------

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Append to a block."""
        outer, self.e = self.e, Expressions(block)
        try:
            yield
        finally:
            self.e = outer

    def run(self, block: Block) -> list[SSAValue]:
        """Translate the operations of a block without successors; return what its terminator takes."""
        for op in block.ops:
            if op.name in ENDS:
                return list(op.operands)
            self.statement(op)
        return []

    def statement(self, op: Operation) -> None:
        """Translate an operation. Raises `UnsupportedError` for one without a rule."""
        rule = STATEMENTS.get(op.name)
        if rule is not None:
            rule(self, op)
        elif self._size(op) or self._constant(op):
            return
        elif op.name in RULES and not any(map(is_array, op.results)):
            self.known[op.results[0]] = expression(self.e, op, self.values(op.operands))
        else:
            self._structured(op)

    def _size(self, op: Operation) -> bool:
        value = op.properties.get("value")
        if op.name == "arith.constant" and isinstance(value, IntegerAttr) and isinstance(value.type, IndexType):
            self.sizes[op.results[0]] = Const(value.value.data)
            return True
        if not op.operands or not isinstance(op.operands[0].type, IndexType):
            return False
        known = [self.sizes[v] for v in op.operands if v in self.sizes]
        result = size_of(op, known) if len(known) == len(op.operands) else None
        if not isinstance(result, SymExpr):
            return False
        self.sizes[op.results[0]] = result
        return True

    def _constant(self, op: Operation) -> bool:
        value = op.properties.get("value")
        if op.name != "arith.constant" or not isinstance(value, DenseIntOrFPElementsAttr):
            return False
        result = op.results[0]
        self.constant(result, value)
        return True

    def constant(self, result: SSAValue, value: DenseIntOrFPElementsAttr, dims: Sequence[SymExpr] = ()) -> None:
        """Let an array hold constants."""
        dtype = element_of(result)
        dims = dims or self.static(result)
        numbers = value.get_values()
        content = (lambda n: abs(int(n))) if str(dtype) == "i1" else (lambda n: n)
        if value.is_splat():
            self.array(result, dims, lambda indices: self.e.const(content(numbers[0]), dtype))
            return
        if len(numbers) > _WRITTEN_OUT:
            raise UnsupportedError(
                f"{len(numbers)} constants in a function on memrefs",
                location=place_of(result),
                expected=f"at most {_WRITTEN_OUT}, or an argument",
            )
        buffer = self.alloc(dims, dtype)
        shape = [cast(int, d.constant) for d in dims]
        for flat, number in enumerate(numbers):
            indices: list[SSAValue] = []
            for extent in reversed(shape):
                flat, index = divmod(flat, extent)
                indices.insert(0, self.e.const(index, i64))
            self.write(self.e.const(content(number), dtype), direct(buffer), indices)
        self.new_buffer(result, buffer, owned=True)

    def _structured(self, op: Operation) -> None:
        s = structured(op)
        if s is None:
            raise UnsupportedError(
                f"'{op.name}' in a function on memrefs",
                location=location_of(op),
                hint="docs/mlir.md lists what is read",
            )
        if any(v not in self.dims for v in s.outputs):  # elementwise: the outputs are the results
            first = next((v for v in s.inputs if is_array(v)), None)
            for v in s.outputs:
                self.dims[v] = self.static(v) if first is None else self.dims[first]
        shaped = [v for v in (*s.inputs, *s.outputs) if rank(v) or v in self.places or is_array(v)]
        extents = extents_of(s, {v: self.dims[v] for v in shaped}, op)
        starts: list[Place | tir.ConstOp | None] = [None] * len(s.outputs)
        outputs = [self.places[v] for v in s.outputs if v in self.places]
        if op.results:
            outputs = self._results(op, s.outputs, s.updates, starts)

        def outer(e: Expressions, value: SSAValue) -> SSAValue:
            with self.inside(e.block):
                return self.buffers[value] if value in self.buffers else self.value(value)

        inputs = {v: self.places[v] for v in s.inputs if v in self.places}
        storage = Storage(inputs, outputs, starts, outer)
        direct_ones = all(v in self.buffers for v in shaped if v not in op.results)
        append = append_block if direct_ones and not self._inner(op) else append_loops
        append(self.e.block, s, extents, storage)

    def _inner(self, op: Operation) -> bool:
        """Return whether an operation is on vectors: no block is scheduled for a few elements."""
        return any(isinstance(v.type, VectorType) for v in (*op.operands, *op.results))

    def _results(
        self, op: Operation, outputs: Sequence[SSAValue], updates: bool, starts: list[Place | tir.ConstOp | None]
    ) -> list[Place]:
        """Allocate the results of an operation on arrays; note the initial values of `outputs` in `starts`."""
        made: list[Place] = []
        for number, (output, result) in enumerate(zip(outputs, op.results, strict=True)):
            if output in op.operands and self.reusable(output, op):
                buffer = self.buffers[output]
            else:
                buffer = self.alloc(self.dims[output], element_of(result))
                starts[number] = self.places[output] if updates and output in self.places else None
            self.new_buffer(result, buffer, owned=True)
            made.append(direct(buffer))
        if any(start is not None for start in starts) and any(start is None for start in starts):
            starts[:] = [start or place for start, place in zip(starts, made, strict=True)]
        return made

    # -- loops and variables -----------------------------------------------------------------------------------------

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
        if simple and isinstance(low, SymExpr) and isinstance(high, SymExpr):
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

    def variable(self, value: SSAValue) -> Variable:
        """Return a new variable for values like this one, without a value yet."""
        if is_array(value):
            return Variable(self.alloc(self.dims[value], element_of(value)), value)
        if isinstance(value.type, MemRefType):
            return Variable(None, value)
        return Variable(self.cell(scalar_type(value.type)), value)

    def cell(self, dtype: Attribute) -> SSAValue:
        """Return a new buffer with one element."""
        return self.alloc([Const(1)], dtype)

    def variables(self, values: Sequence[SSAValue]) -> list[Variable]:
        """Return new variables with these values."""
        made = [self.variable(v) for v in values]
        self.leave(made, values)
        return made

    def get(self, cell: SSAValue) -> SSAValue:
        """Return the number in a cell at this point."""
        return self.e.add(tir.LetOp(self.e.add(tir.LoadOp(cell, [self.e.const(0, i64)]))))

    def set(self, cell: SSAValue, value: SSAValue) -> None:
        """Put a number into a cell."""
        self.e.block.add_op(tir.StoreOp(value, cell, [self.e.const(0, i64)]))

    def enter(self, variables: Sequence[Variable], args: Sequence[SSAValue]) -> None:
        """Give the arguments of a body, or the results of an operation, the values of variables."""
        for variable, arg in zip(variables, args, strict=True):
            if variable.cell is None:
                self.same(arg, variable.like)
            elif is_array(variable.like):
                self.new_buffer(arg, variable.cell, owned=True)
                self.sizes.pop(arg, None)
            else:
                self.sizes.pop(arg, None)
                self.known[arg] = self.get(variable.cell)

    def leave(self, variables: Sequence[Variable], values: Sequence[SSAValue]) -> None:
        """Assign values to variables, all of which are computed first."""
        cells = {variable.cell for variable in variables}
        ready: list[SSAValue] = []
        for variable, value in zip(variables, values, strict=True):
            if variable.cell is None:
                self._check_same(variable, value)
                ready.append(value)
            elif not is_array(value):
                ready.append(self.e.add(tir.LetOp(self.value(value))))
            else:
                ready.append(self._ready(variable, value, cells))
        for variable, value, new in zip(variables, values, ready, strict=True):
            if variable.cell is None:
                continue
            if not is_array(value):
                self.set(variable.cell, new)
            elif new is not variable.cell:
                self.copy(self.dims[value], direct(new), direct(variable.cell))

    def _check_same(self, variable: Variable, value: SSAValue) -> None:
        same = self.places.get(value) is self.places.get(variable.like) or (
            value in self.buffers and self.buffers[value] is self.buffers.get(variable.like)
        )
        if not same:
            raise UnsupportedError(
                "a choice between memrefs", location=place_of(value), expected="the same memref on each path"
            )

    def _ready(self, variable: Variable, value: SSAValue, cells: set[SSAValue | None]) -> SSAValue:
        """Return a buffer with the elements of an array that no assignment to these cells changes."""
        expected, found = list(cast(tir.BufferType, variable.cell.type).dims), list(self.dims[value])  # type: ignore[union-attr]
        if expected != found:
            raise ShapeError(
                "a tensor whose size changes on the way",
                location=place_of(value),
                expected=f"sizes {', '.join(map(str, expected))}",
                found=", ".join(map(str, found)),
            )
        buffer = self.buffers.get(value)
        if buffer is not None and (buffer is variable.cell or buffer not in cells):
            return buffer
        fresh = self.alloc(found, element_of(value))
        self.copy(found, self.places[value], direct(fresh))
        return fresh


class Variable:
    """A variable of a kernel: a buffer with one element or those of an array; or always the same memref."""

    def __init__(self, cell: SSAValue | None, like: SSAValue):
        self.cell, self.like = cell, like


_WRITTEN_OUT = 4096
"""The most constants that are written element by element."""
