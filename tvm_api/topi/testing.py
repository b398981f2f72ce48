"""`tvm.topi.testing`: numpy reference implementations of operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def strided_slice_python(
    data: ArrayLike,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None = None,
    slice_mode: str = "end",
    axes: Sequence[int] | None = None,
) -> np.ndarray[Any, Any]:
    """Return `data[begin:end:strides]` in the first dimensions, or in `axes`.

    With `slice_mode` `"size"`, `end` contains extents, negative for the remaining ones, and there are no
    strides.
    """
    x = np.asarray(data)
    steps = list(strides or ()) + [1] * (len(begin) - len(strides or ()))
    dims = list(range(len(begin))) if axes is None else [a % x.ndim for a in axes]
    slices = [slice(None)] * x.ndim
    for dim, first, last, step in zip(dims, begin, end, steps, strict=True):
        if slice_mode == "size":
            slices[dim] = slice(first, None if last < 0 else first + last)
        else:
            slices[dim] = _within(x.shape[dim], first, last, step)
    return x[tuple(slices)]


def _within(extent: int, first: int, last: int, step: int) -> slice:
    """Return a slice clamped to the array: a negative step may end before the first element."""
    start, stop = (v + extent if v < 0 else v for v in (first, last))
    if step > 0:
        return slice(max(start, 0), max(min(stop, extent), 0), step)
    stop = max(stop, -1)
    return slice(min(start, extent - 1), None if stop < 0 else stop, step)


def softmax_python(a_np: ArrayLike, axis: int = -1) -> np.ndarray[Any, Any]:
    """Return the softmax along an axis."""
    x = np.asarray(a_np)
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def log_softmax_python(a_np: ArrayLike, axis: int = -1) -> np.ndarray[Any, Any]:
    """Return the log-softmax along an axis."""
    x = np.asarray(a_np)
    moved = x - x.max(axis=axis, keepdims=True)
    return moved - np.log(np.exp(moved).sum(axis=axis, keepdims=True))


def batch_matmul(
    x: ArrayLike, y: ArrayLike, out_dtype: str | None = None, trans_x: bool = False, trans_y: bool = True
) -> np.ndarray[Any, Any]:
    """Return the products of pairs of matrices, with the second one transposed by default."""
    a, b = (np.asarray(v) for v in (x, y))
    a, b = (np.swapaxes(v, -1, -2) if turned else v for v, turned in ((a, trans_x), (b, trans_y)))
    return np.matmul(a, b).astype(out_dtype or a.dtype)


def gather_python(data: ArrayLike, axis: int, indices: ArrayLike) -> np.ndarray[Any, Any]:
    """Return the elements of `data` at `indices` along an axis."""
    return np.take_along_axis(np.asarray(data), np.asarray(indices), axis)


def layer_norm_python(
    data: ArrayLike, gamma: ArrayLike, beta: ArrayLike | None, axis: int | Sequence[int], epsilon: float = 1e-5
) -> np.ndarray[Any, Any]:
    """Return the normalization over axes, scaled by `gamma` and shifted by `beta`, which have the extents of these
    axes.
    """
    x = np.asarray(data)
    axes = tuple(a % x.ndim for a in ([axis] if isinstance(axis, int) else axis))
    mean, variance = x.mean(axis=axes, keepdims=True), x.var(axis=axes, keepdims=True)
    shape = [d if i in axes else 1 for i, d in enumerate(x.shape)]
    moved = 0 if beta is None else np.reshape(beta, shape)
    return (x - mean) / np.sqrt(variance + epsilon) * np.reshape(gamma, shape) + moved


__all__ = [
    "batch_matmul", "gather_python", "layer_norm_python", "log_softmax_python", "softmax_python",
    "strided_slice_python",
]  # fmt: skip
