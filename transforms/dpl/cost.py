"""Cost estimates of Relax expressions from their struct info: bytes moved and arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, Operation

from ...dialects import relax
from ...dialects.dtypes import byte_size
from ...dialects.sym.expr import SymExpr
from ...handles.relax.expr import Expr

CostFunction = Callable[[Expr], float]
"""A function that returns the cost of an expression, given its operands: a number that is not negative."""
Shape = tuple[int, ...]
_FREE: tuple[type[Operation], ...] = (*relax.LEAVES, relax.TupleOp, relax.TupleGetItemOp, relax.BindOp)


@dataclass(frozen=True)
class EstimatedCost:
    """Bytes read (each operand once) and written, plus arithmetic operations.

    Symbolic variables have the values in `bounds`, by name; other variables and unknown extents count as
    `assumed_extent`. A byte costs as much as `flops_per_byte` operations.
    """

    bounds: Mapping[str, int] = field(default_factory=dict[str, int])
    assumed_extent: int = 256
    flops_per_byte: float = 8.0

    def __call__(self, expr: Expr) -> float:
        op = expr.op_handle
        if isinstance(op, _FREE):
            return 0.0
        values = (*op.operands, op.results[0])
        moved = sum(prod(self._shape(t)) * _bytes_of(t) for v in dict.fromkeys(values) for t in tensors_of(v.type))
        shapes = [self._shape(t) for v in values for t in tensors_of(v.type)]
        return moved + self._flops(op, shapes) / self.flops_per_byte

    def _flops(self, op: Operation, shapes: list[Shape]) -> int:
        """Return the arithmetic operations of an op; `shapes` are those of the arguments and, last, of the results."""
        count = _FLOPS.get(op.name)
        if count is not None and len(shapes) >= 3:
            return count(shapes[0], shapes[1], shapes[-1])
        return max(map(prod, shapes), default=0)

    def _shape(self, t: relax.TensorType) -> Shape:
        if t.dims is None:
            return (self.assumed_extent,) * max(t.ndim.data, 1)
        return tuple(map(self._extent, t.dims))

    def _extent(self, extent: SymExpr) -> int:
        if extent.constant is not None:
            return extent.constant
        names = {str(var.name): self.bounds.get(str(var.name), self.assumed_extent) for var in extent.free_vars()}
        return max(extent.evaluate(names), 0)


def _matmul(a: Shape, b: Shape, out: Shape) -> int:
    return 2 * prod(out) * (a[-1] if a else 1)


def _linear(a: Shape, b: Shape, out: Shape) -> int:
    return 2 * prod(out) * (b[-1] if b else 1)


def _convolution(data: Shape, weight: Shape, out: Shape) -> int:
    """Return the multiply-adds for weights OI… (the default layout): a result uses all weights of an output channel."""
    return 2 * prod(out) * prod(weight[1:])


_FLOPS: dict[str, Callable[[Shape, Shape, Shape], int]] = {
    "relax.matmul": _matmul,
    "relax.linear": _linear,
    "relax.nn.conv1d": _convolution,
    "relax.nn.conv2d": _convolution,
    "relax.nn.conv3d": _convolution,
}


def tensors_of(t: Attribute) -> Iterable[relax.TensorType]:
    """Yield the tensors of a type, including those in tuples."""
    if isinstance(t, TupleType):
        return [inner for part in t.types for inner in tensors_of(part)]
    return [t] if isinstance(t, relax.TensorType) else []


def _bytes_of(t: relax.TensorType) -> int:
    return 4 if t.element is None else byte_size(t.element)
