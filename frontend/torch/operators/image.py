"""Resizing and sampling of images; pixel shuffling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....diagnostics import UnsupportedError
from ....handles.relax.expr import Expr, PrimValue, ShapeExpr, const
from ....topi.windows import image_windows
from ...importing.relax_operators import R
from ..emitter import Emitter, Extent, cast_to, dtype_of, is_float, plain, rank_of, shape_of
from ..promotion import in_single
from ..table import add_rows, row
from .resizing import by_taps, smoothing

_LINEAR = {"linear1d": 1, "bilinear2d": 2, "trilinear3d": 3}
_NEAREST = {f"nearest{exact}{rank}d": (rank, bool(exact)) for exact in ("", "_exact") for rank in (1, 2, 3)}
Sizes = Sequence[Extent] | None
Scales = Sequence[float | None] | None


def _target(e: Emitter, x: Expr, output_size: Sizes, scale_factors: Scales) -> list[Extent]:
    if output_size is not None:
        return list(output_size)
    extents = shape_of(x)[2:]
    factors = scale_factors or ()
    if not all(isinstance(s, int) for s in extents):
        traced = e.result_shape()
        if traced is not None:
            return traced[2:]
        if any(f is None or f != int(f) for f in factors):
            raise UnsupportedError("an image of unknown size is resized by a factor that is no integer")
        return [plain(s * int(f or 1)) for s, f in zip(extents, factors, strict=True)]
    return [math.floor(float(str(s)) * (f or 1.0)) for s, f in zip(extents, factors, strict=True)]


def _step(extent: Extent, target: Extent, factor: float | None) -> float | None:
    """Return the distance in the source between adjacent result elements, or None for a ratio of unknown sizes."""
    if factor is not None and factor > 0:
        return 1.0 / factor
    return extent / target if isinstance(extent, int) and isinstance(target, int) and target else None


def _nearest(rank: int, exact: bool) -> Any:
    def convert(e: Emitter, input: Expr, output_size: Sizes, scale_factors: Scales = None) -> Expr:
        target = _target(e, input, output_size, scale_factors)
        factors = list(scale_factors or [None] * rank)
        for i in range(rank):
            input = _nearest_along(e, input, 2 + i, target[i], factors[i], exact)
        return input

    return convert


def _nearest_along(e: Emitter, x: Expr, axis: int, target: Extent, factor: float | None, exact: bool) -> Expr:
    extent = shape_of(x)[axis]
    if extent == target and (factor is None or factor == 1):
        return x
    step = _step(extent, target, factor)
    if isinstance(target, int) and step is not None and isinstance(extent, int):
        places = np.floor((np.arange(target, dtype="float32") + np.float32(0.5 if exact else 0)) * np.float32(step))
        return e.emit(R.take(x, const(np.minimum(places, extent - 1), "int32"), axis=axis))
    if factor is not None and factor == int(factor):
        return e.emit(R.repeat(x, int(factor), axis=axis))
    ratio = R.divide(e.tensor(extent, "float32"), e.tensor(target, "float32"))
    scale = e.emit(ratio) if factor is None else const(1.0 / factor, "float32")
    count = R.arange(PrimValue(0), PrimValue(target), PrimValue(1), dtype="int64")
    place = R.add(R.astype(e.emit(count), dtype="float32"), const(0.5 if exact else 0.0, "float32"))
    nearest = R.astype(R.floor(R.multiply(e.emit(place), scale)), dtype="int64")
    last = R.subtract(e.tensor(extent, "int64"), const(1, "int64"))
    return e.emit(R.take(x, e.emit(R.minimum(e.emit(nearest), last)), axis=axis))


def _linear(rank: int) -> Any:
    def convert(e: Emitter, input: Expr, output_size: Sizes, align_corners: bool, scale_factors: Scales = None) -> Expr:
        target = _target(e, input, output_size, scale_factors)
        factors = list(scale_factors or [None] * rank)
        if rank == 2 and _is_ratio(input, target, factors):
            return resized(input, target, "linear", align_corners)
        return _linear_by_axis(e, input, target, factors, align_corners)

    return convert


@in_single
def _linear_by_axis(
    e: Emitter, x: Expr, target: Sequence[Extent], factors: Sequence[float | None], align_corners: bool
) -> Expr:
    for axis, (extent, factor) in enumerate(zip(target, factors, strict=True), 2):
        x = _linear_along(e, x, axis, extent, factor, align_corners)
    return x


def resized(x: Expr, size: Sequence[Extent], method: str, align_corners: bool) -> Expr:
    """Resize an image."""
    mode = "align_corners" if align_corners else "half_pixel"
    return R.image.resize2d(
        x,
        ShapeExpr(size),
        layout="NCHW",
        method=method,
        coordinate_transformation_mode=mode,
        cubic_alpha=-0.75 if method == "cubic" else -0.5,
    )


def _is_ratio(x: Expr, target: Sequence[Extent], factors: Sequence[float | None]) -> bool:
    """Return whether the factors agree with the ratio of sizes."""
    return all(
        f is None or (isinstance(s, int) and s * f == t) or f == int(f)
        for s, t, f in zip(shape_of(x)[2:], target, factors, strict=True)
    )


def _linear_along(e: Emitter, x: Expr, axis: int, target: Extent, factor: float | None, align: bool) -> Expr:
    extent = shape_of(x)[axis]
    step = _step(extent, target, factor)
    if not (isinstance(extent, int) and isinstance(target, int)) or step is None:
        return by_taps(e, x, axis, target, factor, align, is_cubic=False)
    if align:
        step = (extent - 1) / (target - 1) if target > 1 else 0.0
    places = np.arange(target) * step if align else np.maximum((np.arange(target) + 0.5) * step - 0.5, 0.0)
    low = np.minimum(np.floor(places), extent - 1)
    high = np.minimum(low + 1, extent - 1)
    weight = const((places - low).reshape([-1] + [1] * (rank_of(x) - axis - 1)), dtype_of(x))
    below, above = (e.emit(R.take(x, const(p, "int32"), axis=axis)) for p in (low, high))
    return e.emit(R.add(below, R.multiply(weight, R.subtract(above, below))))


add_rows((f"upsample_{name}.vec", _linear(rank)) for name, rank in _LINEAR.items())
add_rows(
    (f"{'_' if exact else ''}upsample_{name}.vec", _nearest(rank, exact)) for name, (rank, exact) in _NEAREST.items()
)


@row("upsample_nearest2d", "upsample_nearest1d", "upsample_nearest3d")
def upsample_nearest(e: Emitter, x: Expr, output_size: Sequence[Extent], *scales: float | None) -> Expr:
    """Return the nearest elements, with explicit factors."""
    return _nearest(len(output_size), False)(e, x, output_size, list(scales) or None)


@row("_upsample_nearest_exact2d", "_upsample_nearest_exact1d", "_upsample_nearest_exact3d")
def upsample_nearest_exact(e: Emitter, x: Expr, output_size: Sequence[Extent], *scales: float | None) -> Expr:
    """Return the elements nearest to the centers, with explicit factors."""
    return _nearest(len(output_size), True)(e, x, output_size, list(scales) or None)


@row("upsample_bilinear2d", "upsample_linear1d", "upsample_trilinear3d")
def upsample_linear(
    e: Emitter, x: Expr, output_size: Sequence[Extent], align_corners: bool, *scales: float | None
) -> Expr:
    """Interpolate linearly between neighbours, with explicit factors."""
    return _linear(len(output_size))(e, x, output_size, align_corners, list(scales) or None)


@row("upsample_bicubic2d.vec")
def upsample_bicubic2d(
    e: Emitter, input: Expr, output_size: Sizes, align_corners: bool, scale_factors: Scales = None
) -> Expr:
    """Interpolate between neighbours by cubic polynomials."""
    target = _target(e, input, output_size, scale_factors)
    factors = list(scale_factors or [None, None])
    if _is_ratio(input, target, factors):
        return resized(input, target, "cubic", align_corners)
    return _cubic_by_axis(e, input, target, factors, align_corners)


@in_single
def _cubic_by_axis(
    e: Emitter, x: Expr, target: Sequence[Extent], factors: Sequence[float | None], align_corners: bool
) -> Expr:
    for axis, (extent, factor) in enumerate(zip(target, factors, strict=True), 2):
        x = by_taps(e, x, axis, extent, factor, align_corners, is_cubic=True)
    return x


@row("upsample_bicubic2d")
def upsample_bicubic2d_scales(
    e: Emitter, x: Expr, output_size: Sequence[Extent], align_corners: bool, *scales: float | None
) -> Expr:
    """Interpolate between neighbours by cubic polynomials, with explicit factors."""
    return upsample_bicubic2d(e, x, output_size, align_corners, list(scales) or None)


@row("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa")
@in_single
def upsample_smoothed(
    e: Emitter, x: Expr, output_size: Sequence[Extent], align_corners: bool, scales_h: float | None = None,
    scales_w: float | None = None,
) -> Expr:  # fmt: skip
    """Resize an image by kernels that grow as it shrinks: a matrix for each dimension."""
    is_cubic = e.node is not None and "bicubic" in str(e.node.target)
    rows, columns = (
        _weights(e, x, 2 + i, target, factor, align_corners, is_cubic)
        for i, (target, factor) in enumerate(zip(output_size, (scales_h, scales_w), strict=True))
    )
    wide = e.emit(R.matmul(x, e.emit(R.permute_dims(columns))))
    return R.matmul(rows, wide)


@row("_upsample_bilinear2d_aa.vec", "_upsample_bicubic2d_aa.vec")
def upsample_smoothed_vec(
    e: Emitter, input: Expr, output_size: Sizes, align_corners: bool, scale_factors: Scales = None
) -> Expr:
    """Resize an image by kernels that grow as it shrinks, to a size or by factors."""
    target = _target(e, input, output_size, scale_factors)
    return upsample_smoothed(e, input, target, align_corners, *(scale_factors or ()))


def _weights(
    e: Emitter, x: Expr, axis: int, target: Extent, factor: float | None, align: bool, is_cubic: bool
) -> Expr:  # fmt: skip
    source = shape_of(x)[axis]
    if isinstance(source, int) and isinstance(target, int):
        return const(_smoothing(source, target, factor, align, is_cubic), dtype_of(x))
    return cast_to(smoothing(e, x, axis, target, factor, align, is_cubic), dtype_of(x))


def _smoothing(source: int, target: int, factor: float | None, align_corners: bool, is_cubic: bool) -> Any:
    """Return the weights of the source's elements in each of the result's."""
    if align_corners:
        scale = (source - 1) / (target - 1) if target > 1 else 0.0
    else:
        scale = 1.0 / factor if factor else source / target
    width, stretch = (2.0 if is_cubic else 1.0), max(scale, 1.0)
    centers = scale * (np.arange(target) + 0.5)
    first = np.maximum((centers - width * stretch + 0.5).astype("int64"), 0)
    last = np.minimum((centers + width * stretch + 0.5).astype("int64"), source)
    places = np.arange(source)
    distance = np.abs((places - centers[:, None] + 0.5) / stretch)
    weights = _cubic(distance) if is_cubic else np.maximum(1.0 - distance, 0.0)
    weights = np.where((places >= first[:, None]) & (places < last[:, None]), weights, 0.0)
    return weights / weights.sum(axis=1, keepdims=True)


def _cubic(x: Any) -> Any:
    """Return Keys' cubic kernel with the parameter -1/2."""
    near = (1.5 * x - 2.5) * x * x + 1.0
    far = ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    return np.where(x < 1.0, near, np.where(x < 2.0, far, 0.0))


