"""`fp8-compute-legalize`: what is computed in floats of 8 bits or fewer is computed in a wider type."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...dialects.dtypes import dtype_of, is_float, is_narrow
from ...ir.passes.transform import Pass
from .compute_legalize import legalize
from .walk import functions


@dataclass(frozen=True)
class FP8ComputeLegalize(Pass):
    """Convert to `promote_dtype` before and back after arithmetic on 8 bit floats; loads, stores and buffers stay."""

    name = "fp8-compute-legalize"
    promote_dtype: str = "float16"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        wide = dtype_of(self.promote_dtype)
        for func in functions(op):
            legalize(func, lambda t: is_float(t) and is_narrow(t), wide)
