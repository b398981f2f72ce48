"""`tvm-remove-assume`: TVM's `tir.transform.RemoveAssume`, which also removes what does nothing."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ....ir.passes.transform import Pass
from ....transforms.tir import asserts
from .remove_no_op import RemoveNoOp


@dataclass(frozen=True)
class RemoveAssume(Pass):
    """Remove `T.assume(condition)`, and statements without effect."""

    name = "tvm-remove-assume"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        asserts.RemoveAssume().apply(ctx, op)
        RemoveNoOp().apply(ctx, op)
