"""Dot-product instructions, which multiply and add several adjacent elements at once, by dtype."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import bf16, f16, f32, i8, i16, i32
from xdsl.ir import Attribute

from ...dialects.dtypes import ui8
from ...target import Target


@dataclass(frozen=True)
class Dot:
    """An instruction that adds `group` steps of k to a vector of sums of dtype `sums`.

    The operands of `intrinsic` are the sums, A and B, or the sums, B and A with `swapped`, these as vectors of
    `elements`; None is a product of two numbers. Vectors have `bits`; targets need all features in one of the sets
    `needs`. With `shifted`, the bytes of A have the other signedness; without `adds`, it returns only the sums of
    products, which are then added.
    """

    group: int
    sums: Attribute
    intrinsic: str | None = None
    elements: Attribute = f32
    bits: int = 0
    needs: tuple[frozenset[str], ...] = ()
    swapped: bool = False
    shifted: bool = False
    adds: bool = True

    def fits(self, features: frozenset[str], vector_bits: int) -> bool:
        """Return whether a target has the instruction."""
        return self.intrinsic is None or (vector_bits == self.bits and any(n <= features for n in self.needs))

    @property
    def is_plain(self) -> bool:
        """True if the instruction is the full step on the sums."""
        return self.adds and not self.shifted

    def vectors(self, registers: int) -> int:
        """Return the maximum width of a register tile in vectors of sums.

        `shifted` needs an additional row, and a vector of 128s.
        """
        widest = 4 if registers >= 32 else 2
        return widest // 2 if self.shifted else widest


_WIDENED = Dot(1, f32)
_BRAINS = (
    Dot(2, f32, "llvm.x86.avx512bf16.dpbf16ps.512", bf16, 512, (frozenset({"avx512bf16"}),)),
    Dot(2, f32, "llvm.x86.avx512bf16.dpbf16ps.256", bf16, 256, (frozenset({"avx512bf16", "avx512vl"}),)),
)
_VNNI = (
    Dot(4, i32, "llvm.x86.avx512.vpdpbusd.512", i32, 512, (frozenset({"avx512vnni"}),)),
    Dot(
        4,
        i32,
        "llvm.x86.avx512.vpdpbusd.256",
        i32,
        256,
        (frozenset({"avxvnni"}), frozenset({"avx512vnni", "avx512vl"})),
    ),
)
_WORDS = (Dot(2, i32, "llvm.x86.avx2.pmadd.wd", i16, 256, (frozenset({"avx2"}),), adds=False),)


def _vnni(*, swapped: bool = False, shifted: bool = False) -> tuple[Dot, ...]:
    """Return the instructions for unsigned times signed bytes."""
    return tuple(replace(dot, swapped=swapped, shifted=shifted) for dot in _VNNI)


def _neon(name: str, feature: str, *, swapped: bool = False) -> Dot:
    intrinsic = f"llvm.aarch64.neon.{name}.v4i32.v16i8"
    return Dot(4, i32, intrinsic, i8, 128, (frozenset({feature}),), swapped=swapped)


DOTS: dict[tuple[Attribute, Attribute, Attribute], tuple[Dot, ...]] = {
    (bf16, bf16, f32): (*_BRAINS, _WIDENED),
    (bf16, bf16, bf16): _BRAINS,
    (f16, f16, f32): (_WIDENED,),
    (ui8, i8, i32): (*_vnni(), _neon("usdot", "i8mm")),
    (i8, i8, i32): (*_vnni(shifted=True), _neon("sdot", "dotprod")),
    (i8, ui8, i32): (*_vnni(swapped=True), _neon("usdot", "i8mm", swapped=True)),
    (ui8, ui8, i32): (*_vnni(swapped=True, shifted=True), _neon("udot", "dotprod")),
    (i16, i16, i32): _WORDS,
}
"""Available instructions, best first, by dtypes of A, B and the result."""


TILE_DOTS: dict[tuple[Attribute, Attribute], tuple[str, str]] = {
    (ui8, i8): ("llvm.x86.tdpbusd", "amx-int8"),
    (i8, i8): ("llvm.x86.tdpbssd", "amx-int8"),
    (i8, ui8): ("llvm.x86.tdpbsud", "amx-int8"),
    (ui8, ui8): ("llvm.x86.tdpbuud", "amx-int8"),
    (bf16, bf16): ("llvm.x86.tdpbf16ps", "amx-bf16"),
}
"""Matrix-register instructions, with the required feature, by dtypes of A and B."""


PAIRED = Dot(4, i32, "llvm.x86.avx2.pmadd.ub.sw", i8, 256, (frozenset({"avx2"}),), adds=False)
"""Pairs of unsigned by signed bytes, for blocks that guarantee that the 16-bit sums do not saturate."""
PAIRS_FIT = "tirax.pairs_fit"
"""The annotation with which a block guarantees this for adjacent rows in its panels (`byte_pairs`)."""


def best_dot(a: Attribute, b: Attribute, out: Attribute, features: frozenset[str], vector_bits: int) -> Dot | None:
    """Return the best instruction for these dtypes, features and vectors, or None."""
    return next((dot for dot in DOTS.get((a, b, out), ()) if dot.fits(features, vector_bits)), None)


def tile_dot(a: Attribute, b: Attribute, features: frozenset[str]) -> str | None:
    """Return the matrix-register instruction for these dtypes, or None."""
    name, feature = TILE_DOTS.get((a, b), (None, ""))
    return name if feature in features else None


def dot_of(a: Attribute, b: Attribute, out: Attribute, target: Target) -> Dot | None:
    """Return the target's best instruction for these dtypes, or None."""
    dot = best_dot(a, b, out, target.features, target.vector_bits)
    return None if dot is None or dot.intrinsic is None else dot


def are_words(target: Target) -> bool:
    """Return whether byte products use 16-bit words on a target, which has no instruction for bytes."""
    return dot_of(i8, i8, i32, target) is None and dot_of(i16, i16, i32, target) is not None


def has_pairs(a: Attribute, b: Attribute, out: Attribute, target: Target) -> bool:
    """Return whether byte pairs may be used for these dtypes on a target: there is nothing faster."""
    return (a, b, out) == (ui8, i8, i32) and are_words(target) and PAIRED.fits(target.features, target.vector_bits)
