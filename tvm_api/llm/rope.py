"""The frequencies of rotary embedding by TVM's options."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...llm.checkpoints.fields import Fields
from ...llm.checkpoints.rope_scaling import Stretch, rope_stretch
from ...runtime.errors import ArgumentError

Array = np.ndarray[Any, Any]
_KINDS = ("gptj", "llama3", "longrope", "yarn")


@dataclass(frozen=True)
class Rotation:
    """The turn of each plane from one position to the next, (planes,), float32; no planes: no rotation.

    `in_pairs` as in `kernels.Attention`; `magnitude` is the factor of the rotated numbers.
    """

    frequencies: Array
    in_pairs: bool = False
    magnitude: float = 1.0

    @property
    def planes(self) -> int:
        """The number of planes."""
        return len(self.frequencies)


def rotation_of(
    mode: int, scale: float, theta: float, scaling: Mapping[str, Any], factors: Array | None, size: int
) -> Rotation:
    """Return the rotation of the first `size` numbers of a head. `factors` (size / 2,) are those of `longrope`.

    Raises `ArgumentError` for an unknown `rope_type` and for factors of another length, `ModelError` for other fields
    of `scaling` that are missing or out of range.
    """
    if not mode:
        return Rotation(np.zeros(0, np.float32))
    kind = scaling.get("rope_type", "default")
    if kind not in ("default", *_KINDS):
        raise ArgumentError("an unknown rope_type", expected=" or ".join(_KINDS), found=kind)
    radians = scale * np.float64(theta) ** -(np.arange(0, size, 2) / size)
    stretch = _longrope(scaling, factors, size) if kind == "longrope" else _stretch(kind, scaling, theta, size)
    if stretch.factors is not None:
        radians = radians / np.asarray(stretch.factors)
    return Rotation(radians.astype(np.float32), kind == "gptj", stretch.magnitude)


def _stretch(kind: str, scaling: Mapping[str, Any], theta: float, size: int) -> Stretch:
    if kind in ("default", "gptj"):
        return Stretch()
    fields = Fields({**scaling, "attention_factor": 1.0}, "rope_scaling.")  # TVM does not scale the rotated numbers
    stretch = rope_stretch(fields, theta, size, 1)
    fields.finish("rope_scaling")
    return stretch


def _longrope(scaling: Mapping[str, Any], factors: Array | None, size: int) -> Stretch:
    fields = Fields(scaling, "rope_scaling.")
    longest = fields.integer("max_position_embeddings")
    original = fields.integer("original_max_position_embeddings", low=2)
    fields.finish("rope_scaling")
    magnitude = math.sqrt(1 + math.log(longest / original) / math.log(original)) if longest > original else 1.0
    if factors is None:
        return Stretch(None, magnitude)
    if factors.shape != (size // 2,):
        raise ArgumentError("rope_ext_factors are one number a plane", expected=(size // 2,), found=factors.shape)
    return Stretch(tuple(factors.tolist()), magnitude)


__all__ = ["Rotation", "rotation_of"]
