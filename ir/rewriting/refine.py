"""Struct info of Relax functions, inferred anew after something became known."""

from __future__ import annotations

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import relax
from ...dialects.relax.types import is_base_of, tuple_type
from ..functions.lookup import binding_blocks
from .edit import set_type


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
