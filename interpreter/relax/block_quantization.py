"""Reference semantics of operators on block-quantized rows. Rows as in `operators`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dialects.block_formats import rounded_to_bytes
from .. import scalars


def _numbers(op: Any, packed: Any) -> Any:
    rows = op.attr("interleaved")
    return op.layout.dequantize(op.layout.separate(packed, rows) if rows > 1 else packed)


def _take_blocks(op: Any, packed: Any, indices: Any) -> Any:
    numbers = _numbers(op, packed)
    return numbers[scalars.inside(np.asarray(indices, np.int64), len(numbers))]


def _matmul_blocks(op: Any, x: Any, packed: Any) -> Any:
    if op.attr("activation") == "int8":
        q, scale = rounded_to_bytes(x, op.layout.rounded_together)
        x = (q.astype(np.float64) * scale).reshape(np.shape(x))
    return np.matmul(scalars.wide(x), _numbers(op, packed).astype(np.float64).T)


BLOCKS: dict[str, Callable[..., Any]] = {
    "dequantize_blocks": _numbers,
    "take_blocks": _take_blocks,
    "matmul_blocks": _matmul_blocks,
}
"""Operators by name, without the prefix `relax.`."""
