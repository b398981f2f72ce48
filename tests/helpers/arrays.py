"""Arrays of random elements, the same in each run."""

from __future__ import annotations

from typing import Any

import numpy as np


def floats(*shape: int, low: float = -2, high: float = 2, seed: int = 0) -> Any:
    """float32 from `low` to `high`."""
    return (np.random.default_rng(seed).random(shape) * (high - low) + low).astype("float32")


def ints(*shape: int, low: int = 0, high: int = 9, dtype: str = "int32", seed: int = 0) -> Any:
    """Integers from `low` to below `high`."""
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)
