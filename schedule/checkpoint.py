"""What a schedule keeps so that a step that is refused leaves everything as it was.

A function is copied before the first step on it; when a step is refused the copy takes its place, and the steps that
were taken in between are done anew. So the steps that succeed, which are most, do not pay for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from ..dialects.sched import Instruction
from .errors import function_of

_MOST_STEPS = 32
"""After so many a new copy is taken: doing them anew should not take long."""


class Checkpoint:
    """The functions that steps work on as they were, what handles stood for, and the steps taken since."""

    def __init__(self, given: Mapping[str, Any], values: Mapping[SSAValue, Any]):
        self.funcs = _functions(given)
        self.steps: list[Instruction] = []
        self._before = [list(f.walk()) for f in self.funcs]
        self._copies = [f.clone() for f in self.funcs]
        self._values = dict(values)

    def serves(self, given: Mapping[str, Any]) -> bool:
        """Whether all that a step works on is kept here."""
        return len(self.steps) < _MOST_STEPS and all(f in self.funcs for f in _functions(given))

    def restore(self) -> dict[SSAValue, Any]:
        """Put the copies in the functions' places; gives what handles stand for. The checkpoint is used up."""
        twins: dict[Operation, Operation] = {}
        for func, before, copy in zip(self.funcs, self._before, self._copies, strict=True):
            twins.update(zip(before, copy.walk(), strict=True))
            block = func.parent
            assert block is not None
            block.insert_op_before(copy, func)
            func.detach()
        return {k: twins.get(v, v) if isinstance(v, Operation) else v for k, v in self._values.items()}


def _functions(given: Mapping[str, Any]) -> list[Operation]:
    """The functions that the arguments of a step are in."""
    found = map(function_of, _operations(list(given.values())))
    return list(dict.fromkeys(f for f in found if f is not None))


def _operations(values: Sequence[Any]) -> list[Operation]:
    found: list[Operation] = []
    for v in values:
        if isinstance(v, Operation):
            found.append(v)
        elif isinstance(v, list):
            found += _operations(v)
    return found
