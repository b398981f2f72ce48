"""Operators that create tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import FloatAttr, f32, i64
from xdsl.ir import Attribute, SSAValue

from ..attributes import PyValue
from ..sym.expr import Const, SymExpr
from .leaves import PrimValueOp
from .operator import DTYPE, Arg, Attr, Kind, Nothing, Operator, as_dtype, operator
from .types import PrimType, TensorType


class _OfShape(Operator):
    def infer(self) -> Attribute:
        dtype = as_dtype(self.attr("dtype"))
        if dtype is None:
            self.fail_dtype("attribute dtype must be given")
        return self.of_shape_arg("shape", dtype)


@operator("relax.zeros", "shape", dtype=DTYPE)
class Zeros(_OfShape):
    """A tensor of zeros."""


@operator("relax.ones", "shape", dtype=DTYPE)
class Ones(_OfShape):
    """A tensor of ones."""


@operator("relax.full", "shape fill_value", dtype=DTYPE)
class Full(Operator):
    """A tensor filled with a value of rank 0; `dtype` defaults to the value's."""

    def infer(self) -> Attribute:
        fill = self.tensor("fill_value")
        if fill.rank != 0:
            self.fail_shape("argument fill_value must be a scalar", "rank 0", fill.rank)
        return self.of_shape_arg("shape", as_dtype(self.attr("dtype")) or fill.element)


class _Like(Operator):
    def infer(self) -> Attribute:
        x = self.tensor("x")
        return x.of_dtype(as_dtype(self.attr("dtype")) or x.element)


@operator("relax.zeros_like", "x", dtype=DTYPE)
class ZerosLike(_Like):
    """Zeros in the shape of x; `dtype` defaults to that of x."""


@operator("relax.ones_like", "x", dtype=DTYPE)
class OnesLike(_Like):
    """Ones in the shape of x; `dtype` defaults to that of x."""


@operator("relax.full_like", "x fill_value", dtype=DTYPE)
class FullLike(_Like):
    """A value of rank 0 in the shape of x; `dtype` defaults to that of x."""

    def infer(self) -> Attribute:
        fill = self.tensor("fill_value")
        if fill.rank != 0:
            self.fail_shape("argument fill_value must be a scalar", "rank 0", fill.rank)
        return _Like.infer(self)


def prim_operand(op: Operator, arg: str) -> PrimType | None:
    """Return the struct info of a scalar operand, or None if it is absent. Raises `DTypeError` if it is not a
    scalar.
    """
    value = cast("SSAValue | None", getattr(op, arg))
    if value is None:
        return None
    if not isinstance(value.type, PrimType):
        op.fail_dtype(f"argument {arg} must be a scalar", "a prim value", value.type)
    return value.type


def extent_operand(op: Operator, arg: str, default: int | None = None) -> SymExpr | None:
    """Return the value of an integer scalar operand, `default` if it is absent, None if it is unknown."""
    t = prim_operand(op, arg)
    if t is None:
        return None if default is None else Const(default)
    if not hasattr(t.dtype, "signedness"):
        op.fail_dtype(f"argument {arg} must be an integer", "a prim value of int64", t)
    return t.expr


def has_operand(op: Operator, arg: str) -> bool:
    """Return whether an optional operand is present."""
    return getattr(op, arg) is not None


def number_operand(op: Operator, arg: str) -> float | None:
    """Return the value of a scalar operand that is a literal, None if it is absent or not a literal."""
    value = cast("SSAValue | None", getattr(op, arg))
    owner = None if value is None else value.owner
    if not isinstance(owner, PrimValueOp):
        return None
    return owner.value.value.data if isinstance(owner.value, FloatAttr) else owner.value.data.constant


class _WithDefaultDType(Operator):
    @classmethod
    def make(cls, *args: Arg, **attrs: PyValue) -> Self:
        scalars = [a for a in args if isinstance(a, SSAValue)]
        if attrs.get("dtype") is None:
            integers = all(not isinstance(a.type, PrimType) or hasattr(a.type.dtype, "signedness") for a in scalars)
            attrs["dtype"] = i64 if integers else f32
        return super().make(*args, **attrs)


