"""`rewrite-unsafe-select`: `T.Select` with sides that must not run without need becomes `T.if_then_else`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import is_side_effect_free

from ....dialects import tir
from ....ir.passes.transform import Pass
from ....ir.rewriting.copy import Copier
from ....transforms.tir.walk import functions
from .rebuilt import rebuild


@dataclass(frozen=True)
class RewriteUnsafeSelect(Pass):
    """Evaluate only one side of a choice if a side reads memory or has effects; conditions that are vectors stay."""

    name = "rewrite-unsafe-select"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            rebuild(func, _Rewriter())


class _Rewriter(Copier):
    def value(self, value: SSAValue, block: Block | None, mapping: dict[SSAValue, SSAValue]) -> SSAValue:
        op = value.owner
        if value in mapping or not isinstance(op, tir.SelectOp) or op.cond.type != i1:
            return super().value(value, block, mapping)
        sides = [self._side(v, mapping) for v in (op.true_value, op.false_value)]
        if not any(_is_unsafe(side.last_op.operands[0]) for side in sides if side.last_op is not None):
            return super().value(value, block, mapping)
        choice = tir.IfThenElseOp(self.value(op.cond, block, mapping), *map(Region, sides))
        if block is not None:
            block.add_op(choice)
        mapping[value] = choice.result
        return choice.result

    def _side(self, value: SSAValue, mapping: dict[SSAValue, SSAValue]) -> Block:
        block = Block()
        block.add_op(tir.YieldOp(self.value(value, block, dict(mapping))))
        return block


def _is_unsafe(value: SSAValue) -> bool:
    """Return whether an expression reads memory or has effects; choices in it are safe if their conditions are."""
    op = value.owner
    if not isinstance(op, Operation):
        return False
    if isinstance(op, tir.SelectOp | tir.IfThenElseOp):
        return _is_unsafe(op.cond)
    if isinstance(op, tir.LoadOp | tir.MaskedLoadOp):
        return True
    if isinstance(op, tir.CallExpr) and not is_side_effect_free(op):
        return True
    if isinstance(op, tir.RampOp):
        return all(map(_is_unsafe, op.operands))
    inside = [o for region in op.regions for block in region.blocks for o in block.ops if isinstance(o, tir.YieldOp)]
    return any(map(_is_unsafe, [*op.operands, *(v for end in inside for v in end.operands)]))
