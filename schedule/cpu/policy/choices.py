"""Decisions for a stage: the rule that emits its loops, with its numbers, and alternatives by a size at run time."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, cast

from xdsl.ir import Block, Operation

from ....dialects import tir
from ....dialects.quick import operations
from ....dialects.sched import Version
from ....transforms.tir.walk import erase_with_tree, inline_before
from ...loop_builder import LoopBuilder
from ...rewrite import erase_if_unread
from ..analysis.plan import DecisionError, Machine
from ..analysis.remarks import collect_remarks
from ..analysis.stages import analyse, cached_slopes, function_name
from ..library.epilogue import Epilogue
from ..library.fuse_iters import fuse_iters
from .rules import RULES, AnyRule, P, StageRule

logger = logging.getLogger("tirax.schedule")
"""Logs which user rules schedule which blocks (info), and which built-in rules do, or why they do not fit (debug)."""


@dataclass
class Decision(Generic[P]):
    """A `plan` of `rule` for the stages at `roots`, the last of which is where the loops are inserted.

    With `other`, this applies to a run-time size of at least `least`, and `other` to smaller sizes.
    """

    rule: StageRule[P]
    plan: P
    roots: Sequence[Operation]
    block: str
    then: str | None = None
    least: int = 1
    other: AnyDecision | None = None

    def apply(self) -> None:
        """Replace the stages by the loops, and erase the stages and the intermediate buffer between them."""
        anchor = self.roots[-1]
        body, block = cast(Block, anchor.parent), Block()
        self.emit(LoopBuilder(block))
        inline_before(block, anchor)
        stores = [op for root in self.roots for op in operations(root) if isinstance(op, tir.StoreOp)]
        buffers = [op.buffer for op in stores if op.buffer.owner in set(body.ops)]
        for root in reversed(self.roots):
            erase_with_tree(root)
        for buffer in dict.fromkeys(buffers):
            erase_if_unread(buffer)

    def emit(self, loops: LoopBuilder) -> None:
        """Append the loops."""
        if self.other is None or self.rule.size is None:
            self.rule.emit(loops, self.plan)
            return
        size, other = self.rule.size(self.plan), self.other
        loops.branch_at_least(size, self.least, lambda: self.rule.emit(loops, self.plan), lambda: other.emit(loops))

    @property
    def versions(self) -> list[Version]:
        """The rules with their numbers, those for larger sizes first."""
        others = [] if self.other is None else self.other.versions
        return [Version(self.rule.name, self.plan.numbers, self.least if others else None), *others]


AnyDecision = Decision[Any]


def first_fit(rules: Sequence[AnyRule], epilogue: Epilogue, machine: Machine) -> AnyDecision | None:
    """Return the first rule that fits a stage; if its benefit depends on an unknown size, with a rule for smaller
    sizes.

    Returns None if no rule fits.
    """
    combined = fuse_iters(epilogue)

    def fit(first: int) -> AnyDecision | None:
        for at, rule in enumerate(rules[first:], first):
            with collect_remarks() as reasons:
                plan = rule.plan(combined, machine)
            _log_rule(rule, epilogue, None if plan is not None else "; ".join(reasons))
            if plan is not None:
                other = fit(at + 1) if rule.size is not None and rule.size(plan).constant is None else None
                return _decision(rule, plan, epilogue, rule.least, other)
        return None

    with cached_slopes():
        return fit(0)


def _log_rule(rule: AnyRule, epilogue: Epilogue, rejected: str | None) -> None:
    """Log that a rule schedules a block, or why it does not fit."""
    place = epilogue.stage.block.name_hint, function_name(epilogue.stage.root)
    if rejected is None:
        level = logging.DEBUG if rule in RULES else logging.INFO
        logger.log(level, "the rule '%s' writes the block '%s' of '%s'", rule.name, *place)
    else:
        reason = f": {rejected}" if rejected else ""
        logger.debug("the rule '%s' does not fit the block '%s' of '%s'%s", rule.name, *place, reason)


def log_nest(rule: AnyRule, root: Operation, fits: bool, reasons: Iterable[str]) -> None:
    """Log that a rule for nests or several stages schedules a nest or function, or why it does not."""
    if logger.isEnabledFor(logging.DEBUG) and (fits or reasons):
        block = next((op.name_hint for op in root.walk() if isinstance(op, tir.BlockOp)), "")
        where = "" if isinstance(root, tir.FuncOp) else f" the block '{block}' of"
        name = root.sym_name.data if isinstance(root, tir.FuncOp) else function_name(root)
        reason = "" if fits else f": {'; '.join(reasons)}"
        logger.debug("the rule '%s' %s%s '%s'%s", rule.name, "writes" if fits else "does not fit", where, name, reason)


def is_no_stage(root: Operation) -> bool:
    """Return whether a root is a nest that only rules for nests may fit; only called if logging is enabled."""
    return logger.isEnabledFor(logging.DEBUG) and bool(root.regions) and analyse(root) is None


def follow(
    versions: Sequence[Version], rules: Mapping[str, AnyRule], epilogue: Epilogue, machine: Machine
) -> AnyDecision:
    """Return the decision that a sequence specifies for a stage: rules by name, with numbers.

    Raises `DecisionError` if they do not fit.
    """
    combined = fuse_iters(epilogue)
    decision: AnyDecision | None = None
    for version in reversed(versions):
        rule = rules.get(version.rule)
        plan = None if rule is None else rule.plan(combined, machine)
        if rule is None or plan is None:
            raise DecisionError(f"the rule '{version.rule}' does not fit", hint=_fitting(rules, combined, machine))
        if decision is not None and rule.size is None:
            raise DecisionError(f"the rule '{rule.name}' does not depend on a size", expected="no other rule beside it")
        plan = plan.with_numbers(rule.decides, version.numbers)
        decision = _decision(rule, plan, epilogue, version.least or rule.least, decision)
    assert decision is not None
    return decision


def _fitting(rules: Mapping[str, AnyRule], epilogue: Epilogue, machine: Machine) -> str:
    fitting = [name for name, rule in rules.items() if rule.plan(epilogue, machine) is not None]
    return f"these do: {', '.join(fitting)}" if fitting else "no rule does"


def _decision(rule: StageRule[P], plan: P, epilogue: Epilogue, least: int, other: AnyDecision | None) -> Decision[P]:
    consumer = None if plan.leaves_epilogue else epilogue.consumer
    roots = [epilogue.stage.root] if consumer is None else [epilogue.stage.root, consumer.root]
    then = None if consumer is None else consumer.block.name_hint
    return Decision(rule, plan, roots, epilogue.stage.block.name_hint, then, least, other)
