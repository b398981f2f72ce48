"""Say more, less or something else of parameters."""

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
    """Gives parameters of Relax functions the struct info that `sinfo_func(var)` says, where it is not None.

    f(x: tensor<[n], f32>) {… exp(x) : tensor<[n], f32>}  ->  f(x: tensor<[4], f32>) {… exp(x) : tensor<[4], f32>}

    The struct info of bindings and results is inferred anew; what calls and casts declare stays. Raises `ShapeError` or
    `DTypeError` where an operator cannot take what it is given then.
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
