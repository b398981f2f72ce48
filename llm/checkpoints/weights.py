"""Weights of language models: where they lie, in the format of their file."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Weight:
    """A weight, as it lies in its file.

    `shape` counts numbers. `format` is a name of `llm.gguf.FORMATS`. For plain formats (f32, f16, bf16, …) `data`
    is an array of that shape, for blocks (q4_0, …) the bytes of the rows, `uint8` of (…, bytes of a row). Read-only.
    """

    shape: tuple[int, ...]
    format: str
    data: np.ndarray[Any, Any]

    def release(self) -> None:
        """Give the memory back that the file takes, where it is mapped: what is read again comes from the file."""
        base: Any = self.data
        while isinstance(base, np.ndarray):
            base = base.base
        mapped = base.obj if isinstance(base, memoryview) else base
        if isinstance(mapped, mmap.mmap) and hasattr(mapped, "madvise"):
            mapped.madvise(mmap.MADV_DONTNEED)


Weights = Mapping[str, Weight]
"""By the names of `names.ROWS`."""
