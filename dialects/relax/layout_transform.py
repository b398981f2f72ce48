"""The operator that rearranges the elements of a tensor by an index map."""

from __future__ import annotations

from typing import Any, Self, cast

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from ...diagnostics import ShapeError
from ..attributes import PyValue
from ..dtypes import is_float
from ..sym import IndexMapAttr, IndexMapping
from .operator import Arg, Attr, Kind, Operator, operator
from .types import TensorType

SEPARATORS = Attr(default=[], types=(list,))
"""Axes where a flattened tensor keeps a boundary."""


@operator(
    "relax.layout_transform",
    "x",
    index_map=Attr(types=(IndexMapAttr,)),
    pad_value=Attr(Kind.NUMBER, types=(bool, int, float)),
    axis_separators=SEPARATORS,
    input_axis_separators=SEPARATORS,
)
class LayoutTransform(Operator):
    """The element at i moves to index_map(i); other positions have pad_value, or any value if that is None.

    `axis_separators` are axes of the result, `input_axis_separators` of x, that are not merged when memory is
    flattened; there is also a boundary after the last one.
    """

    @classmethod
    def make(cls, *args: Arg, **attrs: PyValue) -> Self:
        """Build the operator; an integer pad_value of a floating point tensor is converted to a float."""
        t, value = args[0].type if args and isinstance(args[0], SSAValue) else None, attrs.get("pad_value")
        if isinstance(t, TensorType) and t.element is not None and is_float(t.element) and isinstance(value, int):
            attrs["pad_value"] = float(value)
        return super().make(*args, **attrs)

    @property
    def mapping(self) -> IndexMapping:
        """Return the index map. Raises `ShapeError` if there is none."""
        value = self.attr("index_map")
        if not isinstance(value, IndexMapAttr):
            self.fail_shape("attribute index_map is missing", "an index map")
        return value.data

    def infer(self) -> Attribute:
        x, mapping = self.tensor("x"), self.mapping
        if x.rank not in (None, len(mapping.params)):
            self.fail_shape("argument x must have as many dimensions as the index map has parameters", mapping, x.rank)
        self._check_pad_value(x)
        rank = len(mapping.results)
        self._check_separators("axis_separators", rank)
        self._check_separators("input_axis_separators", len(mapping.params))
        if (extents := x.extents) is None:
            return TensorType.of(None, x.element, rank)
        try:
            mapping.padded_inverse(extents)  # no two elements have one position
            return TensorType.of(mapping.shape(extents), x.element)
        except ShapeError as error:
            self.fail_shape(error.message, error.expected, error.found)

    def _check_pad_value(self, x: TensorType) -> None:
        value = self.attr("pad_value")
        if value is None or x.element is None:
            return
        fits = is_float(x.element) or (isinstance(value, int) and (x.element != i1 or value in (0, 1)))
        if not fits:
            self.fail_dtype("attribute pad_value must be of the dtype of x", x.element, value)

    def _check_separators(self, name: str, rank: int) -> None:
        separators = cast("list[Any]", self.attr(name) or [])
        wrong = any(not isinstance(s, int) or not 0 < s <= rank for s in separators)
        if wrong or separators != sorted(set(separators)):
            self.fail_shape(f"attribute {name} must be increasing axes between 1 and {rank}", found=separators)
