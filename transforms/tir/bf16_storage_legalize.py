"""`bf16-storage-legalize`: bfloat16 is stored as uint16, and converted by arithmetic on the bits.

%x = tir.load %A[%i] : bf16            %b = tir.load %A[%i] : ui16
%y = tir.cast %x : bf16 -> f32    ->   %y = reinterpret(cast(%b) << 16) : f32
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...ir.passes.transform import Pass
from .storage_codecs import BF16_CODECS
from .storage_legalize import store_as_bits
from .walk import functions


@dataclass(frozen=True)
class BF16StorageLegalize(Pass):
    """Make buffers and values of bfloat16 such of uint16; a float32 is rounded to the nearest, to even.

    Parameters, too: who calls the function passes the same memory. Raises `UnsupportedError` for what is computed in
    bfloat16, which `bf16-compute-legalize` removes.
    """

    name = "bf16-storage-legalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            store_as_bits(func, BF16_CODECS, "run bf16-compute-legalize before")
