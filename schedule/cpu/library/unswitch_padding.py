"""Tiles in the interior of an image: they read no padding, so that no element is checked for it.

    if 1 <= i * rows and i * rows + rows + 2 <= N:
        for k: acc[r] += X[i * rows + r + k - 1] * W[k]
    else:
        for k: acc[r] += (X[i * rows + r + k - 1] if 1 <= i * rows + r + k <= N else 0) * W[k]

Conditions are conjunctions of comparisons of sums; a comparison holds for the full tile if it holds at the worst
corner. Parts that are invariant for a tile, such as those on image rows if tiles lie along columns, are checked
once per step of the reduction, unless the image is so large that most tiles are not at its border:

    for h:
        if 1 <= y + h <= H: for k: acc[r] += X[y + h - 1, i * rows + r + k - 1] * W[h, k]
        else: for k: acc[r] += 0 * W[h, k]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.ir import SSAValue

from ....dialects import tir
from ....dialects.sym.expr import Const, SymExpr
from ....ir.affine.values import conjuncts, is_fixed, sym_expr_of
from ...checks import least_of, slack_of
from ...loop_builder import Cloner, LoopBuilder
from ...rewrite import conjunction
from ..analysis.stages import Iter, Stage, tree

Range = tuple[SymExpr, SymExpr]
"""The first and the last value of an iterator."""


@dataclass(frozen=True)
class Interior:
    """The choices below an expression and the parts of their conditions, each with an expression that is
    non-negative iff it holds.

    All choices take their first branch if all parts hold.
    """

    choices: tuple[tir.IfThenElseOp, ...]
    parts: tuple[tuple[SSAValue, SymExpr], ...]

    def invariant(self, moving: Iterable[Iter]) -> Interior | None:
        """Return the parts that do not depend on the `moving` iterators; None if all or none do, or if there are
        several choices.
        """
        variables = {it.expr for it in moving}
        parts = tuple((part, bound) for part, bound in self.parts if not variables & set(bound.free_vars()))
        some = 0 < len(parts) < len(self.parts)
        return Interior(self.choices, parts) if some and len(self.choices) == 1 else None

    def without(self, other: Interior | None) -> Interior:
        """Return the parts that are not among those of another one."""
        return self if other is None else Interior(self.choices, tuple(p for p in self.parts if p not in other.parts))

    def uses(self, it: Iter) -> bool:
        """Return whether a part depends on an iterator."""
        return any(it.expr in bound.free_vars() for _, bound in self.parts)

    def holds(self, loops: LoopBuilder, ranges: Mapping[Iter, Range]) -> SSAValue | None:
        """Return the condition that all parts hold; None if it cannot be determined, or always holds.

        `ranges` are those of the iterators in a tile.
        """
        worst: list[SymExpr] = []
        for _, bound in self.parts:
            least = least_of(bound, {it.expr: ends for it, ends in ranges.items()})
            if (least.constant or 0) < 0 or {it.expr for it in ranges} & set(least.free_vars()):
                return None
            if least.constant is None and least not in worst:
                worst.append(least)

        def positive(bound: SymExpr) -> SSAValue:
            zero = loops.value(Const(0, bound.dtype), bound.dtype)
            return loops.op(tir.LeOp(zero, loops.value(bound, bound.dtype)))

        return conjunction(map(positive, worst), loops.insert)

    def select(self, cloner: Cloner, first: bool = True) -> None:
        """Replace every choice by its first branch, or by its second, in copies of `cloner`."""
        for choice in self.choices:
            region = choice.then_region if first else choice.else_region
            taken = cast(tir.YieldOp, region.block.last_op).value
            cloner.replace(choice.result, cloner(taken))


def interior_of(stage: Stage, value: SSAValue) -> Interior | None:
    """Return the choices that `value` depends on; None if there are none, or if their conditions use more than
    iterators.
    """
    choices = tuple(op for op in tree(value) if isinstance(op, tir.IfThenElseOp))
    parts: dict[tuple[SSAValue, SymExpr], None] = {}
    iterators = {it.var for it in stage.iters if not it.parts}
    for choice in choices:
        for part in conjuncts(choice.cond):
            bound = slack_of(sym_expr_of(part)) if isinstance(part.owner, tir.LeOp | tir.LtOp) else None
            if bound is None:
                return None
            parts[part, bound] = None
    used = {v.value for _, bound in parts for v in bound.free_vars()}
    known = all(value is None or value in iterators or is_fixed(value) for value in used)
    return Interior(choices, tuple(parts)) if choices and known else None


def range_of(first: SSAValue, count: int = 1) -> Range:
    """Return the range of `count` values from `first`."""
    begin = sym_expr_of(first)
    return begin, begin + (count - 1)
