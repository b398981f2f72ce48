"""Weights of language models, mapped from their files in the file's format."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Weight:
    """A read-only weight as stored in its file.

    `shape` counts numbers. `format` is a name of `llm.gguf.FORMATS`. For plain formats (f32, f16, bf16, …)
    `data` is an array of that shape; for blocks (q4_0, …) it holds the bytes of the rows, `uint8` of (…, bytes
    of a row).
    """

    shape: tuple[int, ...]
    format: str
    data: np.ndarray[Any, Any]

    def release(self) -> None:
        """Drop the pages of a mapped file from memory; a later access reads them from the file again."""
        base: Any = self.data
        while isinstance(base, np.ndarray):
            base = base.base
        mapped = base.obj if isinstance(base, memoryview) else base
        if isinstance(mapped, mmap.mmap) and hasattr(mapped, "madvise"):
            mapped.madvise(mmap.MADV_DONTNEED)


Weights = Mapping[str, Weight]
"""Weights by the names of `names.ROWS`."""
