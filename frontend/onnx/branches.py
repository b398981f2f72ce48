"""Branches whose condition is computed at run time.

There are three cases. If both sides return tensors of the same ranks, the program branches. If a side
contradicts itself for the shapes of the model's inputs, every run that takes it must fail: the program
checks the condition and contains only the other side. If the sides return different ranks (for instance
because a dimension is squeezed only if it is 1), the values after the branch have no common type: the rest
of the graph then becomes part of both sides (`Scope.run`), where it may contradict one of them in turn. In
a graph whose outputs are the results of a node (a branch taken at import), the nodes after that node belong
to the rest as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...diagnostics import ShapeError
from ...handles.relax.expr import Expr
from ..block_builder import BlockBuilder
from ..importing.errors import ModelError
from .values import Value, op

Side = Callable[[], Sequence[Value]]


class RanksDiffer(Exception):
    """The two `sides` of a branch on `condition` return tensors of different ranks."""

    def __init__(self, condition: Any, sides: Sequence[Side]):
        self.condition = condition
        self.sides = sides
        super().__init__("the sides of a branch differ")


def either(builder: BlockBuilder, condition: Any, then: Side, other: Side) -> list[Expr]:
    """Emit a branch with the results of `then()` if the bool scalar `condition` is true, else those of `other()`.

    Raises `RanksDiffer` if their ranks differ, and `ModelError` if neither side is possible.
    """
    kinds: list[list[tuple[int | None, Any]]] = []
    failed: list[tuple[bool, ModelError]] = []

    def run_side(side: Side, holds: bool) -> Callable[[], Sequence[Value]]:
        def step() -> Sequence[Value]:
            try:
                values = side()
            except ModelError as error:
                if _is_contradiction(error):
                    failed.append((holds, error))
                raise
            kinds.append([(v.type.rank, v.type.element) for v in values])
            if len(kinds) == 2 and kinds[0] != kinds[1]:
                raise RanksDiffer(condition, [then, other])
            return values

        return step

    try:
        return builder.if_then_else(condition, run_side(then, True), run_side(other, False))
    except ModelError as error:
        if not failed or failed[-1][1] is not error:
            raise
    holds, error = failed[-1]
    _require(builder, op("logical_not", condition) if holds else condition, error)
    return [v.expr for v in (other if holds else then)()]


def _require(builder: BlockBuilder, condition: Any, error: ModelError) -> None:
    """Emit a run-time check of the condition, which fails with the message of `error`."""
    text = f"for inputs of these shapes the model takes a branch that cannot be: {error.message}"
    builder.mark_impure()
    builder.emit(op("assert_op", condition, format=text.replace("{", "{{").replace("}", "}}")))


def _is_contradiction(error: ModelError) -> bool:
    """Return whether an error means that the model is invalid for these shapes, not merely unknown or unsupported."""
    return type(error) is ModelError and isinstance(error.__cause__, ShapeError | None)
