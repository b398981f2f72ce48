"""The decisions of the default schedule for each function of a module, with the reasons for rejected rules."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ...dialects.sched import SequenceOp
from ...schedule.cpu.analysis.plan import Machine
from ...schedule.cpu.policy.default_schedule import planned
from ...target import Target
from ...transforms.tir.walk import functions, is_scheduled

_logger = logging.getLogger("tirax.schedule")


def decisions_of(module: ModuleOp, target: Target) -> Iterator[dict[str, Any]]:
    """Yield for each function `f` its `rules`, as `plan-schedule` writes them, and `why`, the remarks of the rules
    tried.

    `given` is true if the schedule is the user's: then nothing is decided.
    """
    machine = Machine.of(target)
    there = {op.function_name: op for op in module.body.block.ops if isinstance(op, SequenceOp)}
    for function in functions(module):
        name = function.sym_name.data
        if is_scheduled(function) or name in there:
            rules = [str(rule) for rule in there[name].rules] if name in there else []
            yield {"f": name, "rules": rules, "why": [], "given": True}
        else:
            with _captured_remarks() as why:
                rules = [str(rule) for rule in planned(function, machine).rules]
            yield {"f": name, "rules": rules, "why": why, "given": False}


class _List(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@contextmanager
def _captured_remarks() -> Generator[list[str]]:
    """Capture the remarks of schedule rules, without passing them to other log handlers."""
    handler, others = _List(), list(_logger.handlers)
    level, propagate = _logger.level, _logger.propagate
    _logger.handlers, _logger.propagate = [handler], False
    _logger.setLevel(logging.DEBUG)
    try:
        yield handler.messages
    finally:
        _logger.handlers, _logger.propagate = others, propagate
        _logger.setLevel(level)
