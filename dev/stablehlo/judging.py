"""Whether results are right: equal, close in units of the last place, or within a tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
UNITS = 4
"""Units of the last place that `expect_close` allows; of sums, of the greatest one. Recorded results are off by 4."""
TOLERANCE = 1e-4
"""The difference that `expect_almost_eq` allows, absolute; results were recorded in float32, so also relative."""
TOLERANCE_OF_CALL = 1e-3
"""That which it allows as a custom call."""


@dataclass(frozen=True)
class Limits:
    """How far a result may be off."""

    tolerance: float = TOLERANCE
    units: float = UNITS


def difference(kind: str, actual: Array, expected: Array, sums: bool = False, limits: Limits = Limits()) -> str | None:
    """Return what is wrong with a result, None if it is right; `sums` of it may be rounded in another order."""
    if actual.shape != expected.shape:
        return f"shape {actual.shape}, expected {expected.shape}"
    if actual.dtype != expected.dtype:
        return f"dtype {actual.dtype}, expected {expected.dtype}"
    wrong = ~_agrees(kind, actual, expected, sums, limits)
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0]) if wrong.ndim else ()
    return f"{int(wrong.sum())} of {wrong.size}, first at {list(at)}: {actual[at]}, expected {expected[at]}"


def _agrees(kind: str, actual: Array, expected: Array, sums: bool, limits: Limits) -> Array:
    if not _is_float(actual.dtype):
        return actual == expected
    a, b = (v.astype(np.float64) for v in (actual, expected))
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if kind.startswith("expect_eq") or kind == "eq":
            return same
        near = np.abs(a - b) <= limits.tolerance
        size = np.abs(b)
        if kind.startswith("expect_almost_eq"):
            return same | near | (np.abs(a - b) <= TOLERANCE * size)
        if sums:
            size = np.full_like(size, np.max(size[np.isfinite(size)], initial=0))
        step = np.float64(ml_dtypes.finfo(actual.dtype).eps)
        return same | (units(actual, expected) <= limits.units) | (sums & (np.abs(a - b) <= limits.units * step * size))


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind not in "iub" and "int" not in dtype.name


def units(actual: Array, expected: Array) -> Array:
    """Return how many floats are between two."""
    width = actual.dtype.itemsize
    kind = np.dtype(f"i{width}")
    a, b = (np.ascontiguousarray(v).view(kind).astype(np.int64) for v in (actual, expected))
    lowest = np.int64(-(2 ** (8 * width - 1)))
    a, b = (np.where(v < 0, lowest - v, v) for v in (a, b))
    finite = np.isfinite(actual.astype(np.float64)) & np.isfinite(expected.astype(np.float64))
    distance = np.where(a > b, a.view(np.uint64) - b.view(np.uint64), b.view(np.uint64) - a.view(np.uint64))
    return np.where(finite, distance.reshape(actual.shape).astype(np.float64), np.inf)
