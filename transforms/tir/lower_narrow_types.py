"""`lower-narrow-types`: 8 bit floats and 4 bit integers become bytes.

No machine computes with them: they are stored and converted. A buffer of them becomes one of bytes (`int4` has one byte
an element, its low half), and a conversion becomes arithmetic on the bits:

    %x = tir.load %A[%i] : f8E4M3FN            %b = tir.load %A[%i] : ui8
    %y = tir.cast %x : f8E4M3FN -> f32    ->   %y = sign and magnitude of %b, shifted to where f32 has them

Rounding is that of float32 to the nearest, to even where two are equally near; what is too great becomes infinity, or
NaN where the type has none: as `ml_dtypes` converts. Anything else done to these types is a diagnostic.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...ir.passes.transform import Pass
from .storage_codecs import NARROW_CODECS
from .storage_legalize import store_as_bits
from .walk import functions


@dataclass(frozen=True)
class LowerNarrowTypes(Pass):
    """Store 8 bit floats and 4 bit integers as bytes, and convert them by arithmetic on bits.

    Raises `UnsupportedError` for other operations on them.
    """

    name = "lower-narrow-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            store_as_bits(func, NARROW_CODECS, "convert it first: R.astype, T.Cast")
