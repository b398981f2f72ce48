"""Bring Relax functions to normal form: every binding named, all struct info as precise as inference can make it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects import relax
from ...dialects.quick import operations
from ...dialects.relax.registered import MOST_STEPS, endless, normal_form
from ...ir.functions.lookup import relax_functions
from ...ir.names import name_bindings
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import insert_before, replace_op
from ...ir.rewriting.infer import refine_struct_info


@dataclass(frozen=True)
class Normalize(Pass):
    """Name unnamed bindings (`lv`, `lv1`, …; `gv` outside of dataflow blocks) and refine struct info.

    Calls of operators with a registered `FNormalize` are replaced by its result.
    """

    name = "normalize"
    takes_ill_formed = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            for inner in list(operations(func)):
                if isinstance(inner, relax.Operator):
                    _replace(inner)
            refine_struct_info(func)
            name_bindings(func)


def _replace(op: relax.Operator, steps: int = 0) -> None:
    """Replace a call by its normal form, and normalize the new calls in turn."""
    value = normal_form(op)
    if value is op.results[0]:
        return
    if steps == MOST_STEPS:
        raise endless(op.name)
    detached_ops = list(_detached(value))
    for detached in detached_ops:
        insert_before(op, detached)
    replace_op(op, value, renamed=value.owner in detached_ops)
    for inner in detached_ops:
        if isinstance(inner, relax.Operator):
            _replace(inner, steps + 1)


def _detached(value: SSAValue) -> Iterator[Operation]:
    """Yield the detached operations that compute a value, operands first."""
    owner = value.owner
    if isinstance(owner, Operation) and owner.parent is None:
        for operand in owner.operands:
            yield from _detached(operand)
        yield owner
