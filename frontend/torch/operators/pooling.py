"""Maximum and average pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....diagnostics import UnsupportedError
from ....handles.relax.expr import Expr, ShapeExpr, const
from ...importing.relax_operators import R
from ..emitter import Emitter, cast_to, dtype_of, is_float, rank_of, shape_of
from ..promotion import promoted
from ..table import add_rows, row
from .convolution import SPATIAL, batched, each, unbatched
from .elementwise import number


def _pool_layout(spatial: int) -> dict[str, str]:
    layout = f"NC{SPATIAL[spatial]}"
    return {"layout": layout, "out_layout": layout}


def _max_pool(spatial: int) -> Any:
    build = getattr(R.nn, f"max_pool{spatial}d")

    def convert(
        e: Emitter, x: Expr, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Expr:  # fmt: skip
        data, alone = batched(e, x, spatial)
        size = each(kernel_size, spatial)
        steps = each(stride, spatial) if isinstance(stride, int) or stride else size
        result = build(
            data, pool_size=size, strides=steps, dilation=each(dilation, spatial), padding=each(padding, spatial),
            ceil_mode=ceil_mode, **_pool_layout(spatial),
        )  # fmt: skip
        return unbatched(result, alone)

    return convert


def _avg_pool(spatial: int) -> Any:
    build = getattr(R.nn, f"avg_pool{spatial}d")

    def convert(
        e: Emitter, x: Expr, kernel_size: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Expr:  # fmt: skip
        dtype = dtype_of(x)
        exact = divisor_override is not None and not is_float(dtype)
        wide = "float64" if exact else dtype if divisor_override is None else promoted(dtype, "float32")
        data, alone = batched(e, cast_to(x, wide), spatial)
        size = each(kernel_size, spatial)
        steps = each(stride, spatial) if isinstance(stride, int) or stride else size
        pads = each(padding, spatial)
        if divisor_override is not None and ceil_mode:
            data, pads, ceil_mode = _with_full_windows(e, data, size, steps, pads), [0] * spatial, False
        count_padding = count_include_pad or divisor_override is not None
        counted = {"count_include_pad": count_padding} if any(pads) else {}
        result = build(
            data, pool_size=size, strides=steps, dilation=[1] * spatial, padding=pads, ceil_mode=ceil_mode,
            **_pool_layout(spatial), **counted,
        )  # fmt: skip
        count = float(math.prod(size))
        if exact:  # the sum of integers, divided towards 0
            total = R.round(R.multiply(result, const(count, "float64")))
            result = cast_to(R.trunc(R.divide(total, const(float(divisor_override or 1), "float64"))), dtype)
        elif divisor_override is not None:
            result = cast_to(e.emit(R.multiply(result, const(count / divisor_override, wide))), dtype)
        return unbatched(result, alone)

    return convert


def _with_full_windows(e: Emitter, x: Expr, size: list[int], steps: list[int], pads: list[int]) -> Expr:
    """Pad x with zeros as far as windows in ceil mode reach."""
    widths = [0, 0, 0, 0]
    for extent, k, s, p in zip(map(known, shape_of(x)[2:]), size, steps, pads, strict=True):
        last = -(-(extent + 2 * p - k) // s)
        last -= last * s >= extent + p  # PyTorch omits windows that are entirely outside of the image
        widths += [p, max(last * s + k - extent - p, 0)]
    return e.emit(R.nn.pad(x, pad_width=widths, pad_mode="constant", pad_value=0.0))


def _adaptive_avg_pool(spatial: int) -> Any:
    build = getattr(R.nn, f"adaptive_avg_pool{spatial}d")

    def convert(e: Emitter, x: Expr, output_size: Any) -> Expr:
        data, alone = batched(e, x, spatial)
        return unbatched(build(data, output_size=each(output_size, spatial), **_pool_layout(spatial)), alone)

    return convert


MAX_POOLS = {spatial: _max_pool(spatial) for spatial in SPATIAL}
add_rows((f"max_pool{s}d", convert) for s, convert in MAX_POOLS.items())
add_rows((f"avg_pool{s}d", _avg_pool(s)) for s in SPATIAL)
add_rows((f"adaptive_avg_pool{s}d", _adaptive_avg_pool(s)) for s in SPATIAL)
add_rows((f"_adaptive_avg_pool{s}d", _adaptive_avg_pool(s)) for s in (2, 3))


# With positions: gather the windows.


@row("max_pool2d_with_indices", "max_pool3d_with_indices", "max_pool1d_with_indices")
def max_pool_with_indices(
    e: Emitter, x: Expr, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> list[Any]:  # fmt: skip
    """Return the maximum of each window, and its position in the flattened spatial dimensions."""
    spatial = len(kernel_size) if not isinstance(kernel_size, int) else rank_of(x) - 2
    result = e.bound(MAX_POOLS[spatial](e, x, kernel_size, stride, padding, dilation, ceil_mode))
    if not e.is_used(1):
        return [result, None]
    size = each(kernel_size, spatial)
    steps = each(stride, spatial) if isinstance(stride, int) or stride else size
    rows = zip(shape_of(result)[-spatial:], size, steps, each(padding, spatial), each(dilation, spatial), strict=True)
    places = [np.arange(known(count))[:, None] * step - pad + np.arange(k) * gap for count, k, step, pad, gap in rows]
    return [result, e.emit(_positions_of_greatest(e, x, places))]


def known(extent: Any) -> int:
    """Return an extent that must be constant. Raises `UnsupportedError` if it is symbolic."""
    if not isinstance(extent, int):
        raise UnsupportedError("the positions in windows of data of unknown size", found=extent)
    return extent


def _gathered(e: Emitter, x: Expr, places: Sequence[np.ndarray[Any, Any]]) -> Expr:
    """Return windows as a new last dimension, given their positions along each spatial dimension."""
    spatial = len(places)
    first = rank_of(x) - spatial
    for i, place in enumerate(places):
        x = e.emit(R.take(x, const(place, "int64"), axis=first + 2 * i))
    outer = list(range(first))
    order = [*outer, *(first + 2 * i for i in range(spatial)), *(first + 2 * i + 1 for i in range(spatial))]
    shape = shape_of(x)
    counts = [*shape[:first], *(p.shape[0] for p in places), math.prod(p.shape[1] for p in places)]
    return e.emit(R.reshape(e.emit(R.permute_dims(x, axes=order)), ShapeExpr(counts)))


def _positions_of_greatest(e: Emitter, x: Expr, places: Sequence[np.ndarray[Any, Any]]) -> Expr:
    spatial = len(places)
    extents = [known(s) for s in shape_of(x)[-spatial:]]
    inside = [(p >= 0) & (p < n) for p, n in zip(places, extents, strict=True)]
    within = [np.clip(p, 0, n - 1) for p, n in zip(places, extents, strict=True)]
    windows = _gathered(e, x, within)
    numbers = np.arange(math.prod(extents)).reshape(extents)
    table = _windows_of(numbers, within)
    hidden = ~_windows_of(np.ones(extents, bool), within, inside)
    least = -math.inf if is_float(dtype_of(x)) else np.iinfo(dtype_of(x)).min
    if hidden.any():
        windows = e.emit(R.where(const(hidden, "bool"), number(x, least), windows))
    chosen = e.emit(R.argmax(windows, axis=-1, keepdims=True))
    all_numbers = e.emit(R.broadcast_to(const(table, "int64"), ShapeExpr(shape_of(windows))))
    return R.squeeze(e.emit(R.gather_elements(all_numbers, chosen, axis=rank_of(windows) - 1)), axis=[-1])


def _windows_of(
    values: np.ndarray[Any, Any], places: Sequence[np.ndarray[Any, Any]],
    inside: Sequence[np.ndarray[Any, Any]] | None = None,
) -> np.ndarray[Any, Any]:  # fmt: skip
    """Like `_gathered` for constant arrays; False at positions outside of the image."""
    spatial = len(places)
    for i, place in enumerate(places):
        values = np.take(values, place, axis=2 * i)
        if inside is not None:
            values = values & inside[i].reshape([*inside[i].shape] + [1] * (values.ndim - 2 * i - 2))
    order = [*(2 * i for i in range(spatial)), *(2 * i + 1 for i in range(spatial))]
    values = values.transpose(order)
    return values.reshape([*values.shape[:spatial], -1])


@row("adaptive_max_pool2d", "adaptive_max_pool3d", "adaptive_max_pool1d")
def adaptive_max_pool(e: Emitter, x: Expr, output_size: Any) -> list[Any]:
    """Return the maxima of windows that partition each spatial dimension evenly, and their positions."""
    spatial = len(output_size)
    places = [_parts(known(n), m) for n, m in zip(shape_of(x)[-spatial:], output_size, strict=True)]
    result = e.emit(R.max(_gathered(e, x, places), axis=[-1], keepdims=False))
    return [result, e.emit(_positions_of_greatest(e, x, places)) if e.is_used(1) else None]


def _parts(extent: int, count: int) -> np.ndarray[Any, Any]:
    """Return the positions of each part; shorter parts repeat their last position."""
    begins = np.arange(count) * extent // count
    ends = -(-(np.arange(count) + 1) * extent // count)
    widest = int((ends - begins).max()) if count else 1
    return np.minimum(begins[:, None] + np.arange(widest), ends[:, None] - 1)
