"""The rules for what is no stage, as it stores two elements or is made of statements: the first one that fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Operation

from .argreduce import emit_argreduce, plan_argreduce
from .epilogue import Epilogue
from .machine import Machine
from .multi_reduce import emit_multi_reduce, plan_multi_reduce
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
    _nest("argreduce", plan_argreduce, emit_argreduce, "vectors"),
    _nest("multi_reduce", plan_multi_reduce, emit_multi_reduce),
    _nest("scan", plan_scan, emit_scan),
    _nest("statements", plan_statements, emit_statements),
)
"""In the order in which they are tried."""
