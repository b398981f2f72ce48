"""`plan-schedule`: what `default-schedule` would decide, written into the module to be read and changed."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region

from ...dialects import tir
from ...dialects.sched import RuleOp, SequenceOp, Version
from ...ir.passes.transform import Pass
from ...target import Target
from ...transforms.tir.walk import functions, is_scheduled
from .decisions import INLINE, Decisions
from .default_schedule import choices
from .machine import Machine


@dataclass(frozen=True)
class PlanSchedule(Pass):
    """Put behind each tir function the sequence of rules that `default-schedule` applies to it for `target`.

    Functions that say `tir.is_scheduled`, and those that have such a sequence, stay as they are.
    """

    name = "plan-schedule"
    target: str = "llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = Machine.of(Target(self.target))
        block = op.body.block
        there = {s.function_name for s in block.ops if isinstance(s, SequenceOp)}
        for func in functions(op):
            if func.sym_name.data not in there and not is_scheduled(func):
                sequence = planned(func, machine)
                if sequence.rules:
                    block.insert_op_after(sequence, func)


def planned(func: tir.FuncOp, machine: Machine) -> SequenceOp:
    """The rules for the blocks of a function, which stays as it is."""
    decisions = Decisions(machine)
    made = [RuleOp(choice.block, choice.versions, choice.then) for choice in choices(func.clone(), decisions)]
    inlined = [RuleOp(block, [Version(INLINE, {})]) for block in decisions.inlined]
    return SequenceOp(Region(Block([*inlined, *made])), func.sym_name.data)
