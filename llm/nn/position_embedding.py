"""Rotary position embedding (Su et al., 2021)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...frontend.nn.op import tensor_expr_op
from ...frontend.nn.tensor import Tensor
from ..checkpoints.config import Rope
from . import paged_cache_kernels as paged_cache


def frequencies(rope: Rope, local: bool = False) -> np.ndarray[Any, Any]:
    """Return the rotation of each plane from one position to the next in radians, `(planes,)`, float32.

    `local` selects the frequencies of sliding-window layers, if the model has separate ones.
    """
    is_local = local and rope.local_theta is not None
    theta = rope.local_theta if is_local else rope.theta
    radians = np.float64(theta) ** -(np.arange(0, rope.size, 2) / rope.size)
    if rope.factors is not None and not is_local:
        radians = radians / np.asarray(rope.factors)
    return radians.astype(np.float32)


def magnitude_of(rope: Rope, local: bool = False) -> float:
    """Return the factor of the rotated numbers; `local` is that of `frequencies`."""
    return 1.0 if local and rope.local_theta is not None else rope.magnitude


def angles(
    starts: Tensor, frequencies: np.ndarray[Any, Any], length: Any, magnitude: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Return cosines and sines of the positions from `starts[sequence]` on, times `magnitude`.

    Both are `(sequences, length, planes)`.
    """
    args = [starts, Tensor.from_const(frequencies), length, magnitude]
    cosines, sines = tensor_expr_op(paged_cache.angles, "angles", args)
    return cosines, sines


def rotate(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Return `x` (sequences, length, heads, size) rotated, as (sequences, heads, length, size)."""
    return tensor_expr_op(paged_cache.rotate, "turned", [x, cosines, sines])


__all__ = ["angles", "frequencies", "magnitude_of", "rotate"]
