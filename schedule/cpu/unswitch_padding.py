"""Tiles in the middle of an image: nothing that they read is padding, so that no element asks whether it is.

    if 1 <= i * rows and i * rows + rows + 2 <= N:
        for k: acc[r] += X[i * rows + r + k - 1] * W[k]
    else:
        for k: acc[r] += (X[i * rows + r + k - 1] if 1 <= i * rows + r + k <= N else 0) * W[k]

Conditions are conjunctions of comparisons of sums; one holds for a whole tile where it does at the worst corner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.ir import SSAValue

from ...dialects import tir
from ...dialects.sym.expr import Const, SymExpr
from ...ir.affine.values import conjuncts, sym_expr_of
from ..checks import least_of, slack_of
from ..loop_builder import Cloner, LoopBuilder
from ..rewrite import joined
from .stages import Iter, Stage, tree

Range = tuple[SymExpr, SymExpr]
"""The first and the last value of an iterator."""


@dataclass(frozen=True)
class Interior:
    """The choices below an expression, and what is not negative where all of them take their first way."""

    choices: tuple[tir.IfThenElseOp, ...]
    bounds: tuple[SymExpr, ...]

    def holds(self, loops: LoopBuilder, ranges: Mapping[Iter, Range]) -> SSAValue | None:
        """The condition that every choice takes its first way; None where that cannot be known, or is always so.

        `ranges` are those of the iterators in a tile.
        """
        worst: list[SymExpr] = []
        for bound in self.bounds:
            least = least_of(bound, {it.expr: ends for it, ends in ranges.items()})
            if (least.constant or 0) < 0 or {it.expr for it in ranges} & set(least.free_vars()):
                return None
            if least.constant is None and least not in worst:
                worst.append(least)

        def positive(bound: SymExpr) -> SSAValue:
            zero = loops.value(Const(0, bound.dtype), bound.dtype)
            return loops.op(tir.LeOp(zero, loops.value(bound, bound.dtype)))

        return joined(map(positive, worst), loops.insert)

    def take(self, cloner: Cloner) -> None:
        """In what `cloner` copies, every choice is its first way."""
        for choice in self.choices:
            taken = cast(tir.YieldOp, choice.then_region.block.last_op).value
            cloner.replace(choice.result, cloner(taken))


def interior_of(stage: Stage, value: SSAValue) -> Interior | None:
    """The choices that `value` depends on; None where there are none, or where they ask for more than iterators."""
    choices = tuple(op for op in tree(value) if isinstance(op, tir.IfThenElseOp))
    bounds: dict[SymExpr, None] = {}
    for choice in choices:
        for part in conjuncts(choice.cond):
            bound = slack_of(sym_expr_of(part)) if isinstance(part.owner, tir.LeOp | tir.LtOp) else None
            if bound is None:
                return None
            bounds[bound] = None
    used = {v.value for bound in bounds for v in bound.free_vars()} - {None}
    return (
        Interior(choices, tuple(bounds)) if choices and used <= {it.var for it in stage.iters if not it.parts} else None
    )


def range_of(first: SSAValue, count: int = 1) -> Range:
    """So many values from `first` on."""
    begin = sym_expr_of(first)
    return begin, begin + (count - 1)
