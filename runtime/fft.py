"""Packed functions of Fourier transforms whose length is not known when a program is built, by numpy.

Complex numbers are pairs in the last dimension. `axis` counts the dimensions without it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import register_func

Array = Any

PREFIX = "relax.run.fft."


def as_complex(pairs: Array) -> Array:
    """Return an array (..., 2) as complex numbers."""
    x = np.ascontiguousarray(pairs)
    return x.view(np.result_type(x.dtype, np.complex64))[..., 0]


def as_pairs(x: Array) -> Array:
    """Return complex numbers as an array (..., 2)."""
    return np.stack([x.real, x.imag], axis=-1)


@register_func(PREFIX + "fft")
def fft(x: Array, axis: int, inverse: int, norm: str, out: Array) -> None:
    """Write the transform, or the inverse one."""
    function = np.fft.ifft if inverse else np.fft.fft
    out[...] = as_pairs(function(as_complex(x), axis=axis, norm=norm))  # pyright: ignore[reportArgumentType]


@register_func(PREFIX + "rfft")
def rfft(x: Array, axis: int, norm: str, out: Array) -> None:
    """Write the transform of real numbers."""
    out[...] = as_pairs(np.fft.rfft(x, axis=axis, norm=norm))  # pyright: ignore[reportArgumentType]


@register_func(PREFIX + "irfft")
def irfft(x: Array, axis: int, norm: str, out: Array) -> None:
    """Write the real numbers with the transform x."""
    n = out.shape[axis]
    out[...] = np.fft.irfft(as_complex(x), n=n, axis=axis, norm=norm)  # pyright: ignore[reportArgumentType]
