"""Remove unused parameters of private functions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ....dialects import relax
from ....dialects.names import set_name
from ....dialects.relax.types import free_symbolic_vars
from ....dialects.sym.expr import SymExpr
from ....ir.functions.symbolic_vars import definable_vars, mentioned_by_body
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import erase, insert_before, replace_value
from ....transforms.functions.private import (
    PrivateFunction,
    bind_variables,
    caller_of,
    clean_up,
    private_functions,
    replace_call,
)


@dataclass(frozen=True)
class RemoveUnusedParameters(Pass):
    """Removes parameters of private functions that their bodies do not use, and computations of their arguments.

    f(x: T, unused: tensor<[m]>) {… m …}; f(a, b)  ->  f(x: T, param_m: prim<m>) {… m …}; f(a, prim_value 4)

    A symbolic variable that only a removed parameter determined becomes a parameter, in reverse order as in
    TVM. A parameter remains if the type of an argument does not determine the variable.
    """

    name = "remove-unused-parameters"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        changed: list[relax.FuncOp] = []
        for private in private_functions(op):
            callers = [caller_of(call) for call in private.calls]
            if _shrink(private):
                changed += callers
        clean_up(changed)


def _shrink(private: PrivateFunction) -> bool:
    """Remove the unused parameters of a function and its calls, and return whether there were any."""
    params = list(private.func.params)
    types = [p.type for p in params]
    values = [bind_variables(types, [a.type for a in call.args]) for call in private.calls]
    keep = [p for p in params if p.first_use is not None]
    mentioned = {*mentioned_by_body(private.func), *free_symbolic_vars([p.type for p in keep])}
    for p in params:
        here = [v for v in definable_vars([p.type]) if v in mentioned]
        if p.first_use is None and not all(v in available for v in here for available in values):
            keep.append(p)
    if len(keep) == len(params):
        return False
    kept = [p in keep for p in params]
    determined = definable_vars([p.type for p in keep])
    missing = [v for v in definable_vars(types) if v in mentioned and v not in determined][::-1]
    for call, available in zip(private.calls, values, strict=True):
        _shorten(call, kept, [available[v] for v in missing])
    block = private.func.body.block
    for p, k in zip(list(block.args), kept, strict=True):
        if not k:
            block.erase_arg(p)
    for v in missing:
        set_name(block.insert_arg(relax.PrimType.of(v.dtype, v), len(block.args)), f"param_{v.name}")
    return True


def _shorten(call: relax.CallOp, kept: list[bool], extra: list[SymExpr]) -> None:
    args: list[SSAValue] = [a for a, k in zip(call.args, kept, strict=True) if k]
    for expr in extra:
        value = relax.PrimValueOp(expr)
        insert_before(call, value)
        args.append(value.result)
    new = replace_call(call, args, call.result.type)
    replace_value(call.result, new.result)
    erase(call)
