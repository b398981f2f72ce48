"""Who decides for a stage: what a sequence says of its block, else the first rule that fits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from xdsl.ir import Operation

from ...diagnostics import TiraxError, unknown_name
from ...dialects.sched import RuleOp, SequenceOp
from ...dialects.tir import FuncOp, LoadOp
from ...ir.verification.verify import location_of
from .attention import emit_attention, plan_attention
from .choices import Choice, DecisionError, first_fit, said, with_numbers
from .epilogue import Epilogue, find_epilogue
from .inline import pays_inlined
from .machine import Machine
from .rules import NESTS, Nest, Rule, rules
from .stages import Stage

INLINE = "inline"

_ATTENTION = Rule("attention", lambda epilogue, machine: None, emit_attention, ("queries", "keys"))
"""For five stages at once: it is looked for before all others."""


class Decisions:
    """The decisions for one function; `inlined` are the blocks that are computed where they are read, in order."""

    def __init__(self, machine: Machine, sequence: SequenceOp | None = None):
        self._machine = machine
        self._rules = rules()
        self._by_name = {rule.name: rule for rule in self._rules}
        self._said: dict[str, list[RuleOp]] = {}
        self._seen: dict[str, None] = {}
        self.inlined: list[str] = []
        for op in [] if sequence is None else sequence.rules:
            self._require_known(op)
            self._said.setdefault(op.block_name.data, []).append(op)

    def _require_known(self, op: RuleOp) -> None:
        known = [*self._by_name, INLINE, _ATTENTION.name, *(nest.rule.name for nest in NESTS)]
        for version in op.versions:
            if version.rule not in known:
                raise unknown_name("rule", version.rule, known, location_of(op))

    def inlines(self, stage: Stage, readers: list[tuple[Stage, LoadOp]]) -> bool:
        """Whether a stage that can be computed where it is read is."""
        block = stage.block.name_hint
        wanted = self._is_next(INLINE, block)
        if wanted is None:
            wanted = pays_inlined(stage, readers)
        elif wanted:
            self._take(block)
        if wanted:
            self.inlined.append(block)
        return wanted

    def attention(self, func: FuncOp) -> Choice | None:
        """What is decided for the attention that a function computes; None where it computes none.

        Rules that are said of the function, but none for attention, are for its stages.
        """
        said = [version.rule for ops in self._said.values() for op in ops for version in op.versions]
        if said and _ATTENTION.name not in said:
            return None
        plan = plan_attention(func, self._machine)
        if plan is None:
            return None
        stages = plan.attention.stages
        block = stages[0].block.name_hint
        op = self._take(block)
        if op is not None:
            with _placed(op):
                plan = with_numbers(_ATTENTION, plan, op.versions[0].numbers)
        return Choice(_ATTENTION, plan, [stage.root for stage in stages], block, stages[-1].block.name_hint)

    def nest(self, root: Operation) -> Choice | None:
        """What is decided for what is no stage; None where none of `NESTS` fits."""
        return next((choice for nest in NESTS if (choice := self._by(nest, root)) is not None), None)

    def _by(self, nest: Nest, root: Operation) -> Choice | None:
        plan = nest.plan(root, self._machine)
        block = "" if plan is None else plan.block.name_hint
        if plan is None or self._is_next(nest.rule.name, block) is False:
            return None
        op = self._take(block)
        if op is not None:
            with _placed(op):
                plan = with_numbers(nest.rule, plan, op.versions[0].numbers)
        return Choice(nest.rule, plan, [root], block)

    def choose(self, stage: Stage, later: list[Stage]) -> Choice | None:
        """What is decided for a stage, with what follows it; None where no rule fits."""
        op = self._take(stage.block.name_hint)
        if op is not None:
            with _placed(op):
                return said(op.versions, self._by_name, _wanted_finish(op, stage, later), self._machine)
        epilogue = find_epilogue(stage, later) if stage.reduce else Epilogue(stage)
        if epilogue.consumer is not None and epilogue.consumer.block.name_hint in self._said:
            epilogue = Epilogue(stage)
        choice = first_fit(self._rules, epilogue, self._machine)
        if choice is None and epilogue.consumer is not None:
            return first_fit(self._rules, Epilogue(stage), self._machine)
        return choice

    def require_all_followed(self) -> None:
        """Raise `NameLookupError`, or `DecisionError`, where a rule was given for what is no stage."""
        left = [op for ops in self._said.values() for op in ops]
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
        """Whether `rule` is said of the next stage of a block; None where nothing is said."""
        self._seen[block] = None
        ops = self._said.get(block)
        return ops[0].versions[0].rule == rule if ops else None

    def _take(self, block: str) -> RuleOp | None:
        """What is said of the next stage of a block, which is said no more."""
        self._seen[block] = None
        ops = self._said.get(block)
        if not ops:
            return None
        op = ops.pop(0)
        if not ops:
            del self._said[block]
        return op


def _wanted_finish(op: RuleOp, stage: Stage, later: list[Stage]) -> Epilogue:
    """A stage with the epilogue that is said. Raises `DecisionError` where it has another one, or none."""
    epilogue = find_epilogue(stage, later) if op.then is not None and stage.reduce else Epilogue(stage)
    found = None if epilogue.consumer is None else epilogue.consumer.block.name_hint
    if found != op.then:
        expected = "no block" if found is None else f'then "{found}"'
        raise DecisionError(
            f'block "{op.then}" does not finish the elements of "{stage.block.name_hint}"', expected=expected
        )
    return epilogue


@contextmanager
def _placed(op: RuleOp) -> Iterator[None]:
    """What is raised inside says where `op` was written."""
    try:
        yield
    except TiraxError as error:
        error.location = error.location or location_of(op)
        raise
