"""`widen-at-use`: bytes are handed on as bytes, and made floats by who reads them.

    y = float(bytes(conv(x)))                        b = bytes(conv(x))
    z = add(y, …)                             ->     z = add(float(b), …)

A product takes in what is element-wise behind it, so its kernel would store floats, four times as many bytes, where one
more operation made it floats again. Functions that do no more than that are annotated as injective: they are fused into
those that read them, and not into products.

Where products of bytes are those of words (`are_words`) kernels take in what is added to their sums as ever: there the
sums need not become bytes in between (`schedule.cpu.library.fold_requantize`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...dialects import tir
from ...dialects.dtypes import bit_width, is_float
from ...dialects.tir import BufferType
from ...ir.passes.transform import Pass
from ...target import Target
from ..operators.dot_products import are_words
from .pattern import OpPattern, annotate, find_pattern

_BYTE = 8


@dataclass(frozen=True)
class WidenAtUse(Pass):
    """Let functions that make floats of bytes be fused into those that read the floats, for a target."""

    name: ClassVar[str] = "widen-at-use"
    target: str = "llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Annotate in place."""
        if are_words(Target(self.target)):
            return
        for func in op.body.block.ops:
            if isinstance(func, tir.FuncOp) and _only_widens(func):
                annotate(func, OpPattern.INJECTIVE)


def _only_widens(func: tir.FuncOp) -> bool:
    """Whether a function is element-wise from one tensor of bytes, and scalars, to one of floats of its shape."""
    types = [p.type for p in func.params]
    if len(types) < 2 or not all(isinstance(t, BufferType) for t in types):
        return False
    source, *scalars, result = cast("list[BufferType]", types)
    shapes_fit = source.dims == result.dims and all(t.rank == 0 for t in scalars)
    if not shapes_fit or source.rank == 0 or bit_width(source.dtype) != _BYTE or not is_float(result.dtype):
        return False
    return find_pattern(func) <= OpPattern.BROADCAST
