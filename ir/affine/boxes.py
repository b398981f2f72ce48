"""Boxes of indices: exactly what a region is while variables run over their domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...dialects.sym.expr import SymExpr, Var
from ...dialects.sym.int_set import SymInterval
from ...dialects.sym.linear import linear_in
from .iter_map import IterMapLevel, NotAffineError, detect_iter_map

Range = tuple[SymExpr, SymExpr]
"""A first value and an extent."""


def exact_box(region: Sequence[Range], ranges: Mapping[Var, Range], condition: SymExpr) -> list[SymInterval] | None:
    """What is in `region` for the values of the variables for which `condition` holds; None where it is no box.

    Each integer of the box is in the region of some values. None also where that is not known.
    """
    firsts, extents = zip(*region, strict=True) if region else ((), ())
    if condition.constant == 1 and not _share_variables(firsts, ranges):
        alone = [_without_gaps(f, e, ranges) for f, e in zip(firsts, extents, strict=True)]
        if all(s is not None for s in alone):
            return [s for s in alone if s is not None]
    try:
        found = detect_iter_map(firsts, ranges, [condition], IterMapLevel.SURJECTIVE)
    except NotAffineError:
        return None
    out: list[SymInterval] = []
    for index, extent in zip(found.indices, extents, strict=True):
        size = extent
        for split in index.splits:
            step, many = split.scale.constant, extent.constant
            if step is None or step <= 0 or (step != 1 and (many is None or many < step)):
                return None
            size = size + (split.extent - 1) * step
        out.append(SymInterval(index.base, index.base + size - 1))
    return out


def _share_variables(exprs: Sequence[SymExpr], ranges: Mapping[Var, object]) -> bool:
    used = [v for e in exprs for v in e.free_vars() if v in ranges]
    return len(used) != len(set(used))


def _without_gaps(first: SymExpr, extent: SymExpr, ranges: Mapping[Var, Range]) -> SymInterval | None:
    """All integers between the ends, where the steps of no variable are longer than what is filled already."""
    variables = [v for v in first.free_vars() if v in ranges]
    found = linear_in(first, variables)
    filled = extent.constant
    if found is None or filled is None:
        return None
    slopes, low = found
    for slope, v in sorted(zip(slopes, variables, strict=True), key=lambda pair: abs(pair[0].constant or 0)):
        least, count = ranges[v]
        step, size = slope.constant, count.constant
        if step is None or size is None or size <= 0 or abs(step) > filled:
            return None
        low = low + least * step + min(step * (size - 1), 0)
        filled += abs(step) * (size - 1)
    return SymInterval(low, low + filled - 1)
