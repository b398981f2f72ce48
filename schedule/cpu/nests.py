"""The rules for what is no stage, as it stores two elements or is made of statements: the first one that fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Operation

from .argreduce import emit_positions, plan_positions
from .epilogue import Epilogue
from .machine import Machine
from .multi_reduce import emit_together, plan_together
from .rules import Rule
from .scans import emit_scan, plan_scan
from .statements import emit_statements, plan_statements


@dataclass(frozen=True)
class Nest:
    """A rule for nests of loops, or for blocks of statements; its plans have the block that they are for, `block`."""

    rule: Rule
    plan: Callable[[Operation, Machine], Any]


def _no_stage(epilogue: Epilogue, machine: Machine) -> None:
    """Stages are written by the rules of `rules.RULES`."""


def _nest(name: str, plan: Callable[[Operation, Machine], Any], emit: Callable[..., None], *decides: str) -> Nest:
    return Nest(Rule(name, _no_stage, emit, decides), plan)


NESTS = (
    _nest("positions", plan_positions, emit_positions, "vectors"),
    _nest("together", plan_together, emit_together),
    _nest("scan", plan_scan, emit_scan),
    _nest("statements", plan_statements, emit_statements),
)
"""In the order in which they are tried."""
