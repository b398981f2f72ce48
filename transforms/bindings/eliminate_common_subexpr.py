"""Eliminate common pure subexpressions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...dialects.relax.calls import overwritten
from ...ir.functions.lookup import relax_functions
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import erase_unused, insert_before, is_removable

_NO_CALLS = (relax.TupleOp, relax.TupleGetItemOp, relax.BindOp, relax.MatchCastOp, *relax.INLINE_OPS)
"""Bindings of other expressions than calls."""


@dataclass(frozen=True)
class EliminateCommonSubexpr(Pass):
    """Make bindings that are equal to an earlier, visible one aliases of it, and use that one instead of them.

    y = exp(x); z = exp(x); w = add(y, z)  ->  y = exp(x); z = y; w = add(y, y)

    `call_only`: only calls of operators and functions. `canonicalize-bindings` removes the aliases.
    """

    name = "eliminate-common-subexpr"
    call_only: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            eliminate_in_function(func, self.call_only)


def eliminate_in_function(func: relax.FuncOp, call_only: bool = False) -> None:
    """Eliminate common subexpressions of a function, in place; `call_only`: only calls."""
    _Scope(call_only).block(func.body.block, {})


class _Scope:
    def __init__(self, call_only: bool):
        self.call_only = call_only
        self.leaves: dict[SSAValue, Hashable] = {}

    def block(self, block: Block, outer: dict[Hashable, Sequence[SSAValue]]) -> None:
        """Process a block and nested ones; `outer` are the values of the expressions that are already available."""
        known = dict(outer)
        for op in list(block.ops):
            for region in op.regions:
                for inner in region.blocks:
                    self.block(inner, {} if isinstance(op, relax.FuncOp) else known)
            if isinstance(op, relax.DataflowOp):
                self._keep_outputs(op, known)
            if op.regions or self._skipped(op):
                continue
            first = known.setdefault(self.key(op), op.results)
            if first is not op.results and not _are_overwritten(first):
                for old, new in zip(op.results, first, strict=True):
                    _alias(op, old, new)
                erase_unused([op])

    def _keep_outputs(self, op: relax.DataflowOp, known: dict[Hashable, Sequence[SSAValue]]) -> None:
        """Make the expressions of a dataflow block that are outputs known after it."""
        for value, result in zip(op.output_op.values_, op.outputs, strict=True):
            if isinstance(value, OpResult) and value.op.parent is op.body.block and not self._skipped(value.op):
                known.setdefault(self.key(value.op), [result])
            if name_of(value) == name_of(result):
                self.leaves[result] = self.operand(value)

    def _skipped(self, op: Operation) -> bool:
        if not is_removable(op) and not isinstance(op, relax.MatchCastOp):
            return True
        if isinstance(op, relax.INLINE_OPS) and name_of(op.results[0]) is None:
            return True
        if any(isinstance(o, relax.memory.Allocation) for o in (op, *(v.owner for v in op.operands))):
            return True  # each allocation is distinct, and its contents change
        if isinstance(op, relax.CallPurePackedOp | relax.CallInplacePackedOp) and op.result.type == relax.OBJECT:
            return True  # objects, such as caches, are distinct, too
        return self.call_only and isinstance(op, _NO_CALLS)

    def key(self, op: Operation) -> Hashable:
        operands = tuple(self.operand(v) for v in op.operands)
        return (type(op), operands, frozenset(op.properties.items()), tuple(r.type for r in op.results))

    def operand(self, value: SSAValue) -> Hashable:
        """Return the key of an operand: the value itself, or the content of an unnamed leaf."""
        key = self.leaves.get(value)
        if key is None:
            leaf = isinstance(value, OpResult) and isinstance(value.op, relax.INLINE_OPS) and name_of(value) is None
            key = self.leaves[value] = self.key(value.op) if leaf and isinstance(value, OpResult) else value
        return key


def _alias(op: Operation, old: SSAValue, new: SSAValue) -> None:
    """Bind the variable of `old`, a result of `op`, to `new`, which is used instead, except as an output of a dataflow
    block: that is visible outside.
    """
    alias = insert_before(op, relax.BindOp(new)).results[0]
    set_name(alias, name_of(old))
    for use in list(old.uses):
        use.operation.operands[use.index] = alias if isinstance(use.operation, relax.OutputOp) else new


def _are_overwritten(values: Sequence[SSAValue]) -> bool:
    """Return whether a later call writes to the memory of the values."""
    return any(value in overwritten(use.operation) for value in values for use in value.uses)
