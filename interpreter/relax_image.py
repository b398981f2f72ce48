"""Reference semantics, in numpy, of operators on images; rows as in `relax_operators`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any


def _coordinates(mode: str, n: int, m: int, start: float, end: float) -> Array:
    """The position in a dimension of n elements of each of m new ones."""
    x = np.arange(m, dtype=np.float64)
    half = (x + 0.5) * n / m - 0.5
    if mode == "pytorch_half_pixel" and m <= 1:
        return np.zeros(m)
    if mode == "tf_crop_and_resize":
        single = np.full(m, 0.5 * (start + end) * (n - 1))
        return start * (n - 1) + x * (end - start) * (n - 1) / (m - 1) if m > 1 else single
    others = {
        "tf_half_pixel_for_nn": (x + 0.5) * n / m,
        "align_corners": x * (n - 1) / max(m - 1, 1),
        "asymmetric": x * n / m,
    }
    return others.get(mode, half)


_ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "round": lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5),
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": lambda x: np.floor(x + 1e-5),
    "ceil": lambda x: np.ceil(x - 1e-5),
}


def _kernel(method: str, d: Array, a: float) -> Array:
    """The weight of a point at the distance d."""
    if method == "linear":
        return np.maximum(1 - d, 0)
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _matrix(op: Any, x: Array, n: int) -> Array:
    """The weights of the n elements of a dimension for each position."""
    out = np.zeros((len(x), n))
    rows = np.arange(len(x))
    method = op.attr("method")
    if method == "nearest_neighbor":
        out[rows, np.clip(_ROUNDINGS[op.attr("rounding_method")](x).astype(np.int64), 0, n - 1)] = 1
        return out
    for k in (-1, 0, 1, 2) if method == "cubic" else (0, 1):
        point = np.floor(x) + k
        weight = _kernel(method, np.abs(x - point), op.attr("cubic_alpha"))
        if method == "cubic" and op.attr("cubic_exclude"):
            weight = np.where((point >= 0) & (point < n), weight, 0)
        np.add.at(out, (rows, np.clip(point.astype(np.int64), 0, n - 1)), weight)
    if method == "cubic" and op.attr("cubic_exclude"):
        out /= out.sum(axis=1, keepdims=True)
    return out


def _resize2d(op: Any, data: Array, size: tuple[int, ...]) -> Array:
    layout, mode = op.attr("layout"), op.attr("coordinate_transformation_mode")
    x = data.transpose([layout.index(c) for c in "NCHW"])
    roi = op.attr("roi") or [0.0] * 4
    at = [_coordinates(mode, x.shape[2 + i], size[i], roi[i], roi[i + 2]) for i in range(2)]
    if op.attr("method") == "nearest_neighbor":
        rows, columns = (_matrix(op, v, x.shape[2 + i]).argmax(axis=1) for i, v in enumerate(at))
        out = x[:, :, rows][:, :, :, columns]
    else:
        weights = [_matrix(op, v, x.shape[2 + i]) for i, v in enumerate(at)]
        out = np.einsum("nchw,yh,xw->ncyx", x.astype(np.float64), *weights)
    if mode == "tf_crop_and_resize":
        inside = [(v >= 0) & (v <= x.shape[2 + i] - 1) for i, v in enumerate(at)]
        out = np.where(inside[0][:, None] & inside[1][None, :], out, op.attr("extrapolation_value"))
    return out.transpose(["NCHW".index(c) for c in layout])


IMAGES: dict[str, Callable[..., Any]] = {"image.resize2d": _resize2d}
"""Operators by name, without the prefix `relax.`."""
