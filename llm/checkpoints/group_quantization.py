"""Weights in the formats of GPTQ and AWQ: small integers packed into 32-bit words, with a scale and zero
point per group.

    qweight, qzeros, scales (, g_idx)  ->  rows of blocks `int4_g…`, `int8_g…`

In both, a matrix is (inputs, outputs) and an element is (q - zero) * scale with the zero point and scale of
its group. Words hold their numbers from the lowest bits up. With four bits:

    GPTQ   qweight (inputs / 8, outputs)   eight neighbouring inputs       qzeros (groups, outputs / 8)   in order
    AWQ    qweight (inputs, outputs / 8)   outputs 0, 2, 4, 6, 1, 3, 5, 7  qzeros (groups, outputs / 8)   as qweight

GPTQ's first format stores zero - 1. With act-order (`desc_act`), `g_idx` maps inputs to groups that are not
contiguous; no block format holds these, so such a matrix is dequantized to float32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...diagnostics import DTypeError, ShapeError, TiraxError, UnsupportedError
from ...dialects.block_formats import GROUP_SIZES, group_blocks
from ...frontend.importing.errors import ModelError
from .weights import Weight

Array = np.ndarray[Any, Any]

_AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)
"""The output that each group of four bits of a word belongs to, from the lowest bits up."""
_SUFFIXES = ("qweight", "qzeros", "scales", "g_idx")
_MOST_NOTES = 20


def from_gptq(
    qweight: Array,
    qzeros: Array,
    scales: Array,
    g_idx: Array | None = None,
    *,
    bits: int = 4,
    less_one: bool = True,
) -> Weight:
    """Return the matrix (outputs, inputs) of GPTQ's tensors, which are int32 except for the scales.

    `bits` is 4 or 8; `less_one` means that zero points are stored minus one (in all formats but `gptq_v2`).
    Raises `ShapeError` if the shapes do not belong to one matrix, `DTypeError`, and `UnsupportedError` for
    other bits.
    """
    if bits not in (4, 8):
        raise UnsupportedError(f"weights of {bits} bits", expected="4 or 8")
    _check_words(qweight, qzeros, scales)
    if g_idx is not None and g_idx.dtype.kind not in "iu":
        raise DTypeError("g_idx has to be integers", expected="int32", found=g_idx.dtype)
    numbers = _unpacked(qweight, bits).transpose(0, 2, 1)
    q = numbers.reshape(-1, numbers.shape[-1])
    zeros = _side_by_side(_unpacked(qzeros, bits))
    if less_one:
        zeros = (zeros + np.uint8(1)) & np.uint8((1 << bits) - 1)
    return _matrix(q, zeros, scales, g_idx, bits)


def from_awq(qweight: Array, qzeros: Array, scales: Array) -> Weight:
    """Return the matrix (outputs, inputs) of AWQ's version `gemm`, with 4 bits. Raises as `from_gptq` does."""
    _check_words(qweight, qzeros, scales)
    q, zeros = (_side_by_side(_unpacked(words, 4, _AWQ_ORDER)) for words in (qweight, qzeros))
    return _matrix(q, zeros, scales, None, 4)


def _check_words(qweight: Array, qzeros: Array, scales: Array) -> None:
    for name, array in (("qweight", qweight), ("qzeros", qzeros)):
        if array.dtype.kind not in "iu" or array.dtype.itemsize != 4:
            raise DTypeError(f"{name} has to be words of 32 bits", expected="int32", found=array.dtype)
    for name, array in (("qweight", qweight), ("qzeros", qzeros), ("scales", scales)):
        if array.ndim != 2 or not array.size:
            raise ShapeError(f"{name} has to be a matrix", expected="two dimensions", found=array.shape)


def _unpacked(words: Array, bits: int, order: Sequence[int] | None = None) -> Array:
    """Unpack words (a, b) into uint8 (a, b, 32 / bits)."""
    count = 32 // bits
    numbers = np.empty((*words.shape, count), np.uint8)
    plain = np.ascontiguousarray(words).view(np.uint32)
    for place, number in enumerate(order or range(count)):
        numbers[..., number] = plain >> np.uint32(bits * place) & np.uint32((1 << bits) - 1)
    return numbers


def _side_by_side(numbers: Array) -> Array:
    return numbers.reshape(len(numbers), -1)


