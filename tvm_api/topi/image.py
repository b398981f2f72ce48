"""`tvm.topi.image`: resizing, cropping and sampling of images, and morphology."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diagnostics import TiraxError, unknown_name
from ...dialects.relax.layout import arranged
from ...te.axis import dim, shape_dims
from ...te.tensor import Tensor
from ...topi import image as _image
from ...topi import sampling as _sampling
from ..operators import spatial as _spatial
from .arguments import call_by_names, constant_like, element_type, integers, kernel_extents, pad_pairs, places

_METHODS = ("nearest_neighbor", "linear", "cubic")
_ROUNDINGS = {"align_corners": "round"}


def _resize(
    data: Tensor,
    letters: str,
    roi: Any,
    size: Any,
    layout: str,
    method: str,
    mode: str,
    rounding: str,
    cubic: tuple[float, int],
    extrapolation: float,
    out_dtype: str | None,
    output_shape: Any,
) -> Tensor:
    if method not in _METHODS:
        raise unknown_name("method of resizing", method, _METHODS)
    rank = len(letters)
    at = places(layout, "NC" + letters)
    regions = [float(v) for v in roi] if roi else [0.0] * (2 * rank)
    how = _image.Resizing(
        method, mode, rounding or _ROUNDINGS.get(mode, "floor"), cubic[0], bool(cubic[1]), regions, extrapolation
    )
    if output_shape is not None:
        dims = shape_dims(output_shape)
    else:
        spatial = [constant_like(dim(s), data.dims[p]) for s, p in zip(size, at[2:], strict=True)]
        dims = arranged(at, [data.dims[at[0]], data.dims[at[1]], *spatial])
    return _image.resize(data, dims, at[2:], how, element_type(out_dtype, data.type))


def _resizing(letters: str, doc: str) -> Callable[..., Tensor]:
    def apply(
        data: Tensor,
        roi: Any,
        size: Any,
        layout: str = "NC" + letters,
        method: str = "linear",
        coordinate_transformation_mode: str = "half_pixel",
        rounding_method: str = "",
        bicubic_alpha: float = -0.5,
        bicubic_exclude: int = 0,
        extrapolation_value: float = 0.0,
        out_dtype: str | None = None,
        output_shape: Any = None,
    ) -> Tensor:
        cubic = (bicubic_alpha, bicubic_exclude)
        how = (method, coordinate_transformation_mode, rounding_method, cubic, extrapolation_value)
        return _resize(data, letters, roi, size, layout, *how, out_dtype, output_shape)

    apply.__doc__ = f"{doc} resized to `size`; see `relax.image.resize2d` for the methods and modes."
    return apply


resize1d = _resizing("W", "A row")
resize2d = _resizing("HW", "An image")
resize3d = _resizing("DHW", "A volume")


def crop_and_resize(
    data: Tensor,
    boxes: Tensor,
    box_indices: Tensor,
    crop_size: Any,
    layout: str = "NCHW",
    method: str = "bilinear",
    extrapolation_value: float | None = None,
    out_dtype: str | None = None,
) -> Tensor:
    """Crop each box (y1, x1, y2, x2, from 0 to 1) of an image in the batch, and resize it."""
    if method not in ("bilinear", "nearest_neighbor"):
        raise unknown_name("method of crop_and_resize", method, ("bilinear", "nearest_neighbor"))
    outside = 0.0 if extrapolation_value is None else float(extrapolation_value)
    dtype = element_type(out_dtype, data.type)
    size = integers(crop_size, 2)
    return _sampling.crop_and_resize(data, boxes, box_indices, size, places(layout, "NCHW"), method, outside, dtype)


def affine_grid(data: Tensor, target_shape: Any, align_corners: bool = True) -> Tensor:
    """Return the positions, in [-1, 1], to which the matrices `data` map a grid of `target_shape`."""
    return _sampling.affine_grid(
        data, [constant_like(d, data.dims[0]) for d in shape_dims(target_shape)], align_corners
    )


def grid_sample(
    data: Tensor,
    grid: Tensor,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Tensor:
    """Sample `data` at the positions in `grid`. Raises `TiraxError` for channels-last layouts."""
    if layout not in ("NCHW", "NCDHW"):
        raise TiraxError("grid_sample takes data with channels first", expected="NCHW or NCDHW", found=layout)
    return _sampling.grid_sample(data, grid, method, padding_mode, align_corners)


def dilation2d_nchw(
    input: Tensor, filter: Tensor, stride: Any, padding: Any, dilations: Any, out_dtype: str | None = None
) -> Tensor:
    """Return the maximum of input + filter in each window of (N, C, H, W); the filter is (C, H, W)."""
    return _dilation2d(input, filter, (stride, padding, dilations), [0, 1, 2, 3], [0, 1, 2], out_dtype)


def dilation2d_nhwc(
    input: Tensor, filter: Tensor, stride: Any, padding: Any, dilations: Any, out_dtype: str | None = None
) -> Tensor:
    """Return the maximum of input + filter in each window of (N, H, W, C); the filter is (H, W, C)."""
    return _dilation2d(input, filter, (stride, padding, dilations), [0, 3, 1, 2], [2, 0, 1], out_dtype)


def _dilation2d(
    data: Tensor, kernel: Tensor, window: tuple[Any, Any, Any], at: list[int], own: list[int], out_dtype: str | None
) -> Tensor:
    stride, padding, dilations = window
    steps, gaps = integers(stride, 2), integers(dilations, 2)
    pairs = pad_pairs(padding, kernel_extents([kernel.dims[p] for p in own[1:]], gaps))
    return _spatial.dilation2d(data, kernel, at, own, pairs, steps, gaps, element_type(out_dtype, data.type))


__all__ = [
    "affine_grid",
    "crop_and_resize",
    "dilation2d_nchw",
    "dilation2d_nhwc",
    "grid_sample",
    "resize1d",
    "resize2d",
    "resize3d",
]

call_by_names(globals())
