"""Branches whose condition is computed when the program runs.

Three things may be: both sides give tensors of the same ranks, and the program branches; a side contradicts itself for
the shapes of the model's inputs, so that each run that takes it fails: that run fails at the condition, and the other
side is all; the sides give other ranks (a dimension that is taken away only where it is 1), so that what follows has no
type: then what follows is part of both sides (`Scope.run`), and may in turn contradict one of them; in a graph whose
values are those of a node (a branch that is known at import), what follows that node is, too.
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
    """The two `sides` of a branch, taken where `condition` holds and where not, give tensors of other ranks."""

    def __init__(self, condition: Any, sides: Sequence[Side]):
        self.condition = condition
        self.sides = sides
        super().__init__("the sides of a branch differ")


def either(builder: BlockBuilder, condition: Any, then: Side, other: Side) -> list[Expr]:
    """What `then()` gives where `condition`, a bool scalar, holds, else what `other()` does.

    Raises `RanksDiffer` where they give other ranks, `ModelError` where neither side can be.
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
    """A run where the condition does not hold ends with what is wrong then."""
    text = f"for inputs of these shapes the model takes a branch that cannot be: {error.message}"
    builder.mark_impure()
    builder.emit(op("assert_op", condition, format=text.replace("{", "{{").replace("}", "}}")))


def _is_contradiction(error: ModelError) -> bool:
    """Whether it says that the model is wrong for these shapes, not that something is not known or not supported."""
    return type(error) is ModelError and isinstance(error.__cause__, ShapeError | None)