def _matrix(q: Array, zeros: Array, scales: Array, g_idx: Array | None, bits: int) -> Weight:
    """Return the weight of q (inputs, outputs), zero points and scales (groups, outputs)."""
    (inputs, outputs), groups = q.shape, len(scales)
    if zeros.shape != scales.shape or zeros.shape[1] != outputs or inputs % groups:
        raise ShapeError(
            "scales and zeros are none of this matrix",
            expected=f"groups of {inputs} inputs for each of {outputs} outputs",
            found=f"scales {scales.shape}, zeros {zeros.shape}",
        )
    size = inputs // groups
    of_input = np.arange(inputs) // size
    if g_idx is not None and (g_idx.shape != (inputs,) or ((g_idx < 0) | (g_idx >= groups)).any()):
        raise ShapeError(
            "g_idx is no group for each input", expected=f"{inputs} of 0 to {groups - 1}", found=g_idx.shape
        )
    block = next((b for b in reversed(GROUP_SIZES) if size % b == 0), None)
    if block is None or (g_idx is not None and (g_idx != of_input).any()):
        return _numbers(q, zeros, scales, of_input if g_idx is None else g_idx)
    steps, lows = (np.repeat(a.T, size // block, axis=1)[..., None] for a in (scales.astype(np.float32), zeros))
    blocks = group_blocks(q.T.reshape(outputs, -1, block), steps, lows, bits)
    return Weight((outputs, inputs), f"int{bits}_g{block}", blocks.reshape(outputs, -1))


def _numbers(q: Array, zeros: Array, scales: Array, groups: Array) -> Weight:
    """Return the dequantized matrix in float32."""
    values = (q.astype(np.float32) - zeros[groups]) * scales.astype(np.float32)[groups]
    return Weight(values.shape[::-1], "f32", np.ascontiguousarray(values.T))


# folders


@dataclass(frozen=True)
class Scheme:
    """The quantization of a folder's weights, from `quantization_config` in its settings."""

    method: str
    bits: int = 4
    less_one: bool = True

    def weight(self, parts: Mapping[str, Array]) -> Weight:
        """Return the matrix of tensors, which are keyed by their name suffixes. Raises `TiraxError`."""
        missing = [name for name in _SUFFIXES[:3] if name not in parts]
        if missing:
            raise ModelError(f"without {' and '.join(missing)}")
        qweight, qzeros, scales = (parts[name] for name in _SUFFIXES[:3])
        if self.method == "awq":
            return from_awq(qweight, qzeros, scales)
        return from_gptq(qweight, qzeros, scales, parts.get("g_idx"), bits=self.bits, less_one=self.less_one)


_KNOWN: dict[str, dict[str, tuple[Any, ...]]] = {
    "awq": {"bits": (4,), "version": ("gemm",)},
    "gptq": {"bits": (4, 8), "checkpoint_format": ("gptq", "gptq_v2")},
}
"""The supported values of a method's entries; the first one is the default."""


def scheme_of(source: str, entries: Mapping[str, Any]) -> Scheme | None:
    """Return the scheme of the settings, or None if weights are not quantized.

    Raises `UnsupportedError` with all unsupported entries.
    """
    config = entries.get("quantization_config")
    if config is None:
        return None
    method = config.get("quant_method") if isinstance(config, Mapping) else None
    known = _KNOWN.get(method) if isinstance(method, str) else None
    if known is None:
        raise UnsupportedError(
            f"'{source}' has a 'quantization_config' of another method",
            expected=", ".join(_KNOWN),
            found=repr(method)[:80],
        )
    chosen = {key: config.get(key, values[0]) for key, values in known.items()}
    chosen = {key: value.lower() if isinstance(value, str) else value for key, value in chosen.items()}
    problems = [
        f"'{key}' is {chosen[key]!r:.80}, not {' or '.join(map(repr, values))}"
        for key, values in known.items()
        if isinstance(chosen[key], bool) or chosen[key] not in values
    ]
    if problems:
        raise UnsupportedError(f"'{source}' is quantized by {method} in a way that is not read", notes=problems)
    return Scheme(str(method), int(chosen["bits"]), chosen.get("checkpoint_format") != "gptq_v2")


def with_matrices(source: str, arrays: Mapping[str, Array], scheme: Scheme) -> dict[str, Array | Weight]:
    """Return the tensors by name, with `x.weight` in place of `x.qweight`, `x.qzeros`, …

    Raises `ModelError` with all problems.
    """
    parts: dict[str, dict[str, Array]] = {}
    out: dict[str, Array | Weight] = {}
    for name, array in arrays.items():
        stem, _, end = name.rpartition(".")
        if end in _SUFFIXES:
            parts.setdefault(f"{stem}.weight", {})[end] = array
        else:
            out[name] = array
    problems: list[str] = []
    for name, tensors in parts.items():
        try:
            out[name] = scheme.weight(tensors)
        except TiraxError as error:
            problems.append(f"'{name}': {error}")
    if problems:
        raise ModelError(f"'{source}' has quantized weights that are damaged", notes=problems[:_MOST_NOTES])
    return out
