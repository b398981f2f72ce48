"""Products of bytes by the instruction of AVX2 that sums pairs of unsigned by signed ones to 16 bits, and saturates.

    q of 4 bits:   total += words(pairs(q[0], x[0]) + … + pairs(q[7], x[7]))
    q of 8 bits:   total += words(pairs(abs(q[0]), x[0] * sign(q[0]))) + …

`words` sums pairs of 16 bits to 32. x is from -127 to 127. A sum of two products with numbers up to 15 is at most
2 * 15 * 127, so that eight such sums fit into 16 bits; with magnitudes up to 128 one does.
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
    """The sums of two products, 16 bits; of 32 bytes each, which both are `BYTES`."""
    return loops.op(tir.CallLLVMIntrinOp(str(PAIRED.intrinsic), [unsigned, signed], _PAIRS))


def add_words(loops: LoopBuilder, total: SSAValue, sums: SSAValue) -> SSAValue:
    """`total`, eight int32, and in each lane two of the sums of pairs."""
    one = loops.op(tir.BroadcastOp(loops.const(1, i16), 16))
    return loops.op(tir.AddOp(total, loops.op(tir.CallLLVMIntrinOp(_WORDS, [sums, one], total.type))))


def in_order(loops: LoopBuilder, total: SSAValue) -> SSAValue:
    """`total`, to which LLVM adds what comes next, and not to that first: a fence, which is for floats, and no code."""
    floats = VectorType(f32, [8])
    value = loops.op(tir.ReinterpretOp(total, floats))
    return loops.op(tir.ReinterpretOp(loops.op(tir.CallLLVMIntrinOp(_FENCE, [value], floats)), total.type))


@dataclass(frozen=True)
class BytePairs:
    """Four bytes in each of the lanes of `vectors`, of magnitudes up to `most`; with `signed` they may be negative."""

    loops: LoopBuilder
    vectors: Sequence[SSAValue]
    most: int
    signed: bool

    def add_products(self, total: SSAValue, xs: Sequence[SSAValue]) -> SSAValue:
        """`total` and the products with those of `xs`, summed in each lane."""
        products = [self._pairs(w, x) for w, x in zip(self.vectors, xs, strict=True)]
        together = MAX_PAIR_SUM // (2 * self.most * MAX_PAIR_FACTOR)
        for first in range(0, len(products), together):
            sums, *others = products[first : first + together]
            for other in others:
                sums = self.loops.op(tir.AddOp(sums, other))
            total = add_words(self.loops, total, sums)
        return total

    def _pairs(self, weights: SSAValue, x: SSAValue) -> SSAValue:
        """The sums of two products."""
        loops = self.loops
        weights, x = (loops.op(tir.ReinterpretOp(value, BYTES)) for value in (weights, x))
        if self.signed:
            weights, x = (loops.op(tir.CallLLVMIntrinOp(_SIGN, [value, weights], BYTES)) for value in (weights, x))
        return sums_of_pairs(loops, weights, x)
