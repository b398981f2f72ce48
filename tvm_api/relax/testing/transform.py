"""`tvm.relax.testing.transform`: passes for tests."""

from __future__ import annotations

from typing import Any

from ....handles.relax.function import Function
from ....handles.relax.functor import PyExprMutator
from ....ir.passes.transform import module_pass


@module_pass(opt_level=0, name="ApplyEmptyMutator")
class ApplyEmptyCppMutator:
    """Builds every Relax function anew with a mutator that changes nothing."""

    def transform_module(self, mod: Any, ctx: object) -> Any:
        """The module, built anew."""
        rewriter = PyExprMutator(mod)
        for gv, func in mod.functions_items():
            if isinstance(func, Function):
                rewriter.builder_.update_func(gv, rewriter.visit_expr(func))
        return rewriter.builder_.get()


__all__ = ["ApplyEmptyCppMutator"]
