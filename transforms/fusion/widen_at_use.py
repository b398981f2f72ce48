"""`widen-at-use`: pass on bytes, and convert them to floats in the kernels that read them.

    y = float(bytes(conv(x)))                        b = bytes(conv(x))
    z = add(y, …)                             ->     z = add(float(b), …)

A product fuses the element-wise operators after it, so its kernel would store floats, four times as many bytes, if
the conversion to float is among them. Functions that only convert are annotated as injective: they are fused into their
users, and not into products.

If byte products use 16-bit words (`are_words`), kernels fuse what is added to their sums as usual: there the sums need
not become bytes in between (`schedule.cpu.library.fold_requantize`).
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
    """Make conversions from bytes to floats fusable into the users of the floats, for a target."""

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
    """Return whether a function is element-wise from one tensor of bytes, and scalars, to floats of the same shape."""
    types = [p.type for p in func.params]
    if len(types) < 2 or not all(isinstance(t, BufferType) for t in types):
        return False
    source, *scalars, result = cast("list[BufferType]", types)
    shapes_fit = source.dims == result.dims and all(t.rank == 0 for t in scalars)
    if not shapes_fit or source.rank == 0 or bit_width(source.dtype) != _BYTE or not is_float(result.dtype):
        return False
    return find_pattern(func) <= OpPattern.BROADCAST
