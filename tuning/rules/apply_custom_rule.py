"""Rules that a block asks for by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...diagnostics import unknown_name
from ...dialects import tir
from ...schedule import BlockRV, Schedule
from .. import analysis
from .rule import ScheduleRule

CUSTOM_RULES: dict[str, Callable[[Schedule, BlockRV], list[Schedule] | Schedule]] = {}
"""Rules by name; a block takes one with the annotation `schedule_rule`."""


@dataclass
class ApplyCustomRule(ScheduleRule):
    """Run the rule that a block's annotation `schedule_rule` names. Raises `NameLookupError` for an unknown one."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = sch.get(block)
        name = analysis.annotation(op, "schedule_rule") if isinstance(op, tir.BlockOp) else None
        if name is None or name == "None":
            return [sch]
        if name not in CUSTOM_RULES:
            raise unknown_name("schedule rule", str(name), CUSTOM_RULES)
        sch.unannotate(block, "schedule_rule")
        made = CUSTOM_RULES[name](sch, block)
        return [made] if isinstance(made, Schedule) else list(made)
