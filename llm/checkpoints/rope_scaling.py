"""Rotary embeddings scaled to longer contexts: the divisors of their frequencies."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .fields import Fields

_KINDS = ("default", "linear", "dynamic", "llama3", "yarn")
_LEAST_FACTOR = 0.01
"""Lower limit on scaling factors, below which frequencies would overflow."""
_UNTURNED = 1e-3
"""The width of a ramp whose ends coincide."""


@dataclass(frozen=True)
class Stretch:
    """The divisor of the frequency of each of the size / 2 planes (None: 1), and the factor of the rotated numbers."""

    factors: tuple[float, ...] | None = None
    magnitude: float = 1.0


def rope_stretch(fields: Fields, theta: float, size: int, context: int) -> Stretch:
    """Read the scaling of the frequencies `theta ** (-2 i / size)` from `config.json` (transformers'
    modeling_rope_utils).

    `dynamic` scales only beyond the model's `context` positions, which a session never exceeds.
    """
    kind = fields.choice("rope_type" if fields.has("rope_type") else "type", _KINDS, "default")
    if kind in ("default", "dynamic"):
        return Stretch()
    if kind == "yarn":
        return _yarn_of(fields, theta, size, context)
    factor = fields.number("factor", low=_LEAST_FACTOR)
    if kind == "linear":
        return Stretch((factor,) * (size // 2))
    low, high = fields.number("low_freq_factor"), fields.number("high_freq_factor")
    original = fields.integer("original_max_position_embeddings")
    if low >= high:
        fields.problems.append(f"'{fields.prefix}low_freq_factor' is not below 'high_freq_factor'")
        return Stretch()
    waves = (theta ** (2 * i / size) * 2 * math.pi for i in range(size // 2))
    return Stretch(tuple(_llama3(wave, factor, low, high, original) for wave in waves))


def _llama3(wavelength: float, factor: float, low: float, high: float, original: int) -> float:
    """Return the divisor of a wavelength: 1 for short waves, `factor` for long ones, a blend between them."""
    smooth = min(1.0, max(0.0, (original / wavelength - low) / (high - low)))
    return 1.0 / ((1.0 - smooth) / factor + smooth)


def _yarn_of(fields: Fields, theta: float, size: int, context: int) -> Stretch:
    original = fields.integer("original_max_position_embeddings", context)
    factor = fields.number("factor", context / original, low=_LEAST_FACTOR)
    fast, slow = fields.number("beta_fast", 32.0), fields.number("beta_slow", 1.0)
    scale, all_scale = fields.number("mscale", None), fields.number("mscale_all_dim", None)
    magnitude = yarn_magnitude(factor)
    if scale and all_scale:
        magnitude = yarn_magnitude(factor, scale) / yarn_magnitude(factor, all_scale)
    magnitude = fields.number("attention_factor", magnitude)
    truncate = fields.flag("truncate", True)
    if theta <= 1.0:
        fields.problems.append(f"frequencies of a base of {theta:g} cannot be stretched by YaRN")
        return Stretch()
    return Stretch(yarn_factors(theta, size, factor, original, fast, slow, truncate=truncate), magnitude)


def yarn_magnitude(factor: float, scale: float = 1.0) -> float:
    """Return YaRN's scale of queries and keys."""
    return 1.0 if factor <= 1.0 else 0.1 * scale * math.log(factor) + 1.0


def yarn_factors(
    theta: float, size: int, factor: float, original: int, fast: float, slow: float, *, truncate: bool = True
) -> tuple[float, ...]:
    """Return YaRN's divisors: 1 for planes that rotate at least `fast` times within the `original` positions,
    `factor` for those that rotate at most `slow` times, and a blend by plane number in between (Peng et al.,
    2023).

    With `truncate`, the two limiting plane numbers are rounded outwards.
    """

    def correction_dim(rotations: float) -> float:
        return size * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(theta))

    first, last = correction_dim(fast), correction_dim(slow)
    if truncate:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, size - 1)
    width = last - first or _UNTURNED
    shares = (min(1.0, max(0.0, (plane - first) / width)) for plane in range(size // 2))
    return tuple(1.0 / (share / factor + (1.0 - share)) for share in shares)
