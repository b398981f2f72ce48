"""The parameters and the end of a function under construction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.ir import Attribute, Block, Region, SSAValue

from ...diagnostics import TiraxError
from ...dialects import relax
from ...dialects.attributes import PyValue
from ...dialects.names import name_of, set_name
from ..tir.attributes import attr_of
from .expr import Var


def take_params(block: Block, params: Sequence[Var]) -> dict[SSAValue, SSAValue]:
    """Make variables arguments of a block, which their handles refer to from now on; return the old values -> the new
    ones.

    Raises `TiraxError` if an object is not a variable or occurs twice.
    """
    olds: dict[SSAValue, SSAValue] = {}
    for var in params:
        if not isinstance(var, Var):
            raise TiraxError("a parameter is a variable", expected="relax.Var", found=type(var).__name__)
        old = var.ssa
        if old in olds:
            raise TiraxError(f"the parameter {var.name_hint} is given twice")
        new = block.insert_arg(old.type, len(block.args))
        set_name(new, name_of(old))
        olds[old] = new
    for op in block.walk():
        for i, operand in enumerate(op.operands):
            if operand in olds:
                op.operands[i] = olds[operand]
    for var in params:
        var.point_at(olds[var.ssa])
    return olds


def finish_function(
    name: str,
    block: Block,
    value: SSAValue,
    ret: Attribute | None,
    pure: bool,
    attrs: Mapping[str, Any],
    private: bool,
) -> relax.FuncOp:
    """End `block` with a return and make it the body of a new function."""
    block.add_op(relax.ReturnOp(value))
    if ret is None:
        bound = set(relax.free_symbolic_vars(a.type for a in block.args))
        ret = relax.erase_unbound(value.type, bound)
    properties: dict[str, PyValue] = {
        k: a for k, v in attrs.items() if k != "global_symbol" and (a := attr_of(v)) is not None
    }
    return relax.FuncOp(name, Region(block), ret, private=private, attrs=properties, pure=pure)
