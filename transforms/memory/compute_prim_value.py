"""Let tensor functions compute what Relax cannot: expressions of symbolic variables as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Region

from ...dialects import relax, tir
from ...dialects.names import name_of, set_name
from ...dialects.sym import SymAttr, ValueOp
from ...dialects.sym.expr import Const, SymExpr, Var
from ...ir.functions.lookup import relax_functions
from ...ir.names import NameSupply, function_names
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import erase

_NAME = "compute_symbolic_expr"


@dataclass(frozen=True)
class ComputePrimValue(Pass):
    """Values of expressions become calls of functions that compute them; numbers and single variables stay.

    y = prim_value(n * m)  ->  y = compute_symbolic_expr(prim_value(n), prim_value(m))

    An expression that is needed twice, whatever its variables are called, is computed by one function. The struct info
    of the call still says the expression.
    """

    name = "compute-prim-value"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        made = _Functions(op)
        for func in relax_functions(op):
            for value in [inner for inner in func.walk() if isinstance(inner, relax.PrimValueOp)]:
                if _is_computed(value):
                    _replace(value, made)


def _is_computed(op: relax.PrimValueOp) -> bool:
    return isinstance(op.value, SymAttr) and not isinstance(op.value.data, Const | Var)


class _Functions:
    """The functions that compute expressions, by expression with the variables numbered."""

    def __init__(self, module: ModuleOp):
        self._module = module
        self._names = NameSupply(function_names(module))
        self._known: dict[SymExpr, str] = {}

    def of(self, expr: SymExpr, variables: list[Var]) -> str:
        """The name of the function that computes `expr` of its `variables`, which is added where there is none."""
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


def _replace(op: relax.PrimValueOp, made: _Functions) -> None:
    assert isinstance(op.value, SymAttr) and op.parent is not None
    expr = op.value.data
    variables = list(dict.fromkeys(expr.free_vars()))
    args = [relax.PrimValueOp(v) for v in variables]
    call = relax.CallOp(made.of(expr, variables), [a.result for a in args], op.result.type)
    new: list[Any] = [*args, call]
    for each in new:
        each.location = op.location
    op.parent.insert_ops_before(new, op)
    set_name(call.result, name_of(op.result))
    op.result.replace_all_uses_with(call.result)
    erase(op)
