"""Products of bytes by the instruction of AVX2 that sums pairs of unsigned by signed ones to 16 bits, and saturates.

    q of 4 bits:   total += words(pairs(q[0], x[0]) + … + pairs(q[7], x[7]))
    q of 8 bits:   total += words(pairs(abs(q[0]), x[0] * sign(q[0]))) + …

`words` sums pairs of 16 bits to 32. x is from -127 to 127. A sum of two products with numbers up to 15 is at most
2 * 15 * 127, so that eight such sums fit into 16 bits; with magnitudes up to 128 one does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import VectorType, i8, i16, i32
from xdsl.ir import Attribute, SSAValue

from ...dialects import tir
from ...transforms.operators.dot_products import Dot
from ..loop_builder import LoopBuilder

IN_PAIRS = Dot(4, i32, "llvm.x86.avx2.pmadd.ub.sw", i8, 256, (frozenset({"avx2"}),))
_WORDS, _SIGN = "llvm.x86.avx2.pmadd.wd", "llvm.x86.avx2.psign.b"
_BYTES, _PAIRS = VectorType(i8, [32]), VectorType(i16, [16])
_LARGEST_SUM, _LARGEST_X = 32767, 127


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
        together = _LARGEST_SUM // (2 * self.most * _LARGEST_X)
        one = self.loops.op(tir.BroadcastOp(self.loops.const(1, i16), 16))
        for first in range(0, len(products), together):
            sums, *others = products[first : first + together]
            for other in others:
                sums = self.loops.op(tir.AddOp(sums, other))
            total = self.loops.op(tir.AddOp(total, self._call(_WORDS, [sums, one], total.type)))
        return total

    def _pairs(self, weights: SSAValue, x: SSAValue) -> SSAValue:
        """The sums of two products."""
        weights, x = (self.loops.op(tir.ReinterpretOp(value, _BYTES)) for value in (weights, x))
        if self.signed:
            weights, x = (self._call(_SIGN, [value, weights], _BYTES) for value in (weights, x))
        return self._call(str(IN_PAIRS.intrinsic), [weights, x], _PAIRS)

    def _call(self, name: str, args: Sequence[SSAValue], kind: Attribute) -> SSAValue:
        return self.loops.op(tir.CallLLVMIntrinOp(name, args, kind))
