"""`simplify-scheduled`: `simplify`, of the functions that a schedule was given to (`tir.is_scheduled`).

Layouts that a schedule changes leave `lane // 16` and `lane % 16` in indices, which would be gathers. What the default
schedule writes has no such indices, and proving that costs a tenth of a build.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects import tir
from .simplify import Simplify
from .walk import is_scheduled


@dataclass(frozen=True)
class SimplifyScheduled(Simplify):
    """Simplify integer expressions and branches of scheduled functions."""

    name = "simplify-scheduled"

    def wants(self, func: tir.FuncOp) -> bool:
        return is_scheduled(func)
