"""Eliminate common pure subexpressions."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...dialects import relax
from ...dialects.names import name_of
from ...dialects.relax.calls import overwritten
from ...ir.functions.lookup import relax_functions
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import erase_unused, is_removable


@dataclass(frozen=True)
class EliminateCommonSubexpr(Pass):
    """Replace bindings that are equal to an earlier, visible one by its value.

    `call_only`: keep tuples and fields of tuples.
    """

    name = "eliminate-common-subexpr"
    call_only: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            eliminate_in_function(func, self.call_only)


def eliminate_in_function(func: relax.FuncOp, call_only: bool = False) -> None:
    """Eliminate common subexpressions of a function, in place; `call_only`: keep tuples and fields of tuples."""
    _Scope(call_only).block(func.body.block, {})


class _Scope:
    def __init__(self, call_only: bool):
        self.call_only = call_only
        self.leaves: dict[SSAValue, Hashable] = {}

    def block(self, block: Block, outer: dict[Hashable, Operation]) -> None:
        """Process a block and nested ones; `outer` are the expressions that are already available."""
        known = dict(outer)
        for op in list(block.ops):
            for region in op.regions:
                for inner in region.blocks:
                    self.block(inner, known)
            if op.regions or not is_removable(op) or self._skipped(op):
                continue
            key = self.key(op)
            first = known.setdefault(key, op)
            if first is not op and not _is_overwritten(first):
                for old, new in zip(op.results, first.results, strict=True):
                    old.replace_all_uses_with(new)
                erase_unused([op])

    def _skipped(self, op: Operation) -> bool:
        if isinstance(op, relax.INLINE_OPS) and name_of(op.results[0]) is None:
            return True
        if any(isinstance(o, relax.memory.Allocation) for o in (op, *(v.owner for v in op.operands))):
            return True  # each allocation is distinct, and its contents change
        if isinstance(op, relax.CallPurePackedOp | relax.CallInplacePackedOp) and op.result.type == relax.OBJECT:
            return True  # objects, such as caches, are distinct, too
        return self.call_only and isinstance(op, relax.TupleOp | relax.TupleGetItemOp)

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


def _is_overwritten(op: Operation) -> bool:
    """Return whether a later call writes to the memory of the results of `op`."""
    return any(result in overwritten(use.operation) for result in op.results for use in result.uses)
