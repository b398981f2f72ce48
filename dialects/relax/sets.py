"""Operators with data-dependent result sizes: distinct elements, and positions of nonzero elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from ..sym.expr import Const
from .creation import extent_operand, has_operand
from .operator import Nothing, Operator, operator
from .reduction import normalize_axis
from .types import TensorType, tuple_type


@operator("relax.unique", "x sorted return_index return_inverse return_counts axis?")
class Unique(Operator):
    """The distinct elements of x, or its distinct slices along `axis`; in order if `sorted`, else by first occurrence.

    A tuple if more results are requested: the first position of each, the index of each element among them, and the
    counts.
    """

    PRIM_ARGS: ClassVar[frozenset[str]] = frozenset(
        {"sorted", "return_index", "return_inverse", "return_counts", "axis"}
    )
    ARG_DEFAULTS: ClassVar[Mapping[str, bool | int | float | str | Nothing]] = {
        "sorted": True,
        "return_index": False,
        "return_inverse": False,
        "return_counts": False,
    }

    def infer(self) -> Attribute:
        x, axis = self.tensor("x"), self.place()
        self.flag("sorted")
        if axis is not None and x.rank is not None:
            normalize_axis(self, axis, x.rank)
        one = [Const(1)] if x.rank == 0 else None  # a scalar is the only element
        values = TensorType.of(one, x.element, 1 if axis is None else x.rank)
        more = sum(self.flag(n) for n in ("return_index", "return_inverse", "return_counts"))
        return tuple_type([values, *[TensorType.of(one, i64, 1)] * more]) if more else values

    def place(self) -> int | None:
        """Return the axis, or None if there is none. Raises `ShapeError` if it is not a literal."""
        return self._literal("axis") if has_operand(self, "axis") else None

    def flag(self, arg: str) -> bool:
        """Return whether `sorted` or another flag is set. Raises `ShapeError` if it is not a literal."""
        return bool(self._literal(arg))

    def _literal(self, arg: str) -> int:
        value = extent_operand(self, arg)
        if value is None or value.constant is None:
            self.fail_shape(f"argument {arg} must be a literal", "True, False or an integer", value)
        return value.constant


@operator("relax.nonzero", "x")
class Nonzero(Operator):
    """The positions of the nonzero elements: a row for each dimension of x (one for a scalar)."""

    def infer(self) -> Attribute:
        self.tensor("x")
        return TensorType.of(None, i64, 2)
