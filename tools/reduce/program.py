"""A program made smaller by all rules."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from . import numbers, relax_rules, tir_rules
from .predicates import Predicate
from .search import shrunk

RULES = (*relax_rules.RULES, *tir_rules.RULES, *numbers.RULES)


@dataclass
class Reduction:
    """Asks a predicate for the sign that the program itself has, no program twice; `asked` counts."""

    predicate: Predicate
    sign: str
    asked: int = 0

    def __post_init__(self) -> None:
        self._known: dict[str, bool] = {}

    def holds(self, module: ModuleOp) -> bool:
        """Whether a program has the fault."""
        text = str(module)
        if text not in self._known:
            self.asked += 1
            self._known[text] = self.predicate(module) == self.sign
        return self._known[text]

    def run(self, module: ModuleOp, seconds: float) -> ModuleOp:
        """The smallest program that is reached in time."""
        return shrunk(module, RULES, self.holds, seconds)
