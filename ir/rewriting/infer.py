"""Inference of Relax struct info after operands, parameters or symbolic variables have changed.

`inferred` returns the results that follow from an op's operands; the caller decides whether they replace the old ones:
always, or only if they are more precise than the declared ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...diagnostics import TiraxError
from ...dialects import relax
from ...dialects.relax.types import erase_unbound, free_symbolic_vars, is_base_of, least_common_ancestor, tuple_type
from ..locations import location_of
from .edit import set_type

Accepts = Callable[[Attribute, Attribute], bool]
"""Predicate (old, inferred): whether a result of the old struct info takes the inferred one."""


def inferred(op: Operation) -> list[Attribute]:
    """Return the struct info of an op's results by its operands; empty if it is declared, as for calls and casts."""
    if isinstance(op, relax.Operator):
        return [op.inferred()]
    if isinstance(op, relax.BindOp):
        return [op.value.type]
    if isinstance(op, relax.TupleOp):
        return [tuple_type(v.type for v in op.fields_)]
    if isinstance(op, relax.TupleGetItemOp):
        return [op.infer(op.tuple_.type, op.index.data)]
    if isinstance(op, relax.DataflowOp):
        return [v.type for v in op.output_op.values_]
    return []


def infer_again(op: Operation, accepts: Accepts = lambda old, new: True) -> list[SSAValue]:
    """Infer the results of an op again, in place, and return those that changed."""
    changed: list[SSAValue] = []
    for result, new in zip(op.results, inferred(op), strict=False):
        if new != result.type and accepts(result.type, new):
            set_type(result, new)
            changed.append(result)
    return changed


def refine_struct_info(func: relax.FuncOp) -> None:
    """Infer the struct info of a function again, in place, where the result is more precise."""
    _infer_block(func.body.block, lambda op: infer_again(op, is_base_of))


def refine_result(func: relax.FuncOp) -> None:
    """Refine the return type of a function to that of its body, if this is more precise."""
    inferred = erase_unbound(func.return_op.value.type, set(free_symbolic_vars(p.type for p in func.params)))
    if is_base_of(func.ret_type, inferred):
        func.ret_type = inferred


def infer_function(func: relax.FuncOp) -> None:
    """Infer all struct info of a function from that of its parameters, in place, including branches and closures."""
    _infer_block(func.body.block, lambda op: _infer_region(op) or infer_again(op))
    func.ret_type = erase_unbound(func.return_op.value.type, set(free_symbolic_vars(p.type for p in func.params)))


def _infer_block(block: Block, infer: Callable[[Operation], object]) -> None:
    """Infer the ops of a block in order, nested ops before the op that contains them."""
    for op in block.ops:
        for region in op.regions:
            for inner in region.blocks:
                _infer_block(inner, infer)
        try:
            infer(op)
        except TiraxError as error:
            error.location = error.location or location_of(op)
            raise


def _infer_region(op: Operation) -> None:
    """Infer the results of branches and closures, which declare theirs."""
    if isinstance(op, relax.IfOp):
        set_type(op.result, least_common_ancestor(*_branch_types(op)))
    elif isinstance(op, relax.ClosureOp):
        last = op.body.block.last_op
        assert isinstance(last, relax.ReturnOp)
        op.ret_type = last.value.type
        set_type(op.result, relax.CallableType.of([a.type for a in op.body.block.args], op.ret_type, op.impure is None))


def _branch_types(op: relax.IfOp) -> list[Attribute]:
    ends = (region.block.last_op for region in (op.then_region, op.else_region))
    return [end.value.type for end in ends if isinstance(end, relax.YieldOp)]


def infer_users(users: Iterable[Operation], accepts: Accepts = lambda old, new: True) -> None:
    """Infer ops whose operands have changed, and their users, as long as anything changes."""
    stack = list(users)
    while stack:
        for value in _infer_user(stack.pop(), accepts):
            stack += [use.operation for use in value.uses]


def _infer_user(op: Operation, accepts: Accepts) -> list[SSAValue]:
    """Infer an op, or the op it terminates; a declared function or branch type stays if it covers the inferred one."""
    outer = op.parent_op()
    if isinstance(op, relax.OutputOp) and outer is not None:
        return infer_again(outer, accepts)
    if isinstance(op, relax.ReturnOp) and isinstance(outer, relax.FuncOp):
        outer.ret_type = outer.ret_type if is_base_of(outer.ret_type, op.value.type) else op.value.type
    if isinstance(op, relax.YieldOp) and isinstance(outer, relax.IfOp):
        types = _branch_types(outer)
        if not all(is_base_of(outer.result.type, t) for t in types):
            set_type(outer.result, least_common_ancestor(*types))
            return [outer.result]
    return infer_again(op, accepts)
