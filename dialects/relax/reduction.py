"""Reductions along axes: `axis` is a list of axes, or None for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from ..sym.expr import Const, SymExpr
from .elementwise import FloatUnaryOp
from .operator import AXES, AXIS, FLOATS, NUMBERS, Domain, Operator, operator
from .types import TensorType


def normalize_axis(op: Operator, axis: int, rank: int, name: str = "axis") -> int:
    """Return `axis` counted from the front. Raises `ShapeError` if it is outside of [-rank, rank)."""
    if not -rank <= axis < rank:
        op.fail_shape(f"attribute {name} is out of range", f"from {-rank} to {rank - 1}", axis)
    return axis + rank if axis < 0 else axis


def normalize_axes(op: Operator, axes: int | list[int] | None, rank: int, name: str = "axis") -> list[int]:
    """Return axes counted from the front, all of them for None. Raises `ShapeError` if one is out of range or
    repeated.
    """
    if axes is None:
        return list(range(rank))
    positions = [normalize_axis(op, a, rank, name) for a in ([axes] if isinstance(axes, int) else axes)]
    if len(set(positions)) != len(positions):
        op.fail_shape(f"attribute {name} repeats an axis", found=axes)
    return positions


def reduced_dims(dims: tuple[SymExpr, ...], axes: list[int], keepdims: bool) -> list[SymExpr]:
    """Return the shape without `axes`, or with extent 1 in their place."""
    if keepdims:
        return [Const(1) if i in axes else d for i, d in enumerate(dims)]
    return [d for i, d in enumerate(dims) if i not in axes]


class ReduceOp(Operator):
    """A reduction over the axes `axis` (None: all), which keep extent 1 if `keepdims`."""

    RESULT_DTYPE: ClassVar[Attribute | None] = None

    def infer(self) -> Attribute:
        x = self.tensor("x")
        dtype = self.RESULT_DTYPE or x.element
        axis, keepdims = self.attr("axis"), self.attr("keepdims")
        if x.rank is None:
            return TensorType.of((), dtype) if axis is None and not keepdims else TensorType.of(None, dtype)
        axes = normalize_axes(self, axis, x.rank)
        if len(axes) == x.rank and (x.dims is not None or axis is None or not keepdims):
            return TensorType.of([Const(1)] * (x.rank if keepdims else 0), dtype)
        if x.dims is None:
            return TensorType.of(None, dtype, x.rank if keepdims else x.rank - len(axes))
        return TensorType.of(reduced_dims(x.dims, axes, keepdims), dtype)


class NumericReduceOp(ReduceOp):
    """A reduction of numbers."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": NUMBERS}


class FloatReduceOp(ReduceOp):
    """A reduction of floating point numbers."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": FLOATS}


_REDUCTIONS: dict[str, tuple[type[ReduceOp], str]] = {
    "sum": (NumericReduceOp, "The sum."),
    "prod": (NumericReduceOp, "The product."),
    "max": (ReduceOp, "The greatest element."),
    "min": (ReduceOp, "The least element."),
    "mean": (NumericReduceOp, "The mean."),
    "std": (FloatReduceOp, "The standard deviation (of the population)."),
    "variance": (FloatReduceOp, "The variance (of the population)."),
}


def _reduction(name: str, base: type[ReduceOp], doc: str) -> type[Operator]:
    return operator(f"relax.{name}", "x", axis=AXES, keepdims=False)(
        type(name, (base,), {"__doc__": doc, "__module__": __name__})
    )


REDUCTIONS = {name: _reduction(name, *row) for name, row in _REDUCTIONS.items()}


class ArgReduceOp(ReduceOp):
    """The position of an element along one axis (of the flattened tensor if None), as int64."""

    RESULT_DTYPE: ClassVar[Attribute | None] = i64

    def infer(self) -> Attribute:
        x, result = self.tensor("x"), super().infer()
        axis = self.attr("axis")
        if x.rank is not None and x.dims is not None:
            for extent in x.dims if axis is None else [x.dims[normalize_axis(self, axis, x.rank)]]:
                self.require_at_least(extent, 1, "no element has a position where there is none")
        return result


@operator("relax.argmax", "x", axis=AXIS, keepdims=False)
class Argmax(ArgReduceOp):
    """The position of the maximum, the first of equal ones."""


@operator("relax.argmin", "x", axis=AXIS, keepdims=False)
class Argmin(ArgReduceOp):
    """The position of the minimum, the first of equal ones."""


class AlongAxisOp(FloatUnaryOp):
    """A normalization along one axis; the result has the type of the operand."""

    def infer(self) -> Attribute:
        x = self.tensor("x")
        if x.rank is not None:
            normalize_axis(self, self.attr("axis"), x.rank)
        return super().infer()


@operator("relax.nn.softmax", "x", axis=-1)
class Softmax(AlongAxisOp):
    """exp(x) / sum(exp(x)) along `axis`."""


@operator("relax.nn.log_softmax", "x", axis=-1)
class LogSoftmax(AlongAxisOp):
    """log(softmax(x)) along `axis`."""
