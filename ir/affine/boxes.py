"""Boxes of indices: the exact set that a region covers while variables range over their domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Op, SymExpr, Var
from ...dialects.sym.int_set import EVERYTHING, SymInterval
from ...dialects.sym.linear import conjuncts, linear_in, not_negative
from ...dialects.sym.operators import OPS
from .iter_map import IterMapLevel, NotAffineError, detect_iter_map, limits_of

Range = tuple[SymExpr, SymExpr]
"""A first value and an extent."""


def exact_box(region: Sequence[Range], ranges: Mapping[Var, Range], condition: SymExpr) -> list[SymInterval] | None:
    """Return the box that `region` covers for the variable values that satisfy `condition`; None if it is not a box.

    Each integer of the box is in the region for some values. Returns None also if that cannot be proved. Variables that
    the region does not mention have some value in their domain.
    """
    firsts, extents = zip(*region, strict=True) if region else ((), ())
    conditions = _undecided(condition, ranges)
    if not _share_variables(firsts, ranges):
        alone = [_without_gaps(f, e, ranges) for f, e in zip(firsts, extents, strict=True)]
        gapless = [s for s in alone if s is not None]
        limits = _limits_of_indices(conditions, firsts, extents, ranges)
        if len(gapless) == len(alone) and limits is not None:
            return [s.intersect(limit, Analyzer()) for s, limit in zip(gapless, limits, strict=True)]
    try:
        iter_map = detect_iter_map(firsts, ranges, conditions, IterMapLevel.SURJECTIVE)
        if not _all_hold(conditions, firsts, ranges):
            return None
    except NotAffineError:
        return None
    out: list[SymInterval] = []
    for index, extent in zip(iter_map.indices, extents, strict=True):
        size = extent
        for split in index.splits:
            step, many = split.scale.constant, extent.constant
            if step is None or step <= 0 or (step != 1 and (many is None or many < step)):
                return None
            size = size + (split.extent - 1) * step
        out.append(SymInterval(index.base, index.base + size - 1))
    return out


def _undecided(condition: SymExpr, ranges: Mapping[Var, Range]) -> list[SymExpr]:
    """Return the conjuncts of `condition` that do not hold for all values of the variables."""
    known = Analyzer()
    for v, (least, extent) in ranges.items():
        known.bind_range(v, least, extent)
    return [c for c in conjuncts(condition) if c.constant != 1 and not known.can_prove(c)]


def _all_hold(conditions: Sequence[SymExpr], firsts: Sequence[SymExpr], ranges: Mapping[Var, Range]) -> bool:
    """Return whether each condition cuts off the end of an iterator that `firsts` count."""
    limits = [limits_of([c]) for c in conditions]
    if any(len(limit) != 1 for limit in limits):
        return False
    if any(v in ranges for ((_, upper),) in limits for v in upper.free_vars()):
        return False
    limited = [e for ((e, _),) in limits]
    sums = detect_iter_map([*firsts, *limited], ranges, conditions, IterMapLevel.NO_CHECK).indices
    counted = [s for total in sums[: len(firsts)] for s in total.splits]
    for ((_, upper),), total in zip(limits, sums[len(firsts) :], strict=True):
        if len(total.splits) != 1 or total.base.constant != 0 or total.splits[0].mark.extent != upper:
            return False
        mark = total.splits[0].mark
        if not any(s.mark is mark and s.lower.constant == 1 and s.extent == mark.extent for s in counted):
            return False
    return True


def _limits_of_indices(
    conditions: Sequence[SymExpr], firsts: Sequence[SymExpr], extents: Sequence[SymExpr], ranges: Mapping[Var, Range]
) -> list[SymInterval] | None:
    """Return the interval of each index under the conditions; None unless each is about one single-valued index."""
    limits = [EVERYTHING] * len(firsts)
    for difference in map(not_negative, conditions):
        limit = None if difference is None else _limited_index(difference, firsts, ranges)
        if limit is None or extents[limit[0]].constant != 1:
            return None
        limits[limit[0]] = limits[limit[0]].intersect(limit[1], Analyzer())
    return limits


def _limited_index(
    difference: SymExpr, firsts: Sequence[SymExpr], ranges: Mapping[Var, Range]
) -> tuple[int, SymInterval] | None:
    """Return the index that `0 <= difference` bounds, and its interval; None if the rest depends on the variables."""
    for number, first in enumerate(firsts):
        for rest, limit in (
            (difference - first, lambda rest: SymInterval(rest * -1, None)),
            (difference + first, lambda rest: SymInterval(None, rest)),
        ):
            if not any(v in ranges for v in rest.free_vars()):
                return number, limit(rest)
    return None


def _share_variables(exprs: Sequence[SymExpr], ranges: Mapping[Var, object]) -> bool:
    used = [v for e in exprs for v in e.free_vars() if v in ranges]
    return len(used) != len(set(used))


def _without_gaps(first: SymExpr, extent: SymExpr, ranges: Mapping[Var, Range]) -> SymInterval | None:
    """Return the interval of an index that takes all integers between its ends; None if it may have gaps.

    There are no gaps if no variable's step exceeds the range covered by the smaller steps. Quotients of such integers
    by a constant have no gaps either.
    """
    if isinstance(first, Op) and first.kind == "floordiv" and extent.constant == 1:
        divisor, inner = first.args[1].constant, _without_gaps(first.args[0], extent, ranges)
        if not divisor or divisor < 0 or inner is None or inner.low is None or inner.high is None:
            return None
        return SymInterval(OPS["floordiv"](inner.low, first.args[1]), OPS["floordiv"](inner.high, first.args[1]))
    variables = [v for v in first.free_vars() if v in ranges]
    linear = linear_in(first, variables)
    filled = extent.constant
    if linear is None or filled is None:
        return None
    slopes, low = linear
    for slope, v in sorted(zip(slopes, variables, strict=True), key=lambda pair: abs(pair[0].constant or 0)):
        least, count = ranges[v]
        step, size = slope.constant, count.constant
        if step is None or size is None or size <= 0 or abs(step) > filled:
            return None
        low = low + least * step + min(step * (size - 1), 0)
        filled += abs(step) * (size - 1)
    return SymInterval(low, low + filled - 1)
