"""Products of bytes by the AVX2 instruction that sums pairs of unsigned by signed products in 16 bits, with saturation.

    q of 4 bits:   total += words(pairs(q[0], x[0]) + … + pairs(q[7], x[7]))
    q of 8 bits:   total += words(pairs(abs(q[0]), x[0] * sign(q[0]))) + …

`words` sums pairs of 16-bit values in 32 bits. x is in [-127, 127]. A sum of two products with values up to 15 is
at most 2 * 15 * 127, so that eight such sums fit 16 bits; with magnitudes up to 128, one sum fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import VectorType, f32, i8, i16
from xdsl.ir import SSAValue

from ....dialects import tir
from ....transforms.operators.dot_products import PAIRED
from ...loop_builder import LoopBuilder
from ..policy.limits import MAX_PAIR_FACTOR, MAX_PAIR_SUM

BYTES, _PAIRS = VectorType(i8, [32]), VectorType(i16, [16])
_WORDS, _SIGN = "llvm.x86.avx2.pmadd.wd", "llvm.x86.avx2.psign.b"
_FENCE = "llvm.arithmetic.fence"


def sums_of_pairs(loops: LoopBuilder, unsigned: SSAValue, signed: SSAValue) -> SSAValue:
    """Return the 16-bit sums of two products each, of two vectors of 32 bytes (`BYTES`)."""
    return loops.op(tir.CallLLVMIntrinOp(str(PAIRED.intrinsic), [unsigned, signed], _PAIRS))


def add_words(loops: LoopBuilder, total: SSAValue, sums: SSAValue) -> SSAValue:
    """Return `total`, eight int32, plus two of the sums of pairs in each lane."""
    one = loops.op(tir.BroadcastOp(loops.const(1, i16), 16))
    return loops.op(tir.AddOp(total, loops.op(tir.CallLLVMIntrinOp(_WORDS, [sums, one], total.type))))


def in_order(loops: LoopBuilder, total: SSAValue) -> SSAValue:
    """Return `total` behind a floating-point fence without code, which keeps LLVM from reassociating later
    additions.
    """
    floats = VectorType(f32, [8])
    value = loops.op(tir.ReinterpretOp(total, floats))
    return loops.op(tir.ReinterpretOp(loops.op(tir.CallLLVMIntrinOp(_FENCE, [value], floats)), total.type))


@dataclass(frozen=True)
class BytePairs:
    """Four bytes in each lane of `vectors`, with magnitudes up to `most`; if `signed` they may be negative."""

    loops: LoopBuilder
    vectors: Sequence[SSAValue]
    most: int
    signed: bool

    def add_products(self, total: SSAValue, xs: Sequence[SSAValue]) -> SSAValue:
        """Return `total` plus the products with the bytes of `xs`, summed in each lane."""
        products = [self._pairs(w, x) for w, x in zip(self.vectors, xs, strict=True)]
        together = MAX_PAIR_SUM // (2 * self.most * MAX_PAIR_FACTOR)
        for first in range(0, len(products), together):
            sums, *others = products[first : first + together]
            for other in others:
                sums = self.loops.op(tir.AddOp(sums, other))
            total = add_words(self.loops, total, sums)
        return total

    def _pairs(self, weights: SSAValue, x: SSAValue) -> SSAValue:
        """Return the sums of two products each."""
        loops = self.loops
        weights, x = (loops.op(tir.ReinterpretOp(value, BYTES)) for value in (weights, x))
        if self.signed:
            weights, x = (loops.op(tir.CallLLVMIntrinOp(_SIGN, [value, weights], BYTES)) for value in (weights, x))
        return sums_of_pairs(loops, weights, x)
