"""`convert-for-loops-to-serial`: parallel loops run one iteration after the other.

tir.for parallel %i = 0 to 8 {…}     ->     tir.for %i = 0 to 8 {…}
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...dialects import tir
from ...dialects.tir import ForKind
from ...ir.passes.transform import Pass
from .walk import functions


@dataclass(frozen=True)
class ConvertForLoopsToSerial(Pass):
    """Make parallel loops serial; loops of other kinds stay as they are."""

    name = "convert-for-loops-to-serial"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            for loop in func.walk():
                if isinstance(loop, tir.ForOp) and loop.kind is ForKind.PARALLEL:
                    loop.properties.pop("kind_attr")
