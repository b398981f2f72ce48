"""Instructions that multiply and add several neighbouring elements at once: for which dtypes there are some."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from xdsl.dialects.builtin import bf16, f32, i8, i32
from xdsl.ir import Attribute

from ...dialects.dtypes import ui8

VECTOR_BITS = 512
"""How wide the vectors of the instructions are."""


@dataclass(frozen=True)
class Dot:
    """How `group` steps of k are added to a vector of sums of dtype `sums`.

    `intrinsic` is given the sums, A and B, or the sums, B and A with `swapped`; None is a product of two numbers.
    With `shifted` the bytes of A are of the other kind.
    """

    group: int
    sums: Attribute
    intrinsic: str | None = None
    feature: str | None = None
    swapped: bool = False
    shifted: bool = False

    def fits(self, features: frozenset[str], vector_bits: int) -> bool:
        """Whether a target has it."""
        return self.feature is None or (self.feature in features and vector_bits == VECTOR_BITS)


_BYTES = partial(Dot, 4, i32, "llvm.x86.avx512.vpdpbusd.512", "avx512vnni")
_BRAINS = Dot(2, f32, "llvm.x86.avx512bf16.dpbf16ps.512", "avx512bf16")
_WIDENED = Dot(1, f32)

DOTS: dict[tuple[Attribute, Attribute, Attribute], tuple[Dot, ...]] = {
    (bf16, bf16, f32): (_BRAINS,),
    (bf16, bf16, bf16): (_BRAINS, _WIDENED),
    (ui8, i8, i32): (_BYTES(),),
    (i8, i8, i32): (_BYTES(shifted=True),),
    (i8, ui8, i32): (_BYTES(swapped=True),),
    (ui8, ui8, i32): (_BYTES(swapped=True, shifted=True),),
}
"""Dtypes of A, B and of the result -> what may be used, the best first."""


def best_dot(a: Attribute, b: Attribute, out: Attribute, features: frozenset[str], vector_bits: int) -> Dot | None:
    """The best that a target has for these dtypes, None where it has none."""
    return next((dot for dot in DOTS.get((a, b, out), ()) if dot.fits(features, vector_bits)), None)
