"""`apply-transform`: programs of MLIR's dialect `transform` schedule tensor functions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...ir.passes.transform import Pass
from ...schedule.mlir_transform.read import run_sequences
from .convert import from_mlir, is_of_mlir


@dataclass(frozen=True)
class ApplyTransform(Pass):
    """Run the `transform.named_sequence @__transform_main` of a module on its tensor functions, and remove it.

    Functions of MLIR are imported first. Raises `UnsupportedError` for operations of `transform` that have no
    counterpart among the primitives of schedules, `ScheduleError` if a step fails.
    """

    name = "apply-transform"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if is_of_mlir(op):
            imported = from_mlir(op)
            for old in list(op.body.block.ops):
                old.detach()
            for new in list(imported.body.block.ops):
                new.detach()
                op.body.block.add_op(new)
        run_sequences(op)
