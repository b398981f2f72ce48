"""Reference semantics of special functions in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..scalars import erf

Array = Any


def _log_of_gamma(x: float) -> float:
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


_lgamma = np.vectorize(_log_of_gamma, otypes=[np.float64])


def lgamma(x: Array) -> Array:
    """Return log(|gamma(x)|), computed by the C library."""
    return _lgamma(x) if np.size(x) else np.zeros(np.shape(x))


def digamma(x: Array) -> Array:
    """Compute digamma by its recurrence up to 30 and its asymptotic series above; negative arguments are reflected."""
    x = np.asarray(x, np.float64)
    negative = x < 0
    z = np.where(negative, 1 - x, x)
    total = np.zeros(z.shape)
    for _ in range(30):
        small = z < 30
        total -= np.where(small, 1 / z, 0)
        z = z + small
    total += np.log(z) - 1 / (2 * z) - 1 / (12 * z**2) + 1 / (120 * z**4) - 1 / (252 * z**6)
    fraction = x - np.rint(x)
    reflected = total - np.where(fraction == 0, np.nan, np.pi / np.tan(np.pi * fraction))
    return np.where(negative, reflected, np.where(np.isposinf(x), np.inf, total))


def erfinv(x: Array) -> Array:
    """Compute the inverse of erf by bisection, down to adjacent floats."""
    x = np.asarray(x, np.float64)
    if not x.size:
        return x
    low, high = np.full(x.shape, -7.0), np.full(x.shape, 7.0)
    for _ in range(70):
        middle = (low + high) / 2
        below = erf(middle) < x
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    inside = np.where(np.abs(x) < 1e-9, x * np.sqrt(np.pi) / 2, low)
    return np.where(np.abs(x) < 1, inside, np.where(np.abs(x) == 1, x * np.inf, np.nan))
