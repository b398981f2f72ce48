"""Bring Relax functions to normal form: every binding named, every struct info as precise as inference makes it."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...dialects.relax.types import is_base_of, tuple_type
from ...ir.functions.lookup import binding_blocks, relax_functions
from ...ir.names import NameSupply, variable_names
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import set_type


@dataclass(frozen=True)
class Normalize(Pass):
    """Names bindings that have no name (`lv`, `lv1`, …; `gv` outside of dataflow blocks) and refines struct info."""

    name = "normalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            refine_struct_info(func)
            name_bindings(func)


def refine_struct_info(func: relax.FuncOp) -> None:
    """Infer struct info anew in order of definition; a result type is replaced where the inferred one is of it."""
    for block in binding_blocks(func):
        for op in block.ops:
            inferred = _infer(op)
            if inferred is None:
                continue
            for result, new in zip(op.results, inferred, strict=True):
                if new != result.type and is_base_of(result.type, new):
                    set_type(result, new)
    for op in func.walk(reverse=True):
        if isinstance(op, relax.DataflowOp):
            for result, value in zip(op.outputs, op.output_op.values_, strict=True):
                if value.type != result.type and is_base_of(result.type, value.type):
                    set_type(result, value.type)


def refine_users(value: SSAValue) -> None:
    """Infer struct info anew in what uses `value`, and what uses that, as far as it becomes more precise."""
    stack = [use.operation for use in value.uses]
    while stack:
        op = stack.pop()
        outer = op.parent_op()
        if isinstance(op, relax.OutputOp) and outer is not None:
            results, inferred = outer.results, [v.type for v in op.values_]
        else:
            results, inferred = op.results, _infer(op) or []
        for result, new in zip(results, inferred, strict=False):
            if new != result.type and is_base_of(result.type, new):
                set_type(result, new)
                stack += [use.operation for use in result.uses]


def _infer(op: Operation) -> list[Attribute] | None:
    if isinstance(op, relax.Operator):
        return [op.infer()]
    if isinstance(op, relax.BindOp):
        return [op.value.type]
    if isinstance(op, relax.TupleOp):
        return [tuple_type(v.type for v in op.fields_)]
    if isinstance(op, relax.TupleGetItemOp) and isinstance(op.tuple_.type, TupleType):
        return [op.tuple_.type.types.data[op.index.data]]
    return None


def name_bindings(func: relax.FuncOp) -> None:
    """Give a fresh name to every binding without one."""
    names = NameSupply(variable_names(func))
    for block in binding_blocks(func):
        inside = isinstance(block.parent_op(), relax.DataflowOp)
        for op in block.ops:
            if isinstance(op, relax.INLINE_OPS):
                continue
            for result in op.results:
                if name_of(result) is None:
                    set_name(result, names.fresh("lv" if inside else "gv"))
