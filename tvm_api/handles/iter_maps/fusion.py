"""Fusion of splits: a sum that counts without gaps, or with the gaps that a condition leaves, is one iterator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ....handles.tir import prim_expr as tx
from ....handles.tir.prim_expr import PrimExpr
from ....ir.affine.iter_map import IterMapLevel
from ..arith.analyzer import Analyzer
from .nodes import IterMark, IterSplitExpr, IterSumExpr, factors_of, is_one, is_zero, product_of, same


@dataclass
class _Fusion:
    """A fusion: its splits as they stand in sums, the mark that counts them, and the first value of the mark."""

    flat: IterSumExpr
    mark: IterMark
    offset: PrimExpr


class _Gap(Exception):
    """The splits of a sum leave gaps or overlap."""


@dataclass
class Fusions:
    """The fusions of one detection: sums of the same splits share a mark, and conditions limit its extent."""

    rules: Analyzer
    level: IterMapLevel
    known: list[_Fusion] = field(default_factory=list[_Fusion])
    limited: list[IterSumExpr] = field(default_factory=list[IterSumExpr])
    """The splits that conditions limit, in the order of the conditions."""

    def _find(self, flat: IterSumExpr) -> _Fusion | None:
        return next((f for f in self.known if f.flat.is_same(flat)), None)

    def limit(self, total: IterSumExpr, lower: PrimExpr | None, upper: PrimExpr | None) -> bool:
        """Limit a sum to values from `lower` to before `upper`. Returns False if it is no single iterator."""
        base = total.base
        if not is_zero(base):
            total = IterSumExpr(total.args, tx.const(0, base.dtype))
            lower = None if lower is None else lower - base
            upper = None if upper is None else upper - base
        fused = self.fuse(total, allow_single=False)
        if fused is None or not is_one(fused.args[0].scale):
            return False
        mark = fused.args[0].source
        fusion = next(f for f in self.known if f.mark is mark)
        first = fusion.offset
        last = first + mark.extent
        moved = tx.const(0, first.dtype)
        if lower is not None:
            greater = tx.maximum(lower, first)
            moved, first = greater - first, greater
        if upper is not None:
            last = upper if self.rules.can_prove(tx.less_equal(upper, last)) else tx.minimum(upper, last)
        source = mark.source
        if not is_zero(moved) and isinstance(source, IterSumExpr):
            source = IterSumExpr(source.args, source.base - moved)
        fusion.mark, fusion.offset = IterMark(source, last - first), first
        self.limited.append(fusion.flat)
        return True

    def limits_agree(self) -> bool:
        """Return whether each two limited sums have either no split in common, or all splits of the smaller one."""
        for k, small in enumerate(self.limited):
            for large in self.limited[k + 1 :]:
                shared = {any(a.is_digit_of(b) and same(a.scale, b.scale) for b in large.args) for a in small.args}
                if len(shared) > 1:
                    return False
        return True

    def combined(self, total: IterSumExpr) -> IterSumExpr | None:
        """Return a sum with adjacent digits of a mark as one split; None if all marks differ.

        `x // (c * s) % m * s + x // c % s` is `x // c % (m * s)`.
        """
        counts: dict[int, int] = {}
        for split in total.args:
            counts[id(split.source)] = counts.get(id(split.source), 0) + 1
        if all(n == 1 for n in counts.values()):
            return None
        left = list(range(len(total.args)))
        out: list[IterSplitExpr] = []
        while left:
            end = left[-1]
            split = total.args[end]
            if counts[id(split.source)] == 1:
                left.remove(end)
                out.append(split)
                continue
            candidates = [k for k in left if total.args[k].source is split.source]
            at = self._least(total.args, candidates)
            left.remove(at)
            out.append(self._joined(total.args, at, left, end))
        return IterSumExpr(out[::-1], total.base)

    def _joined(self, args: Sequence[IterSplitExpr], at: int, left: list[int], end: int) -> IterSplitExpr:
        """Return the digits that continue `args[at]` as one split; they are removed from `left`."""
        split = args[at]
        while True:
            near = [k for k in left if k <= end and args[k].source is split.source]
            above = self._with_scale(args, near, product_of(split.dtype, split.extent, split.scale))
            if above is None:
                return split
            lower = product_of(split.dtype, split.lower_factor, split.extent)
            if not self.rules.can_prove_equal(args[above].lower_factor, lower):
                return split
            left.remove(above)
            split = split.replaced(extent=product_of(split.dtype, args[above].extent, split.extent))

    def _least(self, args: Sequence[IterSplitExpr], candidates: Sequence[int]) -> int:
        """Return the split with the smallest scale: a constant one, with a unit extent if there is a choice.

        If all scales are symbolic, that with the fewest factors.
        """
        best: int | None = None
        for k in reversed(candidates):
            value = args[k].scale.constant
            if value is None:
                continue
            least = None if best is None else args[best].scale.constant
            unit = best is not None and is_one(args[k].extent) and not is_one(args[best].extent)
            if least is None or value < least or (value == least and unit):
                best = k
        fewest = 0
        for k in reversed(candidates):
            factors = len(factors_of(args[k].scale))
            if best is None or factors < fewest:
                best, fewest = k, factors
        if best is None:
            raise _Gap
        return best

    def _with_scale(self, args: Sequence[IterSplitExpr], candidates: Sequence[int], scale: PrimExpr) -> int | None:
        """Return the last split with a scale, one of unit extent first: it does not change the next scale."""
        equal = [k for k in reversed(candidates) if self.rules.can_prove_equal(args[k].scale, scale)]
        units = [k for k in equal if is_one(args[k].extent)]
        return (units or equal or [None])[0]

    def _closest(self, args: Sequence[IterSplitExpr], candidates: Sequence[int], scale: PrimExpr) -> int | None:
        """Return the split whose scale is the greatest that is not above `scale`."""
        best: int | None = None
        for k in reversed(candidates):
            own = args[k].scale
            if not self._at_least(scale - own, 0) or not self._at_least(own, 0):
                continue
            if best is None or self.rules.can_prove_less(self.rules.simplify(args[best].scale - own), 0):
                best = k
        return best

    def _at_least(self, e: PrimExpr, bound: int) -> bool:
        return self.rules.can_prove_greater_equal(self.rules.simplify(e), bound)

    def fuse(self, total: IterSumExpr, *, allow_single: bool) -> IterSumExpr | None:
        """Return a sum with one split, of the mark that counts all splits; None if they leave gaps or overlap.

        With `allow_single` digits that are one split by themselves get no mark of their own.
        """
        joined = self.combined(total)
        if joined is not None:
            total = joined
            if len(total.args) <= 1 and allow_single:
                return total
        try:
            return _Chain(self, total).fused()
        except _Gap:
            return None


@dataclass
class _Chain:
    """The search for the order of the splits of a sum, from the smallest scale to the greatest."""

    fusions: Fusions
    total: IterSumExpr
    flat: list[IterSplitExpr] = field(default_factory=list[IterSplitExpr])
    grouped: list[IterSplitExpr] = field(default_factory=list[IterSplitExpr])

    def fused(self) -> IterSumExpr | None:
        """Return the fused sum. Raises `_Gap`."""
        fusions, total, args = self.fusions, self.total, self.total.args
        dtype = total.dtype
        zero = tx.const(0, dtype)
        left = list(range(len(args)))
        start = fusions._least(args, left)  # pyright: ignore[reportPrivateUsage]
        unit = args[start].scale
        expected, extra, tail = unit, zero, zero
        while left:
            at, scale = (start, expected) if not self.flat else self._next(left, expected, unit)
            group = self._limit_at(args[at])
            if group is None:
                left.remove(at)
                size = args[at].extent
                own = args[at].replaced(scale=fusions.rules.simplify(tx.floordiv(args[at].scale, unit)))
                self.flat.append(own)
                self.grouped.append(own)
            else:
                self.flat += self._members(group, scale, left)
                size = group.mark.extent
                self.grouped.append(IterSplitExpr.whole(group.mark, tx.floordiv(scale, unit)))
                extra = extra + group.offset * scale
            if scale is not expected:
                tail = tail + (expected - scale)
            expected = product_of(dtype, size, scale)
        return self._mark(unit, expected, extra, tail)

    def _next(self, left: Sequence[int], expected: PrimExpr, unit: PrimExpr) -> tuple[int, PrimExpr]:
        """Return the next split and its scale, which may be smaller than expected if splits may overlap."""
        fusions, args = self.fusions, self.total.args
        at = fusions._with_scale(args, left, expected)  # pyright: ignore[reportPrivateUsage]
        if at is not None:
            return at, expected
        if fusions.level is not IterMapLevel.BIJECTIVE and is_one(unit):
            at = fusions._closest(args, left, expected)  # pyright: ignore[reportPrivateUsage]
        if at is None:
            raise _Gap
        return at, args[at].scale

    def _limit_at(self, split: IterSplitExpr) -> _Fusion | None:
        """Return the longest limited fusion whose last split this is."""
        longest: IterSumExpr | None = None
        for flat in self.fusions.limited:
            if flat.args[-1].is_digit_of(split) and (longest is None or len(longest.args) < len(flat.args)):
                longest = flat
        return None if longest is None else self.fusions._find(longest)  # pyright: ignore[reportPrivateUsage]

    def _members(self, group: _Fusion, scale: PrimExpr, left: list[int]) -> Iterator[IterSplitExpr]:
        """Yield the splits of a limited fusion from the sum, and remove them from `left`."""
        args, rules = self.total.args, self.fusions.rules
        for member in reversed(group.flat.args):
            wanted = member.scale * scale
            at = next(
                (k for k in left if args[k].is_digit_of(member) and rules.can_prove_equal(wanted, args[k].scale)), None
            )
            if at is None:
                raise _Gap
            left.remove(at)
            yield args[at]

    def _mark(self, unit: PrimExpr, end: PrimExpr, extra: PrimExpr, tail: PrimExpr) -> IterSumExpr | None:
        fusions, base = self.fusions, self.total.base
        zero = tx.const(0, self.total.dtype)
        flat = IterSumExpr(self.flat[::-1], zero)
        known = fusions._find(flat)  # pyright: ignore[reportPrivateUsage]
        if known is None:
            extent = (end if is_one(unit) else fusions.rules.simplify(tx.floordiv(end, unit))) + tail
            known = _Fusion(flat, IterMark(IterSumExpr(self.grouped[::-1], zero), extent), extra)
            fusions.known.append(known)
        elif not fusions.rules.can_prove_equal(extra, known.offset * unit):
            return None
        return IterSumExpr([IterSplitExpr.whole(known.mark, unit)], base + extra)


__all__ = ["Fusions"]
