"""Placeholders of values that are defined later: the SSA values of free variables, and their names."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Block, SSAValue

from ...dialects.names import name_of, set_name
from ...dialects.sym import expr as sym
from ...dialects.sym.expr import SymExpr


def placeholder_value(dtype: Attribute, name: str | None = None) -> SSAValue:
    """Return a placeholder of `dtype` for a value defined later: the argument of a block of its own."""
    value = Block(arg_types=[dtype]).args[0]
    set_name(value, name)
    return value


class FreeBlock(Block):
    """The owner of a variable's placeholder."""


def is_free(value: SSAValue) -> bool:
    """Return whether a value is an integer `Var` that nothing defines."""
    return isinstance(value.owner, FreeBlock) and isinstance(value.type, IntegerType)


def with_names(expr: SymExpr) -> SymExpr:
    """Return the expression with `Var`s replaced by symbolic variables of their names."""
    free = {v: named_var(v) for v in expr.free_vars() if v.value is not None and is_free(v.value)}
    return expr.substitute(free) if free else expr


def named_var(var: sym.Var) -> sym.Var:
    """Return the variable by its name, also if it refers to an SSA value (`tir.Var("n", "int64")`)."""
    if isinstance(var.name, str):
        return var
    return sym.Var(name_of(var.name) or "n", var.dtype)
