"""Convert the weights of a file to the parameters of a decoder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..diagnostics import UnsupportedError
from ..dialects.block_formats import BLOCK_FORMATS
from ..runtime.ndarray import empty_together
from ..target import Target, tile_vectors
from .checkpoints.config import TransformerConfig
from .checkpoints.weights import Weight
from .nn.decoder import HALVES, Formats
from .nn.panels import panels_shape, write_panels

Array = np.ndarray[Any, Any]
_MOST_NOTES = 20
_TURNED = tuple(f"attention.{name}." for name in ("query", "key", "query_norm", "key_norm"))


def formats_of(weights: Mapping[str, Weight], activation: str, target: Target) -> Formats:
    """Return which weights stay blocks or halves, as the decoder multiplies them directly; all others become float32.

    Rows of blocks are interleaved, and other matrices stored in panels, as the target's kernels read them.
    """
    kept = {name: w.format for name, w in weights.items() if _is_kept(w)}
    return replace(float32_formats(target), names=kept, activation=activation)


def float32_formats(target: Target) -> Formats:
    """Return the formats of a decoder whose weights all become float32."""
    lanes = max(1, target.vector_bits // 32)
    return Formats(lanes=lanes, panel=lanes * tile_vectors(target.vector_registers)[0])


def prepared(config: TransformerConfig, weights: Mapping[str, Weight], formats: Formats) -> dict[str, Array]:
    """Return the parameters of a decoder by name: blocks and halves as `formats` states, else float32.

    Norms get the offset of the config added. Rows of queries, keys and their norms whose rotary planes are
    pairs of neighbours in the file are reordered to halves. Raises `UnsupportedError` with all weights in other
    block formats.
    """
    others = [f"'{name}' is stored as {w.format}" for name, w in weights.items() if _is_of_other_blocks(w)]
    if others:
        notes = others[:_MOST_NOTES] + [f"and {len(others) - _MOST_NOTES} more"] * (len(others) > _MOST_NOTES)
        raise UnsupportedError("weights of other formats", expected=", ".join(BLOCK_FORMATS), notes=notes)
    arrays = empty_together(_kind(config, name, weight, formats) for name, weight in weights.items())
    for (name, weight), array in zip(weights.items(), arrays, strict=True):
        data = _prepared(config, name, weight, formats)
        copy = write_panels if _is_in_panels(config, name, weight, formats) else _copy
        copy(data, array)
        weight.release()
    return dict(zip(weights, arrays, strict=True))


def _copy(data: Array, array: Array) -> None:
    np.copyto(array, data)


def _is_in_panels(config: TransformerConfig, name: str, weight: Weight, formats: Formats) -> bool:
    """Return whether a weight is a matrix of a product that is not stored in blocks."""
    if len(weight.shape) != 2 or not formats.panel or formats.names.get(name) in BLOCK_FORMATS:
        return False
    return name != "embedding.weight" or config.tied_embeddings


def _kind(config: TransformerConfig, name: str, weight: Weight, formats: Formats) -> tuple[tuple[int, ...], str]:
    """Return the shape and dtype that a weight is converted to."""
    format = formats.names.get(name, "f32")
    if format not in BLOCK_FORMATS:
        in_panels = _is_in_panels(config, name, weight, formats)
        rows, *columns = weight.shape
        shape = panels_shape(rows, columns[0], formats.panel) if in_panels else weight.shape
        return shape, HALVES.get(format, "float32")
    rows, width = weight.data.shape
    together = formats.interleaved(rows)
    return (rows // together, width * together), "uint8"


def _prepared(config: TransformerConfig, name: str, weight: Weight, formats: Formats) -> Array:
    format = formats.names.get(name)
    data = _numbers(weight) if format is None else weight.data
    if config.rope.order == "pairs" and any(part in name for part in _TURNED):
        data = data[halves_first(data.shape[0], config.head_size, config.rope.size)]
    if name.endswith("norm.weight"):
        return data + np.float32(config.norm_offset)
    rows = formats.interleaved(len(data)) if format in BLOCK_FORMATS else 1
    return data if rows == 1 else BLOCK_FORMATS[weight.format].interleave(data, rows)


def _is_of_other_blocks(weight: Weight) -> bool:
    return weight.data.dtype == np.uint8 and weight.format not in BLOCK_FORMATS


def _is_kept(weight: Weight) -> bool:
    return (weight.format in BLOCK_FORMATS or weight.format in HALVES) and len(weight.shape) == 2


def _numbers(weight: Weight) -> Array:
    """Return the numbers of a weight in float32."""
    if weight.format in BLOCK_FORMATS:
        return BLOCK_FORMATS[weight.format].dequantize(weight.data)
    return weight.data.astype(np.float32)


def halves_first(rows: int, head_size: int, turned: int) -> Array:
    """Return the row order that puts the first numbers of all planes before the second ones, in each head.

    For a head of 6 with 4 rotated numbers: 0, 2, 1, 3, 4, 5.
    """
    head = np.arange(head_size)
    head[:turned] = head[:turned].reshape(-1, 2).T.reshape(-1)
    return (np.arange(0, rows, head_size)[:, None] + head).reshape(-1)
