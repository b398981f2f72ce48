"""Operators on images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from xdsl.ir import Attribute

from ..attributes import PyValue
from ..sym.expr import Const, SymExpr
from .layout import check_rank, dims_of_letters, layout_of
from .operator import DTYPE, FLOATS, Arg, Attr, Domain, Kind, Operator, as_dtype, operator
from .types import TensorType


class _Sized(Operator):
    @classmethod
    def fill_defaults(cls, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Fill in defaults: one extent is used for height and width."""
        out = super().fill_defaults(arguments)
        size = out["size"]
        meaning = getattr(size, "__tirax_script_value__", None)
        extent = size if meaning is None else meaning()
        return out | {"size": (size, size)} if isinstance(extent, int | SymExpr) else out


class _Resize(_Sized):
    @classmethod
    def make(cls, *args: Arg, **attrs: PyValue) -> Self:
        """Build the operator; the region of interest defaults to [0, 0, 0, 0]."""
        return super().make(*args, **(attrs | {"roi": attrs.get("roi") or [0.0, 0.0, 0.0, 0.0]}))


@operator(
    "relax.image.resize2d",
    "data size",
    roi=Attr(Kind.FLOAT),
    layout="NCHW",
    method="linear",
    coordinate_transformation_mode="half_pixel",
    rounding_method="round",
    cubic_alpha=-0.5,
    cubic_exclude=0,
    extrapolation_value=0.0,
    out_dtype=DTYPE,
)
class Resize2d(_Resize):
    """data resized to height and width `size`, as ONNX's Resize.

    `method` is `nearest_neighbor` (rounded by `rounding_method`), `linear` or `cubic`. `roi`, the corners [top, left,
    bottom, right] as fractions, and `extrapolation_value` apply to the mode `tf_crop_and_resize`.
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
        """Return the positions of height and width, which must not be blocked, unlike batch and channels."""
        layout = layout_of(self, "layout", "NCHW")
        if layout.block("H") is not None or layout.block("W") is not None:
            self.fail_shape("attribute layout must have height and width in no blocks", "NCHW16c", str(layout))
        return [layout.index(c) for c in "HW"]

    def infer(self) -> Attribute:
        places = self.places()
        data, _ = dims_of_letters(self, "data", "layout", "NCHW")
        rank, size = len(layout_of(self, "layout", "NCHW")), self.shape_arg("size")
        check_choices(self, self.CHOICES)
        if size.rank != 2:
            self.fail_shape("argument size must be height and width", "2 extents", size.rank)
        roi = self.attr("roi")
        if roi is not None and len(roi) != 4:
            self.fail_shape("attribute roi must have 4 elements", "top, left, bottom, right", roi)
        dtype = as_dtype(self.attr("out_dtype")) or data.element
        if data.dims is None or size.dims is None:
            return TensorType.of(None, dtype, rank)
        dims = list(data.dims)
        for place, extent in zip(places, size.dims, strict=True):
            dims[place] = extent
        return TensorType.of(dims, dtype)


@operator("relax.image.affine_grid", "data size", align_corners=True)
class AffineGrid(_Sized):
    """The sampling positions of an affine map `data` for an image of `size` (Jaderberg et al., 2015).

    data is (batch, 2, 3), or (batch, 3, 4) for three dimensions; the result is (batch, 2, height, width), with x before
    y. Positions range from -1 to 1: the centers of the outermost elements if `align_corners`, else their outer borders.
    """

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"data": FLOATS}

    def infer(self) -> Attribute:
        data, size = check_rank(self, "data", 3), self.shape_arg("size")
        if size.rank not in (None, 2, 3):
            self.fail_shape("argument size must be height and width", "2 or 3 extents", size.rank)
        rank = size.rank
        if data.dims is not None and rank is not None:
            what = f"argument data must be of {rank} by {rank + 1} matrices"
            for have, extent in zip(data.dims[1:], (rank, rank + 1), strict=True):
                self.require_equal(have, Const(extent), what, extent, have)
        if self.attr("align_corners") and any(d.constant == 1 for d in size.dims or ()):
            self.fail_shape("argument size must be greater than 1 where align_corners", "2 or more", size)
        if data.dims is None or size.dims is None:
            return TensorType.of(None, data.element, None if rank is None else rank + 2)
        return TensorType.of([data.dims[0], Const(len(size.dims)), *size.dims], data.element)


@operator(
    "relax.image.grid_sample",
    "data grid",
    method="bilinear",
    layout="NCHW",
    padding_mode="zeros",
    align_corners=False,
)
class GridSample(Operator):
    """The values of data at the positions of grid: PyTorch's grid_sample, with the coordinates before the extents.

    data is (batch, channels, height, width), grid (batch, 2, h, w) with x before y; the layout `NCDHW` adds a depth.
    `method` is `nearest`, `bilinear` or `bicubic` (two dimensions only). Positions outside of data read `zeros`, the
    value of the `border`, or a `reflection` of the image.
    """

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": FLOATS}
    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {
        "method": ("nearest", "bilinear", "bicubic"),
        "layout": ("NCHW", "NCDHW"),
        "padding_mode": ("zeros", "border", "reflection"),
    }

    def infer(self) -> Attribute:
        check_choices(self, self.CHOICES)
        rank = len(self.attr("layout"))
        if rank > 4 and self.attr("method") == "bicubic":
            self.fail_shape("attribute method must be of three dimensions", "nearest or bilinear", "bicubic")
        data, grid = check_rank(self, "data", rank), check_rank(self, "grid", rank)
        if grid.dims is not None:
            what = "argument grid must have a coordinate for each dimension"
            self.require_equal(grid.dims[1], Const(rank - 2), what, rank - 2, grid.dims[1])
        if data.dims is None or grid.dims is None:
            return TensorType.of(None, data.element, rank)
        what = "data and grid must agree in batch"
        self.require_equal(data.dims[0], grid.dims[0], what, data.dims[0], grid.dims[0])
        return TensorType.of([*data.dims[:2], *grid.dims[2:]], data.element)


def check_choices(op: Operator, choices: Mapping[str, tuple[str, ...]]) -> None:
    """Raise `ShapeError` if an attribute has a value other than those listed."""
    for name, allowed in choices.items():
        if op.attr(name) not in allowed:
            op.fail_shape(f"attribute {name} is unknown", ", ".join(allowed), op.attr(name))
