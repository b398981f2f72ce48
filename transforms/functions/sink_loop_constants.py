"""Sink constants that a loop passes to its functions into these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...ir.functions.lookup import callee_names, callees_first, functions, ops_of_type
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import erase_unused, insert_before, replace_op


@dataclass(frozen=True)
class SinkLoopConstants(Pass):
    """Sink loop-invariant constants into the functions of a loop, where they can be packed.

    while_loop(cond, body, (x,), (w,)), w a constant  ->  while_loop(cond, body, (x,)); body(x) {… w …}

    Applies to private functions that only this loop uses.
    """

    name = "sink-loop-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        table = functions(op)
        uses = Counter(name for inner in op.walk() for name in callee_names(inner))
        for name in reversed(callees_first(table)):  # outer loops first
            for loop in list(ops_of_type(table[name], relax.WhileLoop)):
                callees = [table.get(loop.callee(arg) or "") for arg in ("cond", "body")]
                mine = [f for f in callees if isinstance(f, relax.FuncOp) and f.private and uses[f.sym_name.data] == 1]
                if len(mine) == len(callees) and loop.cond.has_one_use() and loop.body.has_one_use():
                    _sink(loop, mine)


def _sink(loop: Any, callees: Sequence[relax.FuncOp]) -> None:
    """Move the constants among the invariants of a loop into its functions."""
    invariants = list(loop.invariants)
    constants = {i: v.owner for i, v in enumerate(invariants) if isinstance(v.owner, relax.ConstantOp)}
    if not constants:
        return
    first = len(loop.types("init"))
    for func in callees:
        params = list(func.body.block.args)
        for i, constant in constants.items():
            _replace_parameter(func, params[first + i], constant)
    references = [relax.FunctionRefOp(f.sym_name.data, f.callable_type) for f in callees]
    insert_before(loop, *references)
    rest = [v for i, v in enumerate(invariants) if i not in constants]
    new = relax.WhileLoop.make(
        *(r.result for r in references), list(loop.init), rest or None, collected=loop.collected_count
    )
    old = [loop.cond.owner, loop.body.owner, *constants.values()]
    replace_op(loop, new)
    erase_unused([leaf for leaf in old if leaf.parent is not None])


def _replace_parameter(func: relax.FuncOp, param: BlockArgument, constant: relax.ConstantOp) -> None:
    """Replace a parameter by a constant, and remove it."""
    block = func.body.block
    if param.first_use is not None:
        copy = constant.clone()
        first = block.first_op
        assert first is not None
        block.insert_op_before(copy, first)
        set_name(copy.result, name_of(param))
        param.replace_all_uses_with(copy.result)
    block.erase_arg(param)
