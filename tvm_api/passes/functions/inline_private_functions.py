"""Inline calls of private functions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects import relax
from ....dialects.names import name_of, set_name
from ....dialects.relax.types import is_base_of
from ....dialects.sym.expr import SymExpr, Var
from ....ir.functions.lookup import callees_first
from ....ir.names import NameSupply, make_unique
from ....ir.passes.transform import Pass
from ....ir.rewriting.bind import function_symbols
from ....ir.rewriting.edit import erase, insert_before
from ....ir.rewriting.substitute import SymbolSubstitution
from ....transforms.bindings.to_non_dataflow import flatten_dataflow
from ....transforms.functions.private import PrivateFunction, bind_variables, caller_of, clean_up, private_functions


@dataclass(frozen=True)
class InlinePrivateFunctions(Pass):
    """Inlines private functions at their calls, and removes them.

    f(a) {… y = exp(a); return y}; z = f(x)  ->  z = exp(x)

    Symbolic variables are replaced as the arguments determine; where the types of a call's arguments and result
    may not match, `match_cast` checks them. Functions remain if they are recursive, are used other than by
    calls, have attributes (which mean something to another pass or a code generator), contain closures, or have
    branches, effects or no purity and are called in a dataflow block.
    """

    name = "inline-private-functions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        candidates = {p.name: p for p in private_functions(op)}
        inliner = Inliner()
        for name in callees_first({n: p.func for n, p in candidates.items()}):
            private = candidates[name]
            if _inlinable(private):
                for call in private.calls:
                    inliner.inline(private.func, call)
                inliner.changed.pop(private.func, None)
                erase(private.func)
        clean_up(inliner.changed)
        for func in inliner.changed:
            make_unique(func)


def _inlinable(private: PrivateFunction) -> bool:
    func = private.func
    kinds = {type(o) for o in func.walk()}
    if (func.func_attrs is not None and func.func_attrs.data) or relax.ClosureOp in kinds:
        return False
    return (func.pure and relax.IfOp not in kinds) or not any(map(_in_dataflow, private.calls))


def _in_dataflow(call: relax.CallOp) -> bool:
    return isinstance(call.parent_op(), relax.DataflowOp)


class Inliner:
    """Inlines calls, and records the changed functions with the names of their symbolic variables."""

    def __init__(self) -> None:
        self.changed: dict[relax.FuncOp, NameSupply] = {}

    def inline(self, func: relax.FuncOp, call: relax.CallOp) -> None:
        """Replace a call of `func` by a copy of its body."""
        copy = func.clone()
        SymbolSubstitution(self._variables(func, call)).operation(copy)
        if _in_dataflow(call):
            flatten_dataflow(copy)
        for param, arg in zip(copy.params, call.args, strict=True):
            param.replace_all_uses_with(_as(call, arg, param.type, name_of(param)))
        end = copy.return_op
        value = end.value
        erase(end)
        for binding in list(copy.body.block.ops):
            binding.detach()
            insert_before(call, binding)
        result = _as(call, value, call.result.type, name_of(call.result))
        if name_of(result) is None:
            set_name(result, name_of(call.result))
        call.result.replace_all_uses_with(result)
        erase(call)

    def _variables(self, func: relax.FuncOp, call: relax.CallOp) -> dict[Var, SymExpr]:
        """Return the values of the symbolic variables of `func` at a call, or new variables."""
        caller = caller_of(call)
        if caller not in self.changed:
            self.changed[caller] = NameSupply([str(v.name) for v in function_symbols(caller)])
        bindings = bind_variables([p.type for p in func.params], [a.type for a in call.args])
        for v in function_symbols(func):
            if v not in bindings:
                bindings[v] = Var(self.changed[caller].fresh(str(v.name)), v.dtype)
        return bindings


def _as(anchor: Operation, value: SSAValue, expected: Attribute, name: str | None) -> SSAValue:
    """Return `value` with type `expected`, bound or checked before `anchor` if its type differs."""
    if value.type == expected:
        return value
    kind = relax.BindOp if is_base_of(expected, value.type) else relax.MatchCastOp
    cast_op = kind(value, expected)
    insert_before(anchor, cast_op)
    set_name(cast_op.result, name)
    return cast_op.result
