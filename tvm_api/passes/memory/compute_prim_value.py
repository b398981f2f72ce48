"""Compute expressions of symbolic variables in tensor functions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Region, SSAValue

from ....dialects import relax, tir
from ....dialects.names import set_name
from ....dialects.sym import SymAttr, ValueOp
from ....dialects.sym.expr import Const, SymExpr, Var
from ....ir.names import NameSupply, function_names
from ....ir.passes.transform import Pass
from ....ir.rewriting.driver import Emit, apply_to

_NAME = "compute_symbolic_expr"


@dataclass(frozen=True)
class ComputePrimValue(Pass):
    """Replaces values of expressions by calls of functions that compute them; numbers and single variables remain.

    y = prim_value(n * m)  ->  y = compute_symbolic_expr(prim_value(n), prim_value(m))

    Expressions that are equal up to variable names share a function. The struct info of the call is the
    expression.
    """

    name = "compute-prim-value"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_to(op, {relax.PrimValueOp.name: partial(_computed, _Functions(op))})


def _computed(functions: _Functions, op: relax.PrimValueOp, emit: Emit) -> SSAValue | None:
    expr = op.value.data if isinstance(op.value, SymAttr) else None
    if expr is None or isinstance(expr, Const | Var):
        return None
    variables = list(dict.fromkeys(expr.free_vars()))
    return emit.put(relax.CallOp(functions.of(expr, variables), list(map(emit.integer, variables)), op.result.type))


class _Functions:
    """The functions that compute expressions, by expression with numbered variables."""

    def __init__(self, module: ModuleOp):
        self._module = module
        self._names = NameSupply(function_names(module))
        self._known: dict[SymExpr, str] = {}

    def of(self, expr: SymExpr, variables: list[Var]) -> str:
        """Return the name of the function that computes `expr` of its `variables`, adding it if it is new."""
        numbered = {v: Var(f"parameter {i}", v.dtype) for i, v in enumerate(variables)}
        key = expr.substitute(numbered)
        if key not in self._known:
            self._known[key] = self._names.fresh(_NAME)
            self._module.body.block.add_op(_function(self._known[key], expr, variables))
        return self._known[key]


def _function(name: str, expr: SymExpr, variables: list[Var]) -> tir.FuncOp:
    body: Region = tir.body_region(*(v.dtype for v in variables))
    for argument, variable in zip(body.block.args, variables, strict=True):
        set_name(argument, str(variable.name))
    value = ValueOp(expr)
    body.block.add_ops([value, tir.ReturnOp(value.result)])
    return tir.FuncOp(name, body, private=True, attrs={"tir.is_host_func": True}, ret_type=value.result.type)
