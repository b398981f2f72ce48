"""`rewrite_bindings`: rewrite several bindings of a dataflow block at once, matched by a `PatternContext`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...diagnostics import TiraxError
from ...dialects import relax
from ...dialects.names import name_of
from ...handles.module import IRModule
from ...handles.relax.calls import to_expr
from ...handles.relax.expr import Expr, Var, canonical
from ...handles.relax.function import DataflowBlock, Function
from ...ir.equality import fingerprint
from ...ir.functions.lookup import ops_of_type, relax_functions
from ...ir.passes.transform import no_gc
from ...ir.rewriting.dead_bindings import remove_dead_bindings
from .graph import match_block
from .patterns import PatternContext
from .place import Placer, names_of
from .rewriter import divergence, forget_discarded, size_of, verify

BindingsCallback = Callable[[Any, Any], Mapping[Any, Any]]
"""A function (matches of the patterns, bindings of the block by variable) -> new values of some variables."""


def rewrite_bindings(ctx: PatternContext, rewriter: BindingsCallback, func: Function) -> Function:
    """Return a copy of `func` in which variables have the values that `rewriter(matches, bindings)` returns.

    Each dataflow block is matched again until nothing matches or nothing changes. Bindings that a new value uses are
    moved before it. Raises `DivergenceError` if this does not terminate, and `TiraxError` for values that depend on
    each other cyclically.
    """
    module = IRModule({func.name: func.copy()})
    with no_gc():
        for op in relax_functions(module.op):
            _rewrite(ctx, rewriter, op)
    return cast(Function, module[func.name].copy())


def _rewrite(ctx: PatternContext, rewriter: BindingsCallback, func: relax.FuncOp) -> None:
    bindings = size = size_of(func)
    before = fingerprint(func)
    for _ in range(64 + 2 * bindings):
        blocks = list(ops_of_type(func, relax.DataflowOp))
        changed = [_rewrite_block(ctx, rewriter, func, block) for block in blocks]
        if not any(changed):
            return
        forget_discarded(func)
        verify(func)
        remove_dead_bindings(func)
        if before == (before := fingerprint(func)):
            return
        size = size_of(func)
    raise divergence(func, f"it had {bindings} bindings and has {size} now, and more is rewritten in each round")


def _rewrite_block(
    ctx: PatternContext, rewriter: BindingsCallback, func: relax.FuncOp, block: relax.DataflowOp
) -> bool:
    view = DataflowBlock(block)
    matches = match_block(ctx.constraints, view)
    if matches is None:
        return False
    bound: dict[Var, Expr] = {b.var: b.value for b in view.bindings}
    new_values = {_binding_of(var, block): value for var, value in rewriter(matches, bound).items()}
    placer = Placer(names_of(func))
    changed = False
    for op in [op for op in block.body.block.ops if op in new_values]:
        value = to_expr(new_values[op]).ssa
        if canonical(value) is not op.results[0]:
            _hoist(value, op)
            placer.replace(op, placer.place(value, op))
            changed = True
    return changed


def _binding_of(var: Any, block: relax.DataflowOp) -> Operation:
    """Return the binding of a variable in a dataflow block. Raises `TiraxError` if it is bound elsewhere."""
    value = canonical(to_expr(var).ssa)
    if isinstance(value, OpResult) and value.op is block:
        value = block.output_op.values_[value.index]
    if not isinstance(value, OpResult) or value.op.parent is not block.body.block:
        raise TiraxError(
            f"'{name_of(value)}' is not bound in the dataflow block that matched",
            hint="the rewriter of rewrite_bindings gives values to variables of that block only",
        )
    return value.op


def _hoist(value: SSAValue, anchor: Operation) -> None:
    """Move bindings after `anchor` that `value` depends on before it, in order of use."""
    block = cast(Block, anchor.parent)
    later: dict[Operation, None] = {}
    op = anchor.next_op
    while op is not None:
        later.setdefault(op)
        op = op.next_op
    needed = _dependencies(value, later, anchor)
    for op in [op for op in later if op in needed]:
        op.detach()
        block.insert_op_before(op, anchor)


def _dependencies(value: SSAValue, later: Mapping[Operation, None], anchor: Operation) -> set[Operation]:
    """Return the ops in `later` that `value` depends on; none of them may depend on `anchor`."""
    needed: set[Operation] = set()
    seen: set[Operation] = set()
    stack = [value]
    while stack:
        current = stack.pop()
        if not isinstance(current, OpResult) or current.op in seen:
            continue
        op = current.op
        if op.parent is None or op in later:
            seen.add(op)
            stack += op.operands
            if op in later:
                needed.add(op)
                if any(isinstance(v, OpResult) and v.op is anchor for v in op.operands):
                    raise TiraxError(
                        f"the new value of '{name_of(anchor.results[0])}' is computed from itself",
                        hint=f"it uses '{name_of(current)}', which is computed from it",
                    )
    return needed
