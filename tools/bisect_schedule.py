"""Find the first decision of a schedule that changes the results of a tensor function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from typing import Protocol

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from ..dialects import tir
from ..dialects.sched import RuleOp, SequenceOp
from ..ir.locations import location_of
from ..schedule.cpu.analysis.plan import Machine
from ..schedule.cpu.library.merge_loops import merge_loops
from ..schedule.cpu.policy.choices import AnyDecision
from ..schedule.cpu.policy.decisions import Decisions
from ..schedule.cpu.policy.default_schedule import DefaultSchedule, decided, pop_sequences
from ..schedule.schedule import ApplySchedule
from ..script.mlir_text import reading_context
from ..target import Target
from ..transforms.tir.walk import functions, is_scheduled, remove_dead
from .checking import plain_name


class Steps(Protocol):
    """A schedule as a list of steps: apply the first `number` of them to a copy, and describe a step."""

    @property
    def texts(self) -> list[str]: ...

    def after(self, number: int) -> ModuleOp: ...


@dataclass(frozen=True)
class _Rules:
    """`default-schedule` of one function: the rules that it applies, then the fusion of loops."""

    before: ModuleOp
    target: str
    function: str

    @property
    def texts(self) -> list[str]:
        _, decisions = self._decisions()
        rules = [str(RuleOp(d.block, d.versions, d.then)) for d in decisions]
        return [*rules, "neighbouring loops are merged"]

    def after(self, number: int) -> ModuleOp:
        module, decisions = self._decisions()
        for decision in decisions[:number]:
            decision.apply()
        for func in self._functions(module):
            if number > len(decisions):
                merge_loops(func)
            remove_dead(func)
        return module

    def _decisions(self) -> tuple[ModuleOp, list[AnyDecision]]:
        """Return a copy, and the decisions for it, none of them applied."""
        module, machine = self.before.clone(), Machine.of(Target(self.target))
        sequences = pop_sequences(module)
        chosen = [
            decision
            for func in self._functions(module)
            for decision in decided(func, Decisions(machine, sequences.get(func.sym_name.data)))
        ]
        return module, chosen

    def _functions(self, module: ModuleOp) -> list[tir.FuncOp]:
        return [f for f in functions(module) if plain_name(f) == self.function and not is_scheduled(f)]


@dataclass(frozen=True)
class _Instructions:
    """`apply-schedule`: the instructions of the sequences that name no function, in order."""

    before: ModuleOp

    @property
    def texts(self) -> list[str]:
        ops = _instructions(self.before)
        return [_text(op) + (f" at {place}" if (place := location_of(op)) else "") for op in ops]

    def after(self, number: int) -> ModuleOp:
        module = self.before.clone()
        for op in reversed(_instructions(module)[number:]):
            op.detach()
            op.erase()
        ApplySchedule().apply(reading_context(), module)
        return module


def _instructions(module: ModuleOp) -> list[Operation]:
    return [
        op for s in module.body.block.ops if isinstance(s, SequenceOp) and s.function is None for op in s.body.block.ops
    ]


def _text(op: Operation) -> str:
    stream = StringIO()
    Printer(stream).print_op(op)
    return stream.getvalue().partition(" = ")[2] if op.results else stream.getvalue()


def first_wrong_step(
    before: ModuleOp, step: ModulePass, function: str, differs: Callable[[ModuleOp], bool]
) -> str | None:
    """Describe the first decision after which `differs` is true of the module; None if the pass is not a schedule."""
    steps: Steps
    if isinstance(step, DefaultSchedule):
        steps = _Rules(before, step.target, function)
    elif isinstance(step, ApplySchedule):
        steps = _Instructions(before)
    else:
        return None
    texts = steps.texts
    at = _first(len(texts), lambda number: differs(steps.after(number)))
    if at is None:
        return "no decision alone: all of them together do it"
    return f"{at} of {len(texts)}, {texts[at - 1]}" if at else "none yet: what is done before the first one"


def _first(count: int, wrong: Callable[[int], bool]) -> int | None:
    """Return the least number up to `count` for which the monotonic predicate `wrong` is true, or None."""
    if wrong(0):
        return 0
    if not wrong(count):
        return None
    right, bad = 0, count
    while bad - right > 1:
        middle = (right + bad) // 2
        right, bad = (right, middle) if wrong(middle) else (middle, bad)
    return bad
