"""A Relax function in the making: the conversions of values, and what the rules of operations build with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from ...diagnostics import TiraxError, UnsupportedError
from ...dialects import relax
from ...dialects.dtypes import dtype_name, is_unsigned
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, SymExpr
from ...handles.relax.expr import Constant, Expr, ShapeExpr, const
from ...handles.struct_info import TensorStructInfo
from ...ir.locations import location_of
from ...te.tensor import Tensor
from ..block_builder import BlockBuilder
from ..importing.callee import callee_of
from ..importing.relax_operators import R
from .narrow import COMPUTING, delegate, is_narrow, widened
from .values import Dims, Numbers, Pair, Quantized, Splat, Value, element_of, is_quantized

Rule = Callable[["Graph", Any], None]
RULES: dict[str, Rule] = {}
"""operation -> what adds the conversion of its results to the graph"""
QUANTIZED: dict[str, Rule] = {}
"""The same for operations with quantized operands or results."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the conversion of operations."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


class Graph:
    """Builds a Relax function of the operations of a StableHLO function, which calls become part of."""

    def __init__(self, builder: BlockBuilder, functions: Mapping[str, func.FuncOp]):
        self.builder, self.functions = builder, functions
        self.values: dict[SSAValue, Value] = {}
        self.analyzer = Analyzer()
        """What is known of sizes."""
        self._open: list[func.FuncOp] = []

    # -- operations --------------------------------------------------------------------------------------------------

    def run(self, block: Block) -> list[Value]:
        """Convert the operations of a block; return what its terminator takes."""
        for op in block.ops:
            if op.name in ("func.return", "stablehlo.return"):
                return [self.values[v] for v in op.operands]
            self.convert(op)
        return []

    def convert(self, op: Operation) -> None:
        """Convert an operation. Raises `UnsupportedError` for one without a rule."""
        found = (QUANTIZED if is_quantized(op) else RULES).get(op.name)
        if found is None:
            raise UnsupportedError(f"'{op.name}'", location=location_of(op), hint="docs/jax.md lists what is converted")
        if op.name in COMPUTING and is_narrow(op):
            found = partial(_in_wider_types, found)
        try:
            found(self, op)
        except TiraxError as error:
            if error.location is None:
                error.location = location_of(op)
            raise

    def call(self, name: str, arguments: Sequence[Value], at: Operation) -> list[Value]:
        """Convert the body of another function for these arguments; return its results."""
        callee = callee_of(self.functions, name, at, self._open)
        self._open.append(callee)
        with self.scope():
            results = self.inlined(callee.body.block, arguments)
        self._open.pop()
        return results

    def inlined(self, block: Block, arguments: Sequence[Value]) -> list[Value]:
        """Convert a block for these arguments."""
        self.values |= dict(zip(block.args, arguments, strict=True))
        return self.run(block)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Forget what is converted inside: it is defined in a branch or a loop, or differs in another call."""
        before = self.values
        self.values = dict(before)
        yield
        self.values = before

    # -- values ------------------------------------------------------------------------------------------------------

    def set(self, op: Operation, *values: Value) -> None:
        """Define the results of an operation."""
        self.values |= dict(zip(op.results, values, strict=True))

    def emit(self, expr: Any) -> Expr:
        """Bind an expression, unless it is a variable or a leaf."""
        value = expr.ssa
        detached = isinstance(value, OpResult) and value.op.parent is None and not relax.is_inline(value.op)
        return self.builder.emit(expr) if detached else expr

    def tensor(self, value: SSAValue) -> Expr:
        """Return a value as a tensor. Raises `UnsupportedError` for complex numbers and quantized ones."""
        known = self.values[value]
        if isinstance(known, Expr):
            return known
        if isinstance(known, Splat | Numbers):
            result = self.made(known)
            self.values[value] = known if isinstance(known, Numbers) else result
            return result
        kind = "complex numbers" if isinstance(known, Pair) else str(value.type)
        at = value.owner if isinstance(value.owner, Operation) else None
        raise UnsupportedError(f"{kind} here", location=location_of(at))

    def made(self, known: Splat | Numbers) -> Expr:
        """Create a tensor of known numbers."""
        if isinstance(known, Splat):
            number = const(known.number, known.dtype)
            return number if not known.dims else self.emit(R.full(ShapeExpr(known.dims), number))
        if all(isinstance(n, int) for n in known.content.flat):
            return const(self._plain(known), known.dtype)
        flat = self.emit(R.shape_to_tensor(ShapeExpr(list(known.content.flat))))
        if known.content.ndim != 1:
            flat = self.emit(R.reshape(flat, ShapeExpr([Const(n) for n in known.content.shape])))
        return self.cast(flat, known.dtype)

    @staticmethod
    def _plain(known: Numbers) -> np.ndarray[Any, Any]:
        wide = np.uint64 if is_unsigned(known.dtype) else np.int64
        numbers = np.array(list(known.content.flat), bool if known.dtype == i1 else wide)
        return numbers.reshape(known.content.shape)

    def parts(self, value: SSAValue) -> list[Expr]:
        """Return the tensors that hold a value: two for complex numbers."""
        known = self.values[value]
        if isinstance(known, Pair):
            return [known.re, known.im]
        return [known.stored] if isinstance(known, Quantized) else [self.tensor(value)]

    def like(self, value: SSAValue, parts: Sequence[Expr]) -> Value:
        """Return tensors as a value of the kind of another one."""
        known = self.values[value]
        if isinstance(known, Quantized):
            return Quantized(parts[0], known.type)
        return Pair(*parts) if len(parts) == 2 else parts[0]

    def each(self, op: Operation, value: SSAValue, convert: Callable[[Expr], Expr]) -> None:
        """Define the result of an operation that moves the elements of one operand: the same for real and imaginary."""
        self.set(op, self.like(value, [self.emit(convert(part)) for part in self.parts(value)]))

    def dims(self, value: SSAValue) -> Dims:
        """Return the sizes of a value."""
        known = self.values[value]
        if isinstance(known, Splat):
            return known.dims
        if isinstance(known, Numbers):
            return [Const(n) for n in known.content.shape]
        return dims_of(self.parts(value)[0])

    def number(self, value: SSAValue) -> bool | int | float | None:
        """Return the number that all elements of a tensor are, if it is known."""
        known = self.values[value]
        if isinstance(known, Splat):
            return known.number
        if isinstance(known, Numbers) and known.content.size:
            first = known.content.flat[0]
            return first if isinstance(first, int) and all(n == first for n in known.content.flat) else None
        return None

    def sizes(self, value: SSAValue) -> list[SymExpr]:
        """Return a vector of numbers as sizes; those computed from data become new symbolic variables."""
        known = self.values[value]
        if isinstance(known, Numbers):
            return [Const(n) if isinstance(n, int) else n for n in known.content.flat]
        at = value.owner if isinstance(value.owner, Operation) else None
        raise UnsupportedError(
            "a size that depends on data",
            location=location_of(at),
            expected="constants, dimensions of tensors, and arithmetic of them",
        )

    def cast(self, x: Expr, dtype: Attribute) -> Expr:
        """Return a tensor with another dtype."""
        return x if dtype_of(x) == dtype else self.emit(R.astype(x, dtype=dtype_name(dtype)))

    def te(self, name: str, compute: Callable[..., Any], *tensors: Expr) -> list[Expr]:
        """Return the tensors that tensor expressions define."""
        result = self.builder.emit_te(compute, *tensors, primfunc_name_hint=name)
        if not isinstance(result.ssa.type, relax.TensorType):
            return [self.builder.emit(result[i]) for i in range(len(result))]
        return [result]

    def one(self, name: str, compute: Callable[..., Tensor], *tensors: Expr) -> Expr:
        """Return the tensor that a tensor expression defines."""
        return self.te(name, compute, *tensors)[0]

    def reshaped(self, x: Expr, dims: Dims) -> Expr:
        """Return a tensor with other sizes."""
        return x if list(dims_of(x)) == list(dims) else self.emit(R.reshape(x, ShapeExpr(dims)))

    def matched(self, x: Expr, dims: Dims) -> Expr:
        """Return a tensor whose sizes are checked at run time, unless they are known to be these."""
        if list(dims_of(x)) == list(dims):
            return x
        return self.builder.match_cast(x, TensorStructInfo(list(dims), dtype_name(dtype_of(x))))


def _in_wider_types(found: Rule, graph: Graph, op: Operation) -> None:
    """Convert an operation on numbers that are only stored."""
    plain = delegate(op, widened)
    for arg, value in zip(plain.operands, op.operands, strict=True):
        graph.values[arg] = _as(graph, graph.values[value], arg.type)
    found(graph, plain)
    graph.set(
        op, *(_as(graph, graph.values[r], result.type) for r, result in zip(plain.results, op.results, strict=True))
    )


def _as(graph: Graph, value: Value, type: Attribute) -> Value:
    """Return a value with the elements of a type."""
    if isinstance(value, Pair | Quantized) or value is None:
        return value
    dtype = element_of(type)
    if isinstance(value, Splat | Numbers) and widened(value.dtype) == dtype:
        return replace(value, dtype=dtype)
    return graph.cast(graph.made(value) if isinstance(value, Splat | Numbers) else value, dtype)


def dims_of(x: Expr) -> Dims:
    """Return the sizes of a tensor. Raises `UnsupportedError` if they are unknown."""
    kind = x.ssa.type
    if not isinstance(kind, relax.TensorType) or kind.dims is None:
        raise UnsupportedError("a tensor of unknown sizes", found=kind)
    return kind.dims


def dtype_of(x: Expr) -> Attribute:
    """Return the dtype of a tensor."""
    return cast(relax.TensorType, x.ssa.type).dtype


def constant_of(x: Expr) -> np.ndarray[Any, Any] | None:
    """Return the elements of a constant."""
    return np.asarray(x.data) if isinstance(x, Constant) else None


INDEX = i64
"""The dtype of indices."""
