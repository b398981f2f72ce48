"""Note on every tensor function what kind of operator it is, for `fuse-ops` to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, i64

from ...dialects import tir
from ...ir.passes.transform import Pass
from .pattern import ATTRIBUTE, OpPattern, find_pattern

_SCHEDULED = "tir.is_scheduled"


@dataclass(frozen=True)
class AnnotateTIROpPattern(Pass):
    """Set the attribute `op_pattern` of each `tir.func` that has none, to the kind found by analysing its blocks."""

    name: ClassVar[str] = "annotate-tir-op-pattern"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Annotate in place."""
        for func in op.body.block.ops:
            if isinstance(func, tir.FuncOp):
                annotate(func)


def annotate(func: tir.FuncOp) -> None:
    """Set the attribute `op_pattern` of `func` unless it has one; a schedule would not outlive being fused."""
    attrs = dict(func.func_attrs.data) if func.func_attrs is not None else {}
    if ATTRIBUTE not in attrs:
        kind = OpPattern.OPAQUE if _SCHEDULED in attrs else find_pattern(func)
        attrs[ATTRIBUTE] = IntegerAttr(int(kind), i64)
        func.func_attrs = DictionaryAttr(dict(sorted(attrs.items())))
