"""Element-wise arithmetic on tensors with broadcasting. An operand is a tensor or a scalar."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..diagnostics import ShapeError
from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import ExprLike, PrimExpr, const
from .tensor import Tensor, compute

Indices = tuple[PrimExpr, ...]
Operand = Tensor | ExprLike


def over_axes(
    shape: Sequence[Any],
    element: Callable[[Indices], Any],
    name: str,
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """Return a compute with axes `ax0`, `ax1`, …; `element` gets the tuple of indices."""
    names = [f"ax{i}" for i in range(len(shape))]
    return compute(list(shape), lambda *i: element(i), name, tag, attrs, names)


def zero_like(extent: SymExpr) -> PrimExpr:
    """Return the index 0, in the dtype of a dimension."""
    return const(0, extent.dtype)


def broadcast_shapes(shapes: Sequence[Sequence[SymExpr]]) -> list[SymExpr]:
    """Return the shape that `shapes` broadcast to, assuming that symbolic extents agree.

    Raises `ShapeError` if two constant extents do not broadcast.
    """
    rank = max(len(s) for s in shapes)
    longest = max(shapes, key=len)
    out: list[SymExpr] = [Const(1, d.dtype) for d in longest]
    for shape in shapes:
        for i, extent in enumerate(shape, rank - len(shape)):
            known, other = out[i].constant, extent.constant
            if known == 1 or (known is None and other not in (None, 1)):
                out[i] = extent
            elif known is not None and other not in (None, 1, known):
                raise ShapeError("the shapes do not broadcast", expected=f"{known} or 1 in dimension {i}", found=other)
    return out


def broadcast_indices(shape: Sequence[SymExpr], indices: Sequence[PrimExpr], out: Sequence[SymExpr]) -> list[PrimExpr]:
    """Map indices of a result of shape `out` to indices of an operand of `shape`: 0 where the operand is repeated."""
    skipped = len(out) - len(shape)
    rows = zip(shape, indices[skipped:], out[skipped:], strict=True)
    return [zero_like(d) if d.constant == 1 and o.constant != 1 else i for d, i, o in rows]


def element_of(operand: Operand, indices: Indices, out: Sequence[SymExpr]) -> ExprLike:
    """Return the element of an operand that belongs to the element at `indices` of a result of shape `out`."""
    return operand(*broadcast_indices(operand.dims, indices, out)) if isinstance(operand, Tensor) else operand


def broadcasting(name: str, build: Callable[[Any, Any], PrimExpr]) -> Callable[..., Any]:
    """Return a broadcasting operator whose elements `build` computes from those of the operands."""

    def apply(lhs: Operand, rhs: Operand) -> Any:
        tensors = [t for t in (lhs, rhs) if isinstance(t, Tensor)]
        if not tensors:
            return build(lhs, rhs)
        shape = broadcast_shapes([t.dims for t in tensors])
        return over_axes(
            shape, lambda i: build(element_of(lhs, i, shape), element_of(rhs, i, shape)), f"T_{name}", "broadcast"
        )

    apply.__name__ = name
    apply.__doc__ = f"{name}, element by element with broadcasting."
    return apply


add = broadcasting("add", tx.add)
subtract = broadcasting("subtract", tx.subtract)
multiply = broadcasting("multiply", tx.multiply)
divide = broadcasting("divide", tx.div)

for _symbol, _operator in (("add", add), ("sub", subtract), ("mul", multiply), ("truediv", divide)):
    setattr(Tensor, f"__{_symbol}__", _operator)
    setattr(Tensor, f"__r{_symbol}__", lambda self, other, build=_operator: build(other, self))
