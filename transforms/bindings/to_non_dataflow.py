"""Dissolve dataflow blocks into the block around them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...ir.functions.lookup import binding_blocks, relax_functions
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import erase, insert_before


@dataclass(frozen=True)
class ToNonDataflow(Pass):
    """Remove dataflow blocks; their bindings stay, in order.

    gv = dataflow { lv = exp(x); output(lv) }  ->  lv = exp(x); gv = lv
    """

    name = "to-non-dataflow"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            flatten_dataflow(func)


def flatten_dataflow(func: Operation) -> None:
    """Dissolve every dataflow block of a function, in place.

    A result whose name differs from its value's becomes a binding.
    """
    for block in list(binding_blocks(func)):
        for op in list(block.ops):
            if isinstance(op, relax.DataflowOp):
                dissolve(op)


def dissolve(op: relax.DataflowOp) -> None:
    """Replace a dataflow block by its contents. A result whose name differs from its value's becomes a binding."""
    parent = op.parent
    assert parent is not None
    output = op.output_op
    values = list(output.values_)
    erase(output)
    for binding in list(op.body.block.ops):
        binding.detach()
        parent.insert_op_before(binding, op)
    for value, result in zip(values, op.outputs, strict=True):
        result.replace_all_uses_with(_named(op, value, name_of(result)))
    parent.erase_op(op)


def _named(anchor: Operation, value: SSAValue, name: str | None) -> SSAValue:
    """Return `value` if it has this name (or needs none), else a binding of it before `anchor`."""
    if name is None or name_of(value) == name:
        return value
    bind = relax.BindOp(value)
    set_name(bind.result, name)
    insert_before(anchor, bind)
    return bind.result
