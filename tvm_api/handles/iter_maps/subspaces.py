"""Division of a map into the part of inner iterators and the outer rest: an index is `outer * extent + inner`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import cast

from ....handles.tir import prim_expr as tx
from ....handles.tir.expr_kinds import class_name
from ....handles.tir.prim_expr import PrimExpr
from ....ir.origins import origin
from ..arith.analyzer import Analyzer
from .digits import Uses
from .nodes import IterMark, IterSplitExpr, IterSumExpr, is_one, is_zero, to_expr

_Part = IterSplitExpr | IterSumExpr


class NotDividedError(Exception):
    """A sum has inner digits that stand above outer ones, or a condition on both."""


class _Kind(Enum):
    INNER = auto()
    OUTER = auto()
    MIXED = auto()


@dataclass(frozen=True)
class Division:
    """`outer * inner_extent + inner`"""

    outer: _Part
    outer_extent: PrimExpr
    inner: _Part
    inner_extent: PrimExpr
    kind: _Kind = _Kind.MIXED

    @staticmethod
    def inside(part: _Part, extent: PrimExpr) -> Division:
        """Return the division of what has inner iterators only."""
        return Division(IterSumExpr([], tx.const(0, part.dtype)), tx.const(1, part.dtype), part, extent, _Kind.INNER)

    @staticmethod
    def outside(part: _Part, extent: PrimExpr) -> Division:
        """Return the division of what has outer iterators only."""
        return Division(part, extent, IterSumExpr([], tx.const(0, part.dtype)), tx.const(1, part.dtype), _Kind.OUTER)


def _as_split(part: _Part, extent: PrimExpr) -> IterSplitExpr:
    return part if isinstance(part, IterSplitExpr) else IterSplitExpr.whole(IterMark(part, extent))


def _numbered(args: Sequence[IterSplitExpr], base: PrimExpr) -> IterMark:
    """Return the mark that counts digits, from the innermost on, without gaps."""
    extent = tx.const(1, base.dtype)
    out: list[IterSplitExpr] = []
    for split in args:
        out.append(split.replaced(scale=extent))
        extent = extent * split.extent
    return IterMark(IterSumExpr(out[::-1], base), extent)


@dataclass
class Divider:
    """Divides sums. Conditions on sums are collected for outer and inner iterators."""

    rules: Analyzer
    uses: Uses
    inner: set[object]
    """The inner iterators, by the values of their variables."""
    outside: PrimExpr = field(default_factory=lambda: tx.const(True, "bool"))
    inside: PrimExpr = field(default_factory=lambda: tx.const(True, "bool"))
    _known: dict[int, tuple[IterSplitExpr, Division]] = field(
        default_factory=dict[int, "tuple[IterSplitExpr, Division]"]
    )

    def divide(self, total: IterSumExpr, extent: PrimExpr) -> Division:
        """Return the division of a sum with values below `extent`. Raises `NotDividedError`."""
        one, zero = tx.const(1, total.dtype), tx.const(0, total.dtype)
        if not total.args:
            return Division(IterSumExpr([], zero), one, IterSumExpr([], total.base), one)
        if len(total.args) == 1:
            if not is_one(total.args[0].scale):
                raise NotDividedError
            return self._with_base(self._split(total.args[0]), total.base)
        outer, inner, size = self._sorted(total)
        if not any(is_one(split.scale) for split in total.args):
            raise NotDividedError
        outer_mark, inner_mark = _numbered(outer, zero), _numbered(inner, total.base)
        over, under = cast(IterSumExpr, outer_mark.source), cast(IterSumExpr, inner_mark.source)
        if self.rules.can_prove_equal(size, extent):
            return Division(over, outer_mark.extent, under, inner_mark.extent)
        if not inner:
            self.outside = tx.logical_and(self.outside, tx.less(to_expr(over, self.rules), extent))
            return Division.outside(over, extent)
        if not outer:
            self.inside = tx.logical_and(self.inside, tx.less(to_expr(under, self.rules), extent))
            return Division.inside(under, extent)
        raise NotDividedError

    def _sorted(self, total: IterSumExpr) -> tuple[list[IterSplitExpr], list[IterSplitExpr], PrimExpr]:
        """Return the outer and the inner digits, from the innermost on, and the product of their extents."""
        outer: list[IterSplitExpr] = []
        inner: list[IterSplitExpr] = []
        size = tx.const(1, total.dtype)
        for split in reversed(total.args):
            division = self._split(split)
            if division.kind is _Kind.MIXED or (division.kind is _Kind.INNER and outer):
                raise NotDividedError
            if division.kind is _Kind.INNER:
                new = _as_split(division.inner, division.inner_extent)
                inner.append(new)
            else:
                new = _as_split(division.outer, division.outer_extent)
                outer.append(new)
            size = size * new.extent
        return outer, inner, size

    @staticmethod
    def _with_base(division: Division, base: PrimExpr) -> Division:
        if is_zero(base):
            return division
        inner = division.inner
        single = isinstance(inner, IterSplitExpr)
        moved = IterSumExpr([inner], base) if single else IterSumExpr(inner.args, inner.base + base)
        return Division(division.outer, division.outer_extent, moved, division.inner_extent, division.kind)

    def _split(self, split: IterSplitExpr) -> Division:
        known = self._known.get(id(split))
        if known is not None:
            return known[1]
        mark, splits = split.source, self.uses.splits(split.source)
        if isinstance(mark.source, IterSplitExpr):
            raise NotDividedError
        if isinstance(mark.source, PrimExpr):
            if class_name(mark.source) != "Var":
                raise NotDividedError
            make = Division.inside if origin(mark.source.ssa) in self.inner else Division.outside
            for each in splits:
                self._known[id(each)] = each, make(each, each.extent)
            return self._known[id(split)][1]
        division = self.divide(mark.source, mark.extent)
        if len(splits) == 1:
            return division
        self._share(splits, division)
        return self._known[id(split)][1]

    def _share(self, splits: Sequence[IterSplitExpr], division: Division) -> None:
        """Divide all digits of a mark that is divided itself: its inner extent must be a product of digits."""
        outer_mark = IterMark(division.outer, division.outer_extent)
        inner_mark = IterMark(division.inner, division.inner_extent)
        outside = division.kind is _Kind.OUTER
        left, expected = list(splits), tx.const(1, splits[0].dtype)
        outer: list[IterSplitExpr] = []
        inner: list[IterSplitExpr] = []
        while left:
            digit = next((s for s in left if self.rules.can_prove_equal(s.lower_factor, expected)), None)
            if digit is None:
                raise NotDividedError
            left = [s for s in left if s is not digit]
            (outer if outside else inner).append(digit)
            expected = expected * digit.extent
            outside = outside or self.rules.can_prove_equal(expected, division.inner_extent)
        if not outside:
            raise NotDividedError
        for digit in inner:
            self._known[id(digit)] = digit, Division.inside(digit.replaced(source=inner_mark), digit.extent)
        for digit in outer:
            lower = tx.floordiv(digit.lower_factor, outer[0].lower_factor)
            moved = digit.replaced(source=outer_mark, lower_factor=lower)
            self._known[id(digit)] = digit, Division.outside(moved, digit.extent)


__all__ = ["Divider", "NotDividedError"]
