"""Maximum and average pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ....diagnostics import UnsupportedError
from ....dialects.sym.expr import SymExpr, as_expr, floordiv
from ....dialects.sym.operators import maximum, minimum
from ....handles.relax.expr import Expr, ShapeExpr, TupleGetItem, const
from ....topi.regions import (
    Parts,
    Sliding,
    Windows,
    greatest_of_chosen_windows,
    greatest_of_windows,
    means_of_windows,
)  # fmt: skip
from ....topi.windows import adaptive_pool
from ...importing.relax_operators import R
from ..emitter import Emitter, Extent, cast_to, dtype_of, is_float, plain, rank_of, shape_of
from ..promotion import promoted
from ..table import add_rows, row
from .convolution import SPATIAL, batched, each, padded, unbatched


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
    widths: list[Any] = []
    for extent, k, s, p in reversed(list(zip(shape_of(x)[-len(size) :], size, steps, pads, strict=True))):
        # the last window that begins inside of the image or of the padding before it: PyTorch omits the others
        last = minimum(-floordiv(as_expr(k - 2 * p) - extent, s), -floordiv(as_expr(-p) - extent, s) - 1)
        widths += [p, plain(maximum(last * s + (k - p) - extent, 0))]
    return e.emit(padded(e, x, widths, "constant", 0.0))


def _adaptive_avg_pool(spatial: int) -> Any:
    build = getattr(R.nn, f"adaptive_avg_pool{spatial}d")

    def convert(e: Emitter, x: Expr, output_size: Any) -> Expr:
        parts = [output_size] * spatial if isinstance(output_size, int | SymExpr) else list(output_size)
        if not all(isinstance(n, int) for n in parts):
            counts = [as_expr(n) for n in parts]
            return e.builder.call_te(means_of_windows, x, [Parts(n) for n in counts], counts)
        data, alone = batched(e, x, spatial)
        return unbatched(build(data, output_size=each(output_size, spatial), **_pool_layout(spatial)), alone)

    return convert


MAX_POOLS = {spatial: _max_pool(spatial) for spatial in SPATIAL}
add_rows((f"max_pool{s}d", convert) for s, convert in MAX_POOLS.items())
add_rows((f"avg_pool{s}d", _avg_pool(s)) for s in SPATIAL)
add_rows((f"adaptive_avg_pool{s}d", _adaptive_avg_pool(s)) for s in SPATIAL)
add_rows((f"_adaptive_avg_pool{s}d", _adaptive_avg_pool(s)) for s in (2, 3))


# With positions.


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
    rows = zip(size, steps, each(padding, spatial), each(dilation, spatial), strict=True)
    return [result, _greatest(e, x, [Sliding(*row) for row in rows], shape_of(result)[-spatial:])[1]]


def known(extent: Any) -> int:
    """Return an extent that must be constant. Raises `UnsupportedError` if it is symbolic."""
    if not isinstance(extent, int):
        raise UnsupportedError("windows of data of unknown size", found=extent)
    return extent


def _greatest(e: Emitter, x: Expr, windows: Sequence[Windows], counts: Sequence[Extent]) -> list[Expr]:
    both = e.emit(e.builder.call_te(greatest_of_windows, x, windows, [as_expr(n) for n in counts]))
    return [e.emit(TupleGetItem(both, i)) for i in range(2)]


@row("adaptive_max_pool2d", "adaptive_max_pool3d", "adaptive_max_pool1d")
def adaptive_max_pool(e: Emitter, x: Expr, output_size: Sequence[Extent]) -> list[Any]:
    """Return the maxima of windows that partition each spatial dimension evenly, and their positions."""
    if not e.is_used(1):
        spatial = len(output_size)
        data, alone = batched(e, x, spatial)
        shape = [as_expr(n) for n in (*shape_of(data)[:-spatial], *output_size)]
        pooled = e.builder.call_te(adaptive_pool, data, shape, range(spatial + 2), "max")
        return [unbatched(e.bound(pooled), alone), None]
    return list(_greatest(e, x, [Parts(as_expr(n)) for n in output_size], output_size))


@row("fractional_max_pool2d", "fractional_max_pool3d")
def fractional_max_pool(
    e: Emitter, x: Expr, kernel_size: Any, output_size: Sequence[Extent], random_samples: Expr
) -> list[Expr]:
    """Return the maxima of windows at distances that samples between 0 and 1 choose, and their positions.

    The samples are (images, channels, dimensions), in 2-D of the columns first (Graham, 2014).
    """
    spatial = len(output_size)
    *outer, _ = shape_of(random_samples)
    samples = e.emit(R.reshape(random_samples, ShapeExpr([*outer[-(rank_of(x) - spatial) :], spatial])))
    sizes = each(kernel_size, spatial)
    rows = zip(shape_of(x)[-spatial:], sizes, output_size, strict=True)
    own = (1, 0) if spatial == 2 else (0, 1, 2)
    begins = [_chosen(e, samples, k, *row) for k, row in zip(own, rows, strict=True)]
    both = e.emit(e.builder.call_te(greatest_of_chosen_windows, x, begins, sizes))
    return [e.emit(TupleGetItem(both, i)) for i in range(2)]


def _chosen(e: Emitter, samples: Expr, k: int, extent: Extent, size: int, count: Extent) -> Expr:
    """Return where `count` windows of a dimension begin by its sample, the k-th: rounded as PyTorch does."""
    dtype, last = dtype_of(samples), rank_of(samples) - 1
    sample = e.emit(R.strided_slice(samples, axes=[last], begin=[k], end=[k + 1]))
    room = as_expr(extent) - size
    gap = e.emit(R.divide(e.tensor(plain(room), dtype), e.tensor(plain(as_expr(count) - 1), dtype)))
    place = e.emit(e.counted(count))
    begins, before = (
        e.emit(R.astype(R.multiply(v, gap), dtype="int64")) for v in (R.add(cast_to(place, dtype), sample), sample)
    )
    is_last = R.equal(place, e.tensor(plain(as_expr(count) - 1), "int64"))
    return e.emit(R.where(is_last, e.tensor(plain(room), "int64"), R.subtract(begins, before)))
