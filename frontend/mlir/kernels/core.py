"""Statements of MLIR as those of a tensor function, by a table, and variables across branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....diagnostics import ShapeError, UnsupportedError
from ....dialects import tir
from ....dialects.sym.expr import Const, SymExpr
from ....dialects.xdsl_extras.linalg_named import BLOCK_NAME
from ..blocks import Place, Storage, append_block, append_loops, direct, extents_of
from ..scalars import RULES, Expressions, expression, scalar_type
from ..sizes import size_of
from ..structured import Structured, element_of, rank, structured, unsupported
from .values import Values, is_array, is_fixed, place_of

STATEMENTS: dict[str, Callable[[Kernel, Any], None]] = {}
"""operation -> its translation; the files of this folder add theirs."""
ENDS = frozenset(
    ("func.return", "scf.yield", "scf.condition", "affine.yield", "scf.reduce", "scf.reduce.return",
     "memref.alloca_scope.return", "memref.atomic_yield", "scf.forall.in_parallel", "linalg.yield")
)  # fmt: skip
"""The terminators of blocks without successors."""


class Kernel(Values):
    """Translates the body of a function to a tensor function, statement by statement."""

    def __init__(self, functions: dict[str, func.FuncOp], globals_: dict[str, Operation] | None = None):
        super().__init__()
        self.functions, self.globals = functions, globals_ or {}
        self.open: list[func.FuncOp] = []

    # -- statements --------------------------------------------------------------------------------------------------

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
            raise unsupported(op, "a function on memrefs")
        name = op.attributes.get(BLOCK_NAME)
        if isinstance(name, StringAttr):
            s = replace(s, name=name.data)
        if any(v not in self.dims for v in s.outputs):  # elementwise: the outputs are the results
            first = next((v for v in s.inputs if is_array(v)), None)
            for v in s.outputs:
                self.dims[v] = self.static(v) if first is None else self.dims[first]
        shaped = [v for v in (*s.inputs, *s.outputs) if rank(v) or v in self.places or is_array(v)]
        extents = extents_of(s, {v: self.dims[v] for v in shaped}, op)
        self._check_sizes(op, s, extents)
        starts: list[Place | tir.ConstOp | None] = [None] * len(s.outputs)
        outputs = [self.places[v] for v in s.outputs if v in self.places]
        if op.results:
            outputs = self._results(op, s, starts)

        def outer(e: Expressions, value: SSAValue) -> SSAValue:
            with self.inside(e.block):
                return self.buffers[value] if value in self.buffers else self.value(value)

        inputs = {v: self.places[v] for v in s.inputs if v in self.places}
        storage = Storage(inputs, outputs, starts, outer)
        direct_ones = all(v in self.buffers for v in shaped if v not in op.results)
        if direct_ones and not self._inner(op):
            append_block(self.e.block, s, extents, storage)
        else:
            bounds = [extent if is_fixed(extent) else self.number(extent) for extent in extents]
            append_loops(self.e.block, s, bounds, storage)

    def _check_sizes(self, op: Operation, s: Structured, extents: Sequence[SymExpr]) -> None:
        """Assert that memrefs have the sizes of the iterators that index them, where they are unknown."""
        for value, indices in zip((*s.inputs, *s.outputs), s.maps, strict=False):
            for size, index in zip(self.dims.get(value, ()), indices, strict=False):
                if isinstance(index, AffineDimExpr) and size != extents[index.position]:
                    same = self.e.binary("eq", self.number(size), self.number(extents[index.position]))
                    message = f"'{op.name}': {size} elements instead of {extents[index.position]}"
                    self.e.block.add_op(tir.AssertOp(same, message))

    def _inner(self, op: Operation) -> bool:
        """Return whether an operation is on vectors: no block is scheduled for a few elements."""
        return any(isinstance(v.type, VectorType) for v in (*op.operands, *op.results))

    def _results(self, op: Operation, s: Structured, starts: list[Place | tir.ConstOp | None]) -> list[Place]:
        """Allocate the results of an operation on arrays; note the initial values of its outputs in `starts`."""
        results: list[Place] = []
        for number, (output, result) in enumerate(zip(s.outputs, op.results, strict=True)):
            if output in op.operands and self.reusable(output, op):
                buffer = self.buffers[output]
            else:
                buffer = self.alloc(self.dims[output], element_of(result))
                if s.is_part(number):
                    self.copy(self.dims[output], self.places[output], direct(buffer))
                elif s.updates and output in self.places:
                    starts[number] = self.places[output]
            self.new_buffer(result, buffer, owned=True)
            results.append(direct(buffer))
        if any(start is not None for start in starts) and any(start is None for start in starts):
            starts[:] = [start or place for start, place in zip(starts, results, strict=True)]
        return results

    # -- variables ---------------------------------------------------------------------------------------------------

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
        results = [self.variable(v) for v in values]
        self.leave(results, values)
        return results

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
