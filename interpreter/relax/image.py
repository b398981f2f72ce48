"""Reference semantics, in numpy, of image operators. Rows as in `operators`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any


def _coordinates(mode: str, n: int, m: int, start: float, end: float) -> Array:
    """Return the position of each of m new elements in a dimension of n elements."""
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
    """Return the interpolation weight at distance d."""
    if method == "linear":
        return np.maximum(1 - d, 0)
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _matrix(op: Any, x: Array, n: int) -> Array:
    """Return the weights of the n elements of a dimension for each position."""
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
    mode, places = op.attr("coordinate_transformation_mode"), op.places()
    moved = np.moveaxis(data, places, (-2, -1))
    x = moved.reshape(math.prod(moved.shape[:-2]), *moved.shape[-2:])
    roi = op.attr("roi") or [0.0] * 4
    at = [_coordinates(mode, x.shape[1 + i], size[i], roi[i], roi[i + 2]) for i in range(2)]
    if op.attr("method") == "nearest_neighbor":
        rows, columns = (_matrix(op, v, x.shape[1 + i]).argmax(axis=1) for i, v in enumerate(at))
        out = x[:, rows][:, :, columns]
    else:
        weights = [_matrix(op, v, x.shape[1 + i]) for i, v in enumerate(at)]
        out = np.einsum("nhw,yh,xw->nyx", x.astype(np.float64), *weights)
    if mode == "tf_crop_and_resize":
        inside = [(v >= 0) & (v <= x.shape[1 + i] - 1) for i, v in enumerate(at)]
        out = np.where(inside[0][:, None] & inside[1][None, :], out, op.attr("extrapolation_value"))
    return np.moveaxis(out.reshape(*moved.shape[:-2], *out.shape[-2:]), (-2, -1), places)


def _affine_grid(op: Any, data: Array, size: tuple[int, ...]) -> Array:
    aligned = op.attr("align_corners")
    at = [np.arange(n) * (2 / max(n - 1, 1)) - 1 if aligned else (np.arange(n) * 2 + 1) / n - 1 for n in size]
    grid = np.stack([*np.meshgrid(*at, indexing="ij")[::-1], np.ones(size)])
    return np.einsum("nij,j...->ni...", data.astype(np.float64), grid)


def _reflected(x: Array, n: int, aligned: bool) -> Array:
    """Reflect positions at the ends of a dimension: a triangle wave."""
    first, span = (0.0, n - 1) if aligned else (-0.5, n)
    if span <= 0:
        return np.zeros_like(x)
    distance = np.mod(x - first, 2 * span)
    return first + np.minimum(distance, 2 * span - distance)


def _in_bounds(op: Any, x: Array, n: int) -> Array:
    mode = op.attr("padding_mode")
    if mode == "zeros":
        return x
    x = _reflected(x, n, op.attr("align_corners")) if mode == "reflection" else x
    return np.clip(np.nan_to_num(x), 0, n - 1)


def _sampled(op: Any, x: Array, n: int) -> list[tuple[Array, Array]]:
    """Return the positions along a dimension of n elements that contribute to the values at x, with their weights."""
    method = op.attr("method")
    if method == "nearest":
        return [(np.rint(_in_bounds(op, x, n)), np.ones_like(x))]
    if method == "bilinear":
        x = _in_bounds(op, x, n)
        return [(p, _kernel("linear", np.abs(x - p), 0)) for p in (np.floor(x), np.floor(x) + 1)]
    points = [np.floor(x) + k for k in (-1, 0, 1, 2)]
    return [(_in_bounds(op, p, n), _kernel("cubic", np.abs(x - p), -0.75)) for p in points]


def _grid_sample(op: Any, data: Array, grid: Array) -> Array:
    """Sum over the corners of the cell that contains each position."""
    x, extents, aligned = data.astype(np.float64), data.shape[2:], op.attr("align_corners")
    wide = np.moveaxis(grid.astype(np.float64), 1, 0)[::-1]
    at = [(g + 1) * (n - 1) / 2 if aligned else ((g + 1) * n - 1) / 2 for g, n in zip(wide, extents, strict=True)]
    batch = np.arange(len(x)).reshape(-1, *[1] * len(extents))
    out = np.zeros((*grid.shape[:1], *grid.shape[2:], x.shape[1]))
    for corner in itertools.product(*(_sampled(op, a, n) for a, n in zip(at, extents, strict=True))):
        inside = np.all([(p >= 0) & (p < n) for (p, _), n in zip(corner, extents, strict=True)], axis=0)
        weight = np.where(inside, np.prod([w for _, w in corner], axis=0), 0)
        index = [np.where(inside, p, 0).astype(np.int64) for p, _ in corner]
        if x.size:
            out += np.moveaxis(x, 1, -1)[(batch, *index)] * weight[..., None]
    return np.moveaxis(out, -1, 1)


IMAGES: dict[str, Callable[..., Any]] = {
    "image.affine_grid": _affine_grid,
    "image.grid_sample": _grid_sample,
    "image.resize2d": _resize2d,
}
"""Operators by name, without the prefix `relax.`."""
