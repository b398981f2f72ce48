"""Pooling."""

from __future__ import annotations

from typing import Any

from ....diagnostics import TiraxError
from ....dialects.relax.layout import arranged
from ....dialects.sym.expr import Const, SymExpr
from ....te.axis import dim
from ....te.tensor import Tensor
from ....topi import grad as _grad
from ....topi import windows as _windows
from ..common import integers
from ..layouts import pad_pairs, places, window_counts


def _kind(pool_type: str) -> str:
    if pool_type not in ("max", "avg"):
        raise TiraxError("unknown kind of pooling", expected="max or avg", found=pool_type)
    return pool_type


def _pool(
    data: Tensor,
    rank: int,
    letters: str,
    window: tuple[Any, Any, Any, Any],
    pool_type: str,
    ceil_mode: bool,
    layout: str,
    count_include_pad: bool,
) -> Tensor:
    at = places(layout, "NC" + letters)
    size, steps, dilations = (integers(v, rank) for v in window[:3])
    given = pad_pairs(window[3], size)
    pairs = [(b, a + (s - 1 if ceil_mode else 0)) for (b, a), s in zip(given, steps, strict=True)]
    reach = [(k - 1) * d + 1 for k, d in zip(size, dilations, strict=True)]
    counts = window_counts(data, at[2:], pairs, reach, steps)
    dims = arranged(at, [data.dims[at[0]], data.dims[at[1]], *counts])
    counted = given if count_include_pad else None
    return _windows.pool(data, dims, at, size, steps, dilations, pairs, _kind(pool_type), counted)


def pool1d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCW",
    count_include_pad: bool = True,
) -> Tensor:
    """The greatest value (`max`) or the mean (`avg`) of each window along one dimension."""
    window = (kernel, stride, dilation, padding)
    return _pool(data, 1, "W", window, pool_type, ceil_mode, layout, count_include_pad)


def pool2d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    count_include_pad: bool = True,
) -> Tensor:
    """The greatest value (`max`) or the mean (`avg`) of each window along two dimensions."""
    window = (kernel, stride, dilation, padding)
    return _pool(data, 2, "HW", window, pool_type, ceil_mode, layout, count_include_pad)


def pool3d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCDHW",
    count_include_pad: bool = True,
) -> Tensor:
    """The greatest value (`max`) or the mean (`avg`) of each window along three dimensions."""
    window = (kernel, stride, dilation, padding)
    return _pool(data, 3, "DHW", window, pool_type, ceil_mode, layout, count_include_pad)


def _adaptive(data: Tensor, output_size: Any, letters: str, pool_type: str, layout: str) -> Tensor:
    at = places(layout, "NC" + letters)
    sizes = output_size if isinstance(output_size, list | tuple) else [output_size] * len(letters)
    extents = [_like(dim(s), data.dims[p]) for s, p in zip(sizes, at[2:], strict=True)]
    dims = arranged(at, [data.dims[at[0]], data.dims[at[1]], *extents])
    return _windows.adaptive_pool(data, dims, at, _kind(pool_type))


def _like(extent: SymExpr, other: SymExpr) -> SymExpr:
    """A constant extent in the dtype of another."""
    return extent if extent.constant is None else Const(extent.constant, other.dtype)


def adaptive_pool1d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCW") -> Tensor:
    """One dimension cut into `output_size` windows, which may overlap."""
    return _adaptive(data, output_size, "W", pool_type, layout)


def adaptive_pool(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCHW") -> Tensor:
    """Two dimensions cut into `output_size` windows, which may overlap."""
    return _adaptive(data, output_size, "HW", pool_type, layout)


def adaptive_pool3d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCDHW") -> Tensor:
    """Three dimensions cut into `output_size` windows, which may overlap."""
    return _adaptive(data, output_size, "DHW", pool_type, layout)


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Tensor:
    """The greatest value (`max`) or the mean (`avg`) of each channel, with extents of 1."""
    return _adaptive(data, [1, 1], "HW", pool_type, layout)


def pool_grad(
    grads: Tensor,
    data: Tensor,
    kernel: Any,
    stride: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: str = "NCHW",
) -> Tensor:
    """The gradient of `pool2d` by its data."""
    size, steps = integers(kernel, 2), integers(stride, 2)
    given = pad_pairs(padding, size)
    pairs = [(b, a + (s - 1 if ceil_mode else 0)) for (b, a), s in zip(given, steps, strict=True)]
    counted = given if count_include_pad else None
    window = (size, steps, [1, 1], pairs)
    return _grad.pool_backward(grads, data, places(layout, "NCHW"), window, _kind(pool_type), counted)


__all__ = [
    "adaptive_pool",
    "adaptive_pool1d",
    "adaptive_pool3d",
    "global_pool",
    "pool1d",
    "pool2d",
    "pool3d",
    "pool_grad",
]