@operator("relax.arange", "start end step", dtype=DTYPE)
class Arange(_WithDefaultDType):
    """start, start + step, … below `end`; int64 for integers, else float32."""

    PRIM_ARGS: ClassVar[frozenset[str]] = frozenset({"start", "end", "step"})
    ARG_DEFAULTS: ClassVar[Mapping[str, bool | int | float | str | Nothing]] = {"step": 1}

    OPTIONAL: ClassVar[frozenset[str]] = frozenset({"end"})

    @classmethod
    def fill_defaults(cls, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Fill in defaults: `arange(end)` begins at 0."""
        out = super().fill_defaults(arguments)
        return out if out.get("end") is not None else out | {"start": 0, "end": out["start"]}

    def infer(self) -> Attribute:
        types = [t for a in ("start", "end", "step") if (t := prim_operand(self, a)) is not None]
        dtype = as_dtype(self.attr("dtype"))
        if all(hasattr(t.dtype, "signedness") for t in types):
            return TensorType.of(self._integer_extent(), dtype, 1)
        bounds = self.literals()
        if bounds is None:
            return TensorType.of(None, dtype, 1)
        start, end, step = bounds
        return TensorType.of([max(0, math.ceil((end - start) / self._checked(step)))], dtype)

    def literals(self) -> tuple[float, float, float] | None:
        """Return start, end and step if all are literals, else None."""
        first, end, step = (number_operand(self, a) for a in ("start", "end", "step"))
        return None if first is None or end is None or step is None else (first, end, step)

    def _checked(self, step: float) -> float:
        if step == 0:
            self.fail_shape("argument step must not be zero", "a number other than 0", 0)
        return step

    def _integer_extent(self) -> list[SymExpr] | None:
        start, end, step = (extent_operand(self, a) for a in ("start", "end", "step"))
        if start is None or end is None or step is None or step.constant is None:
            return None
        width = int(self._checked(step.constant))
        extent = (end - start + (width - 1 if width > 0 else width + 1)) // width
        return [Const(max(0, extent.constant)) if extent.constant is not None else extent]


class _Diagonal(Operator):
    PRIM_ARGS: ClassVar[frozenset[str]] = frozenset({"k", "n", "m"})
    ARG_DEFAULTS: ClassVar[Mapping[str, bool | int | float | str | Nothing]] = {"k": 0}


@operator("relax.eye", "n m k", dtype=Attr(Kind.DTYPE, f32))
class Eye(_Diagonal):
    """An n x m matrix with ones at column - row == k and zeros elsewhere."""

    OPTIONAL: ClassVar[frozenset[str]] = frozenset({"m"})

    @classmethod
    def fill_defaults(cls, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Fill in defaults: `eye(n)` is square."""
        out = super().fill_defaults(arguments)
        return out if out.get("m") is not None else out | {"m": out["n"]}

    def infer(self) -> Attribute:
        dtype = as_dtype(self.attr("dtype")) or f32
        n, m = extent_operand(self, "n"), extent_operand(self, "m")
        extent_operand(self, "k")
        return TensorType.of(None if n is None or m is None else [n, m], dtype, 2)


@operator("relax.eye_like", "x k", dtype=DTYPE)
class EyeLike(_Diagonal):
    """Ones at column - row == k and zeros elsewhere, in the shape of the matrix x."""

    def infer(self) -> Attribute:
        x = self.tensor("x")
        if x.rank not in (None, 2):
            self.fail_shape("argument x must be a matrix", "rank 2", x.rank)
        extent_operand(self, "k")
        if x.rank is None:
            return TensorType.of(None, as_dtype(self.attr("dtype")) or x.element, 2)
        return x.of_dtype(as_dtype(self.attr("dtype")) or x.element)


class _Triangle(_Diagonal):
    def infer(self) -> Attribute:
        x = self.tensor("x")
        if x.rank is not None and x.rank < 2:
            self.fail_shape("argument x must have two dimensions", "rank 2 or more", x.rank)
        extent_operand(self, "k")
        return x


@operator("relax.tril", "x k")
class Tril(_Triangle):
    """x where column - row <= k in its last two dimensions, 0 elsewhere."""


@operator("relax.triu", "x k")
class Triu(_Triangle):
    """x where column - row >= k in its last two dimensions, 0 elsewhere."""


@operator("relax.hamming_window", "window_size periodic alpha beta", dtype=Attr(Kind.DTYPE, f32))
class HammingWindow(Operator):
    """alpha - beta * cos(2π i / N), where N is window_size if `periodic`, else window_size - 1."""

    PRIM_ARGS: ClassVar[frozenset[str]] = frozenset({"window_size", "periodic", "alpha", "beta"})

    def infer(self) -> Attribute:
        size = extent_operand(self, "window_size")
        for arg in ("periodic", "alpha", "beta"):
            prim_operand(self, arg)
        if size is not None and size.constant is not None and size.constant <= 0:
            self.fail_shape("argument window_size must be positive", "1 or more", size)
        return TensorType.of(None if size is None else [size], as_dtype(self.attr("dtype")) or f32, 1)
