"""The tensor formats of GGUF: plain numbers, or blocks of numbers that share scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects.block_formats import BLOCK_FORMATS
from ...runtime.dtypes import to_dtype


@dataclass(frozen=True)
class TensorFormat:
    """A row of `FORMATS`: `code` is its number in files; a block has `elements` numbers in `size` bytes.

    `dtype` is the numpy dtype of plain formats, whose blocks hold one number; None for block formats.
    """

    name: str
    code: int
    elements: int
    size: int
    dtype: np.dtype[Any] | None = None

    def row_bytes(self, columns: int) -> int:
        """Return the bytes of a row of `columns` numbers, a multiple of the block's."""
        return columns // self.elements * self.size


def _computed(name: str, code: int) -> TensorFormat:
    """Return a format that operators compute with; its block size comes from them."""
    known = BLOCK_FORMATS[name]
    return TensorFormat(name, code, known.size, known.block_bytes)


def _plain(name: str, code: int, dtype: str) -> TensorFormat:
    known = to_dtype(dtype)
    return TensorFormat(name, code, 1, known.itemsize, known)


_ROWS = (
    _plain("f32", 0, "float32"),
    _plain("f16", 1, "float16"),
    _computed("q4_0", 2),
    _computed("q4_1", 3),
    TensorFormat("q5_0", 6, 32, 22),
    TensorFormat("q5_1", 7, 32, 24),
    _computed("q8_0", 8),
    TensorFormat("q8_1", 9, 32, 36),
    TensorFormat("q2_k", 10, 256, 84),
    TensorFormat("q3_k", 11, 256, 110),
    _computed("q4_k", 12),
    TensorFormat("q5_k", 13, 256, 176),
    _computed("q6_k", 14),
    TensorFormat("q8_k", 15, 256, 292),
    TensorFormat("iq2_xxs", 16, 256, 66),
    TensorFormat("iq2_xs", 17, 256, 74),
    TensorFormat("iq3_xxs", 18, 256, 98),
    TensorFormat("iq1_s", 19, 256, 50),
    TensorFormat("iq4_nl", 20, 32, 18),
    TensorFormat("iq3_s", 21, 256, 110),
    TensorFormat("iq2_s", 22, 256, 82),
    TensorFormat("iq4_xs", 23, 256, 136),
    _plain("i8", 24, "int8"),
    _plain("i16", 25, "int16"),
    _plain("i32", 26, "int32"),
    _plain("i64", 27, "int64"),
    _plain("f64", 28, "float64"),
    TensorFormat("iq1_m", 29, 256, 56),
    _plain("bf16", 30, "bfloat16"),
    TensorFormat("tq1_0", 34, 256, 54),
    TensorFormat("tq2_0", 35, 256, 66),
    TensorFormat("mxfp4", 39, 32, 17),
)

FORMATS: dict[str, TensorFormat] = {row.name: row for row in _ROWS}
"""The formats by name. All of them can be read; the operators on blocks list the formats they compute with."""

BY_CODE: dict[int, TensorFormat] = {row.code: row for row in _ROWS}
