"""Reduce a program by all rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from . import constants, numbers, relax_rules, tir_rules
from .predicates import Predicate
from .search import shrunk

RULES = (*relax_rules.RULES, *tir_rules.RULES, *constants.RULES, *numbers.RULES)


@dataclass
class Reduction:
    """Searches for smaller programs with the original's signature, in `jobs` processes; `evaluated` counts programs."""

    predicate: Predicate
    sign: str
    jobs: int = 1
    evaluated: int = 0

    def __post_init__(self) -> None:
        self._known: dict[str, bool] = {}

    def holds(self, modules: Sequence[ModuleOp]) -> list[bool]:
        """Return which programs have the fault."""
        texts = [str(module) for module in modules]
        new = {text: module for text, module in zip(texts, modules, strict=True) if text not in self._known}
        self.evaluated += len(new)
        signs = self.predicate(list(new.values())) if new else ()
        self._known.update(zip(new, (sign == self.sign for sign in signs), strict=True))
        return [self._known[text] for text in texts]

    def run(self, module: ModuleOp, seconds: float) -> ModuleOp:
        """Return the smallest program reached in time."""
        return shrunk(module, RULES, self.holds, seconds, self.jobs)
