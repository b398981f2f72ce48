"""Reference semantics of Fourier transforms, in float64. Rows as in `operators`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.fft import as_complex, as_pairs

Array = Any


def _fft(op: Any, x: Array) -> Array:
    function = np.fft.ifft if op.attr("inverse") else np.fft.fft
    return as_pairs(function(as_complex(x.astype(np.float64)), axis=op.place(x.ndim), norm=op.attr("norm")))


def _rfft(op: Any, x: Array) -> Array:
    return as_pairs(np.fft.rfft(x.astype(np.float64), axis=op.place(x.ndim), norm=op.attr("norm")))


def _irfft(op: Any, x: Array, length: int | None = None) -> Array:
    return np.fft.irfft(as_complex(x.astype(np.float64)), length, axis=op.place(x.ndim), norm=op.attr("norm"))


FOURIER: dict[str, Callable[..., Any]] = {"fft.fft": _fft, "fft.rfft": _rfft, "fft.irfft": _irfft}
"""Operators by name, without the prefix `relax.`."""
