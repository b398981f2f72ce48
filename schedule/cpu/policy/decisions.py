"""The source of decisions for a stage: the sequence's directive for its block, or the first rule that fits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from xdsl.ir import Operation

from ....diagnostics import TiraxError, unknown_name
from ....dialects.sched import RuleOp, SequenceOp
from ....dialects.tir import FuncOp, LoadOp
from ....ir.locations import location_of
from ..analysis.plan import DecisionError, Machine
from ..analysis.remarks import collect_remarks
from ..analysis.stages import Stage
from ..kernels.attention import emit_attention, plan_attention
from ..library.epilogue import Epilogue, find_epilogue
from ..library.inline import is_profitable
from .choices import AnyDecision, Decision, first_fit, follow, is_no_stage, log_nest
from .rules import NESTS, Nest, P, StageRule, rules

INLINE = "inline"

_ATTENTION = StageRule("attention", lambda epilogue, machine: None, emit_attention, ("queries", "keys"))
"""A rule for five stages at once, which is tried before all others."""


class Decisions:
    """The decisions for one function; `inlined` are the blocks that are inlined, in order."""

    def __init__(self, machine: Machine, sequence: SequenceOp | None = None):
        self._machine = machine
        self._rules = rules()
        self._by_name = {rule.name: rule for rule in self._rules}
        self._rules_of_block: dict[str, list[RuleOp]] = {}
        self._seen: dict[str, None] = {}
        self.inlined: list[str] = []
        for op in [] if sequence is None else sequence.rules:
            self._require_known(op)
            self._rules_of_block.setdefault(op.block_name.data, []).append(op)

    def _require_known(self, op: RuleOp) -> None:
        known = [*self._by_name, INLINE, _ATTENTION.name, *(nest.rule.name for nest in NESTS)]
        for version in op.versions:
            if version.rule not in known:
                raise unknown_name("rule", version.rule, known, location_of(op))

    def inlines(self, stage: Stage, readers: list[tuple[Stage, LoadOp]]) -> bool:
        """Return whether to inline a stage that can be inlined."""
        block = stage.block.name_hint
        inlines = self._is_next(INLINE, block)
        if inlines is None:
            inlines = is_profitable(stage, readers)
        elif inlines:
            self._pop_directive(block)
        if inlines:
            self.inlined.append(block)
        return inlines

    def attention(self, func: FuncOp) -> AnyDecision | None:
        """Return the decision for the attention that a function computes, or None if it computes none.

        If the sequence has rules but none for attention, they apply to the individual stages.
        """
        named = [version.rule for ops in self._rules_of_block.values() for op in ops for version in op.versions]
        if named and _ATTENTION.name not in named:
            return None
        with collect_remarks() as reasons:
            plan = plan_attention(func, self._machine)
        log_nest(_ATTENTION, func, plan is not None, reasons)
        if plan is None:
            return None
        stages = plan.attention.stages
        block = stages[0].block.name_hint
        plan = self._with_directive(_ATTENTION, plan, block)
        return Decision(_ATTENTION, plan, [stage.root for stage in stages], block, stages[-1].block.name_hint)

    def nest(self, root: Operation) -> AnyDecision | None:
        """Return the decision for a nest that is not a stage, or None if none of `NESTS` fits."""
        return next((decision for nest in NESTS if (decision := self._by(nest, root)) is not None), None)

    def _by(self, nest: Nest[Any], root: Operation) -> AnyDecision | None:
        with collect_remarks() as reasons:
            plan = nest.plan(root, self._machine)
        if plan is not None or is_no_stage(root):
            log_nest(nest.rule, root, plan is not None, reasons)
        block = "" if plan is None else plan.block.name_hint
        if plan is None or self._is_next(nest.rule.name, block) is False:
            return None
        return Decision(nest.rule, self._with_directive(nest.rule, plan, block), [root], block)

    def _with_directive(self, rule: StageRule[P], plan: P, block: str) -> P:
        """Return a plan with the numbers that the sequence specifies for the next stage of a block."""
        op = self._pop_directive(block)
        if op is None:
            return plan
        with _located(op):
            return plan.with_numbers(rule.decides, op.versions[0].numbers)

    def choose(self, stage: Stage, later: list[Stage]) -> AnyDecision | None:
        """Return the decision for a stage and its epilogue among the later stages, or None if no rule fits."""
        op = self._pop_directive(stage.block.name_hint)
        if op is not None:
            with _located(op):
                return follow(op.versions, self._by_name, _named_epilogue(op, stage, later), self._machine)
        epilogue = find_epilogue(stage, later) if stage.reduce else Epilogue(stage)
        if epilogue.consumer is not None and epilogue.consumer.block.name_hint in self._rules_of_block:
            epilogue = Epilogue(stage)
        decision = first_fit(self._rules, epilogue, self._machine)
        if decision is None and epilogue.consumer is not None:
            return first_fit(self._rules, Epilogue(stage), self._machine)
        return decision

    def require_all_followed(self) -> None:
        """Raise `NameLookupError` or `DecisionError` if a directive of the sequence does not belong to a stage."""
        left = [op for ops in self._rules_of_block.values() for op in ops]
        if not left:
            return
        block = left[0].block_name.data
        if block not in self._seen:
            raise unknown_name("block", block, self._seen, location_of(left[0]))
        raise DecisionError(
            f'there is no stage "{block}" left for this rule',
            location=location_of(left[0]),
            hint="each stage takes one rule; the stage behind `then` has none of its own",
        )

    def _is_next(self, rule: str, block: str) -> bool | None:
        """Return whether the sequence has `rule` for the next stage of a block; None if it has no directive for it."""
        self._seen[block] = None
        ops = self._rules_of_block.get(block)
        return ops[0].versions[0].rule == rule if ops else None

    def _pop_directive(self, block: str) -> RuleOp | None:
        """Remove and return the sequence's directive for the next stage of a block, or None."""
        self._seen[block] = None
        ops = self._rules_of_block.get(block)
        if not ops:
            return None
        op = ops.pop(0)
        if not ops:
            del self._rules_of_block[block]
        return op


def _named_epilogue(op: RuleOp, stage: Stage, later: list[Stage]) -> Epilogue:
    """Return a stage with the epilogue that the sequence names.

    Raises `DecisionError` if its epilogue is another one or none.
    """
    epilogue = find_epilogue(stage, later) if op.then is not None and stage.reduce else Epilogue(stage)
    block = None if epilogue.consumer is None else epilogue.consumer.block.name_hint
    if block != op.then:
        expected = "no block" if block is None else f'then "{block}"'
        raise DecisionError(
            f'block "{op.then}" does not finish the elements of "{stage.block.name_hint}"', expected=expected
        )
    return epilogue


@contextmanager
def _located(op: RuleOp) -> Iterator[None]:
    """Add the location of `op` to errors raised within the context."""
    try:
        yield
    except TiraxError as error:
        error.location = error.location or location_of(op)
        raise
