"""Simplify the bindings of functions, as a part of TVM's passes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ....dialects import relax
from ....ir.functions.lookup import relax_functions
from ....ir.passes.transform import Pass
from ....ir.rewriting.dead_bindings import remove_dead_bindings
from ....transforms.bindings.eliminate_common_subexpr import eliminate_in_function
from .canonicalize_bindings import canonicalize_all


@dataclass(frozen=True)
class SimplifyOutsideOfDataflow(Pass):
    """In functions with bindings outside of dataflow blocks, remove aliases, repeated expressions and unused bindings.

    y = exp(x); z = exp(x); w = add(y, z)  ->  y = exp(x); w = add(y, y)
    """

    name = "simplify-outside-of-dataflow"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            others = (relax.DataflowOp, relax.ReturnOp)
            if any(not isinstance(each, others) and not relax.is_inline(each) for each in func.body.block.ops):
                for _ in range(2):  # equal expressions leave aliases, which may make other expressions equal
                    canonicalize_all(func)
                    _reduce(func)


@dataclass(frozen=True)
class SimplifyPublicFunctions(Pass):
    """In public functions, remove repeated expressions and unused bindings."""

    name = "simplify-public-functions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            if not func.private:
                _reduce(func)


def _reduce(func: relax.FuncOp) -> None:
    eliminate_in_function(func)
    remove_dead_bindings(func)
