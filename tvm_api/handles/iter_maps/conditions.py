"""Conditions on iterators as limits of expressions: `lower <= e < upper`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ....handles.tir import prim_expr as tx
from ....handles.tir.domains import Range
from ....handles.tir.expr_kinds import class_name, expr_node
from ....handles.tir.expr_trees import children
from ....handles.tir.prim_expr import PrimExpr
from ....ir.origins import origin
from ..arith.analyzer import Analyzer

_COMPARISONS = {"LT": (False, False), "LE": (False, True), "GT": (True, False), "GE": (True, True)}
"""Whether the left side is the greater one, and whether both sides may be equal."""


@dataclass(frozen=True)
class Limit:
    """`lower <= e < upper`, as far as they are known."""

    e: PrimExpr
    lower: PrimExpr | None
    upper: PrimExpr | None

    @property
    def size(self) -> int:
        """The number of nodes of the expression: limits of smaller ones come first."""
        count, todo = 0, [self.e.ssa]
        while todo:
            count += 1
            todo += children(todo.pop())
        return count


def limits_of(predicate: PrimExpr, iters: dict[PrimExpr, Range]) -> list[Limit] | None:
    """Return the limits in a conjunction, or None if it has another condition. Limits of iterators narrow `iters`."""
    out: list[Limit] = []
    rest: PrimExpr | None = expr_node(predicate.ssa)
    while rest is not None:
        comparison, rest = _taken(rest)
        if comparison is None:
            return None
        limit = _limit(comparison, iters)
        if limit is not None:
            _note(limit, iters, out)
    return out


def _taken(e: PrimExpr) -> tuple[PrimExpr | None, PrimExpr | None]:
    """Return a comparison of integers of a conjunction and the other part; None and None if it has another form."""
    parts = [e.part_of("b"), e.part_of("a")] if class_name(e) == "And" else []
    for kind in _COMPARISONS:
        for part, other in ((parts[0], parts[1]), (parts[1], parts[0])) if parts else ((e, None),):
            if class_name(part) == kind:
                return (part, other) if _of_integers(part) else (None, None)
    return None, None


def _of_integers(e: PrimExpr) -> bool:
    return all(e.part_of(name).dtype.startswith(("int", "uint")) for name in "ab")


def _note(limit: Limit, iters: dict[PrimExpr, Range], out: list[Limit]) -> None:
    own = next((v for v in iters if origin(v.ssa) is origin(limit.e.ssa)), None)
    if own is None:
        if class_name(limit.e) != "Var":
            out.append(limit)
        return
    domain = iters[own]
    first, last = domain.min, domain.min + domain.extent
    first = first if limit.lower is None else tx.maximum(first, limit.lower)
    last = last if limit.upper is None else tx.minimum(last, limit.upper)
    iters[own] = Range(first, last)


def uses(e: PrimExpr, iters: Mapping[PrimExpr, Range]) -> bool:
    """Return whether an expression uses one of the iterators."""
    own = {origin(v.ssa) for v in iters}
    todo = [e.ssa]
    while todo:
        node = expr_node(todo.pop())
        if origin(node.ssa) in own:
            return True
        todo += children(node.ssa)
    return False


def _limit(comparison: PrimExpr, iters: Mapping[PrimExpr, Range]) -> Limit | None:
    """Return the limit that a comparison is, or None if it uses no iterator."""
    left, right = comparison.part_of("a"), comparison.part_of("b")
    greater, equal = _COMPARISONS[class_name(comparison)]
    if not uses(left, iters) and not uses(right, iters):
        return None
    if not uses(left, iters):
        left, right, greater = right, left, not greater
    elif uses(right, iters):
        left, right = _sides(left - right, iters)
    if greater:
        return Limit(left, right if equal else right + 1, None)
    return Limit(left, None, right + 1 if equal else right)


def _sides(difference: PrimExpr, iters: Mapping[PrimExpr, Range]) -> tuple[PrimExpr, PrimExpr]:
    """Return the terms of a difference with iterators, and the others on the other side of the comparison."""
    zero = tx.const(0, difference.dtype)
    moving, fixed = zero, zero
    todo = [(expr_node(difference.ssa), True)]
    while todo:
        term, positive = todo.pop()
        kind = class_name(term)
        if kind in ("Add", "Sub"):
            todo += [(term.part_of("b"), positive == (kind == "Add")), (term.part_of("a"), positive)]
        elif uses(term, iters):
            moving = moving + term if positive else moving - term
        else:
            fixed = fixed - term if positive else fixed + term
    rules = Analyzer()
    return expr_node(rules.simplify(moving).ssa), rules.simplify(fixed)


__all__ = ["Limit", "limits_of", "uses"]
