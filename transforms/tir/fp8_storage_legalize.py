"""`fp8-storage-legalize`: 8 bit floats are stored as bytes, and converted by arithmetic on the bits."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...ir.passes.transform import Pass
from .storage_codecs import FP8_CODECS
from .storage_legalize import store_as_bits
from .walk import functions


@dataclass(frozen=True)
class FP8StorageLegalize(Pass):
    """Make buffers and values of 8 bit floats such of uint8, as `lower-narrow-types` does with integers of 4 bits, too.

    Raises `UnsupportedError` for what is computed in such types, which `fp8-compute-legalize` removes.
    """

    name = "fp8-storage-legalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            store_as_bits(func, FP8_CODECS, "run fp8-compute-legalize before")