@row("grid_sampler_2d", "grid_sampler_3d", "grid_sampler")
def grid_sampler(
    e: Emitter, input: Expr, grid: Expr, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Expr:
    """Sample an image at positions."""
    rank = rank_of(input)
    positions = e.emit(R.permute_dims(grid, axes=[0, rank - 1, *range(1, rank - 1)]))
    return R.image.grid_sample(
        input, positions, method=("bilinear", "nearest", "bicubic")[interpolation_mode],
        layout="NCHW" if rank == 4 else "NCDHW", padding_mode=("zeros", "border", "reflection")[padding_mode],
        align_corners=align_corners,
    )  # fmt: skip


@row("pixel_shuffle")
def pixel_shuffle(e: Emitter, x: Expr, upscale_factor: int) -> Expr:
    """Rearrange channels into blocks of pixels."""
    return R.nn.pixel_shuffle(x, upscale_factor=upscale_factor)


@row("pixel_unshuffle")
def pixel_unshuffle(e: Emitter, x: Expr, downscale_factor: int) -> Expr:
    """Rearrange blocks of pixels into channels."""
    r = downscale_factor
    *outer, c, h, w = shape_of(x)
    n = len(outer)
    blocks = e.emit(R.reshape(x, ShapeExpr([*outer, c, h // r, r, w // r, r])))
    order = [*range(n), n, n + 2, n + 4, n + 1, n + 3]
    return R.reshape(e.emit(R.permute_dims(blocks, axes=order)), ShapeExpr([*outer, c * r * r, h // r, w // r]))


@row("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(e: Emitter, x: Expr, groups: int) -> Expr:
    """Interleave the channels of groups."""
    n, c, *rest = shape_of(x)
    grouped = e.emit(R.reshape(x, ShapeExpr([n, groups, c // groups, *rest])))
    axes = [0, 2, 1, *range(3, 3 + len(rest))]
    return R.reshape(e.emit(R.permute_dims(grouped, axes=axes)), ShapeExpr([n, c, *rest]))


# Windows as columns; their sums by convolutions with one-hot kernels.


def _ones(channels: int, kernel: Sequence[int], dtype: str) -> Expr:
    count = math.prod(kernel)
    return const(np.tile(np.eye(count).reshape(count, 1, *kernel), (channels, 1, 1, 1)), dtype)


def _columns_of(x: Expr, rank: int) -> tuple[bool, int]:
    channels = shape_of(x)[-rank]
    if not isinstance(channels, int) or not is_float(dtype_of(x)):
        raise UnsupportedError("windows of integers, or of a number of channels that is not known, as columns")
    return len(shape_of(x)) == rank, channels


@row("im2col")
def im2col(
    e: Emitter, x: Expr, kernel_size: Sequence[int], dilation: Sequence[int], padding: Sequence[int],
    stride: Sequence[int],
) -> Expr:  # fmt: skip
    """Return the windows of images as columns."""
    windows = e.emit(e.builder.call_te(image_windows, x, kernel_size, dilation, padding, stride))
    *outer, channels, height, width, rows, columns = shape_of(windows)
    return R.reshape(windows, ShapeExpr([*outer, channels * height * width, rows * columns]))


@row("col2im")
def col2im(
    e: Emitter, x: Expr, output_size: Sequence[int], kernel_size: Sequence[int], dilation: Sequence[int],
    padding: Sequence[int], stride: Sequence[int],
) -> Expr:  # fmt: skip
    """Add columns to the windows of an image, summing overlaps."""
    alone, columns = _columns_of(x, 2)
    channels = columns // math.prod(kernel_size)
    rows = list(zip(output_size, kernel_size, dilation, padding, stride, strict=True))
    counts = [(o + 2 * p - d * (k - 1) - 1) // s + 1 for o, k, d, p, s in rows]
    more = [o - ((n - 1) * s - 2 * p + d * (k - 1) + 1) for n, (o, k, d, p, s) in zip(counts, rows, strict=True)]
    n = 1 if alone else shape_of(x)[0]
    images = e.emit(R.nn.conv2d_transpose(
        R.reshape(x, ShapeExpr([n, columns, *counts])), _ones(channels, kernel_size, dtype_of(x)),
        strides=list(stride), padding=list(padding), dilation=list(dilation), output_padding=more, groups=channels,
    ))  # fmt: skip
    return R.squeeze(images, axis=[0]) if alone else images
