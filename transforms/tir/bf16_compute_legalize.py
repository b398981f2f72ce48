"""`bf16-compute-legalize`: what is computed in bfloat16 is computed in float32.

%c = tir.add %a, %b : bf16     ->     %c = cast(add(cast(%a), cast(%b)) : f32) : bf16
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import BFloat16Type, ModuleOp, f32

from ...ir.passes.transform import Pass
from .compute_legalize import legalize
from .walk import functions


@dataclass(frozen=True)
class BF16ComputeLegalize(Pass):
    """Convert to float32 before and to bfloat16 after arithmetic; loads, stores and buffers stay."""

    name = "bf16-compute-legalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            legalize(func, lambda t: isinstance(t, BFloat16Type), f32)
