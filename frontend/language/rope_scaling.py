"""Rotary embeddings stretched to longer contexts than at first: what frequencies are divided by."""

from __future__ import annotations

import math

from .fields import Fields

_KINDS = ("default", "linear", "llama3")
_LEAST_FACTOR = 0.01
"""Below it frequencies would be no numbers."""


def rope_factors(fields: Fields, theta: float, size: int) -> tuple[float, ...] | None:
    """For each of size / 2 planes what its frequency is divided by; None: by 1 (transformers' modeling_rope_utils)."""
    kind = fields.choice("rope_type" if fields.has("rope_type") else "type", _KINDS, "default")
    if kind == "default":
        return None
    factor = fields.number("factor", low=_LEAST_FACTOR)
    if kind == "linear":
        return (factor,) * (size // 2)
    low, high = fields.number("low_freq_factor"), fields.number("high_freq_factor")
    original = fields.integer("original_max_position_embeddings")
    if low >= high:
        fields.problems.append(f"'{fields.prefix}low_freq_factor' is not below 'high_freq_factor'")
        return None
    return tuple(_llama3(theta ** (2 * i / size) * 2 * math.pi, factor, low, high, original) for i in range(size // 2))


def _llama3(wavelength: float, factor: float, low: float, high: float, original: int) -> float:
    """1 for short waves, `factor` for long ones; between them the frequencies of both are mixed."""
    smooth = min(1.0, max(0.0, (original / wavelength - low) / (high - low)))
    return 1.0 / ((1.0 - smooth) / factor + smooth)
