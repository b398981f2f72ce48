"""Resampling of one dimension of known extents: the source elements and weights of each new element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Resampling:
    """The settings of ONNX's Resize for all dimensions, with the names of its attributes."""

    mode: str
    coordinates: str
    nearest: str
    cubic: float
    exclude_outside: bool
    antialias: bool


@dataclass(frozen=True)
class Taps:
    """`places` and `weights` are (new extent, taps); `outside` marks elements outside of the input."""

    places: Array
    weights: Array
    outside: Array


def taps_of(how: Resampling, old: int, new: int, scale: float, crop: tuple[float, float]) -> Taps:
    """Return the taps for resizing a dimension from the extent `old` to `new`; `crop` is the region of interest."""
    at = _coordinates(how, old, new, scale, crop)
    outside = np.zeros(new, bool)
    if how.coordinates == "tf_crop_and_resize":
        outside = (at < 0) | (at > old - 1)
    if how.mode == "nearest":
        places, weights = _nearest(how.nearest, at)[:, None].astype(np.int64), np.ones((new, 1))
    else:
        places, weights = _weighted(how, at, min(scale, 1.0) if how.antialias else 1.0)
    if how.exclude_outside:
        weights = np.where((places >= 0) & (places < old), weights, 0.0)
        weights /= weights.sum(axis=1, keepdims=True)
    return Taps(np.clip(places, 0, max(old - 1, 0)), weights.astype(np.float32), outside)


def _coordinates(how: Resampling, old: int, new: int, scale: float, crop: tuple[float, float]) -> Array:
    """Return the position in the old dimension of each index of the new one."""
    x, (start, end) = np.arange(new, dtype=np.float64), crop
    length = scale * old  # the new extent is its integer part
    if how.coordinates == "align_corners":
        return x * (old - 1) / (length - 1) if new > 1 else np.zeros(new)
    if how.coordinates == "asymmetric":
        return x / scale
    if how.coordinates == "tf_half_pixel_for_nn":
        return (x + 0.5) / scale
    if how.coordinates == "tf_crop_and_resize":
        if new > 1:
            return start * (old - 1) + x * (end - start) * (old - 1) / (length - 1)
        return np.full(new, 0.5 * (start + end) * (old - 1))
    if how.coordinates == "pytorch_half_pixel" and new <= 1:
        return np.zeros(new)
    half = (x + 0.5) / scale - 0.5
    if how.coordinates == "half_pixel_symmetric":
        return old / 2 * (1 - new / length) + half
    return half


def _nearest(rule: str, at: Array) -> Array:
    rules = {
        "round_prefer_floor": lambda: np.ceil(at - 0.5),
        "round_prefer_ceil": lambda: np.floor(at + 0.5),
        "floor": lambda: np.floor(at),
        "ceil": lambda: np.ceil(at),
    }
    return rules[rule]()


def _weighted(how: Resampling, at: Array, scale: float) -> tuple[Array, Array]:
    """Return positions and weights of linear and cubic interpolation; scales below 1 widen the kernel
    (antialiasing).
    """
    reach, kernel = (1, _linear) if how.mode == "linear" else (2, lambda d: _cubic(d, how.cubic))
    first = int(np.floor(-reach / scale)) + 1
    low = np.floor(at)
    places = low[:, None] + np.arange(first, 2 - first)[None, :]
    weights = kernel(np.abs(places - at[:, None]) * scale)
    return places.astype(np.int64), weights / weights.sum(axis=1, keepdims=True)


def _linear(distance: Array) -> Array:
    return np.clip(1.0 - distance, 0.0, 1.0)


def _cubic(d: Array, a: float) -> Array:
    """Evaluate Keys' cubic kernel."""
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))
