"""Take away parameters that private functions do not use."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ..dialects import relax
from ..dialects.names import name_of, set_name
from ..dialects.relax.types import free_symbolic_vars
from ..dialects.sym.expr import SymExpr, Var
from ..ir.transform import Pass
from .bind_symbolic_vars import mentioned_symbols
from .calls.private import (
    PrivateFunction, bind_variables, caller_of, clean_up, erase, insert_before, private_functions, replace_call,
    take_over,
)  # fmt: skip


@dataclass(frozen=True)
class RemoveUnusedParameters(Pass):
    """Drops parameters of private functions that their bodies do not use, and what was computed for them alone.

    f(x: T, unused: tensor<[m]>) {… m …}; f(a, b)  ->  f(x: T, param_m: shape<[m]>) {… m …}; f(a, shape [4])

    A symbolic variable that only a dropped parameter determined becomes a parameter of its own. Where the type of an
    argument does not say what it is, the parameter stays.
    """

    name = "remove-unused-parameters"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        changed: list[relax.FuncOp] = []
        for private in private_functions(op):
            if any(p.first_use is None for p in private.func.params) and _shrink(private):
                changed += map(caller_of, private.calls)
        clean_up(changed)
