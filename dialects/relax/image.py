"""Operators on images."""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.ir import Attribute

from .layout import arranged, check_rank, positions
from .operator import DTYPE, Arg, Operator, PyValue, as_dtype, operator
from .types import TensorType


class _Resize(Operator):
    @classmethod
    def make(cls, *args: Arg, **attrs: PyValue) -> Self:
        """The region of interest is [0, 0, 0, 0] where none is given."""
        return super().make(*args, **(attrs | {"roi": attrs.get("roi") or [0.0, 0.0, 0.0, 0.0]}))


@operator(
    "relax.image.resize2d",
    "data size",
    roi=None,
    layout="NCHW",
    method="linear",
    coordinate_transformation_mode="half_pixel",
    rounding_method="round",
    cubic_alpha=-0.75,
    cubic_exclude=0,
    extrapolation_value=0.0,
    out_dtype=DTYPE,
)
class Resize2d(_Resize):
    """data with its height and width brought to `size`: ONNX's Resize.

    `method` is `nearest_neighbor` (which one `rounding_method` says), `linear` or `cubic`. `roi`, the corners
    [top, left, bottom, right] as fractions, and `extrapolation_value` are for the mode `tf_crop_and_resize`.
    """

    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {
        "method": ("nearest_neighbor", "linear", "cubic"),
        "coordinate_transformation_mode": (
            "half_pixel",
            "half_pixel_symmetric",
            "pytorch_half_pixel",
            "tf_half_pixel_for_nn",
            "align_corners",
            "asymmetric",
            "tf_crop_and_resize",
        ),
        "rounding_method": ("round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    }

    def places(self) -> list[int]:
        """Where batch, channels, height and width stand."""
        return positions(self, "layout", "NCHW")

    def infer(self) -> Attribute:
        data, size, places = check_rank(self, "data", 4), self.shape_arg("size"), self.places()
        for name, choices in self.CHOICES.items():
            if self.attr(name) not in choices:
                self.fail_shape(f"attribute {name} is unknown", ", ".join(choices), self.attr(name))
        if size.rank not in (None, 2):
            self.fail_shape("argument size must be height and width", "2 extents", size.rank)
        roi = self.attr("roi")
        if roi is not None and len(roi) != 4:
            self.fail_shape("attribute roi must have 4 elements", "top, left, bottom, right", roi)
        dtype = as_dtype(self.attr("out_dtype")) or data.element
        if data.dims is None or size.dims is None:
            return TensorType.of(None, dtype, 4)
        return TensorType.of(arranged(places, [data.dims[places[0]], data.dims[places[1]], *size.dims]), dtype)
