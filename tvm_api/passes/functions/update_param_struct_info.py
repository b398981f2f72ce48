"""Change the struct info of parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ....handles.relax.expr import Var
from ....handles.struct_info import type_of
from ....ir.functions.lookup import relax_functions
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import set_type
from ....ir.rewriting.infer import infer_function


@dataclass(frozen=True)
class UpdateParamStructInfo(Pass):
    """Replaces the struct info of parameters of Relax functions by the result of `sinfo_func(var)`, unless it is None.

    f(x: tensor<[n], f32>) {… exp(x) : tensor<[n], f32>}  ->  f(x: tensor<[4], f32>) {… exp(x) : tensor<[4], f32>}

    The struct info of bindings and results is inferred again; declarations of calls and casts remain. Raises
    `ShapeError` or `DTypeError` if an operator does not accept the new types.
    """

    name = "update-param-struct-info"
    sinfo_func: Callable[[Var], Any]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            changed = False
            for param in func.params:
                new = self.sinfo_func(Var.on(param))
                if new is not None:
                    set_type(param, type_of(new))
                    changed = True
            if changed:
                infer_function(func)
