"""Checks that the splits of each iterator are distinct digits of it, and all of them where a map is bijective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ....handles.tir import prim_expr as tx
from ....handles.tir.prim_expr import PrimExpr
from ....ir.affine.iter_map import IterMapLevel
from .nodes import IterMark, IterSplitExpr, IterSumExpr, is_divisible, is_one
from .rewriter import Rewriter


@dataclass
class Uses:
    """The splits of each mark that a map uses, also those of the sums inside of marks."""

    marks: list[IterMark] = field(default_factory=list[IterMark])
    _splits: dict[int, list[IterSplitExpr]] = field(default_factory=dict[int, list[IterSplitExpr]])

    @staticmethod
    def of(indices: Sequence[IterSumExpr]) -> Uses:
        """Collect the uses in indices."""
        uses = Uses()
        for index in indices:
            uses._collect(index.args)
        return uses

    def _collect(self, splits: Sequence[IterSplitExpr]) -> None:
        for split in splits:
            mark = split.source
            if id(mark) not in self._splits:
                self.marks.append(mark)
                self._splits[id(mark)] = []
                if isinstance(mark.source, IterSumExpr):
                    self._collect(mark.source.args)
            self._splits[id(mark)].append(split)

    def splits(self, mark: IterMark) -> list[IterSplitExpr]:
        """Return the splits of a mark."""
        return self._splits.get(id(mark), [])


def are_digits(rewriter: Rewriter, indices: Sequence[IterSumExpr], level: IterMapLevel) -> bool:
    """Return whether a map is one of its level: the splits are digits, and if it is bijective no iterator is unused."""
    uses = Uses.of(indices)
    if not all(_Digits(rewriter, mark, uses.splits(mark), level).fit() for mark in uses.marks):
        return False
    unused = [m for m in rewriter.marks if not uses.splits(m) and not is_one(m.extent)]
    return level is not IterMapLevel.BIJECTIVE or not unused


@dataclass
class _Digits:
    rewriter: Rewriter
    mark: IterMark
    splits: list[IterSplitExpr]
    level: IterMapLevel

    def fit(self) -> bool:
        """Return whether the splits are digits of the mark that cover it as far as the level wants."""
        end = self._end()
        return end is not None and self._covers(end)

    def _end(self) -> PrimExpr | None:
        """Return the product of all digits, or None if digits overlap, or are missing where the map is bijective."""
        expected, left = tx.const(1, self.mark.dtype), list(self.splits)
        rules = self.rewriter.rules
        while left:
            digit = next((s for s in left if rules.can_prove_equal(s.lower_factor, expected)), None)
            if digit is None and self.level is not IterMapLevel.BIJECTIVE:
                digit = self._after_a_gap(left, expected)
            if digit is None:
                return None
            left = [s for s in left if s is not digit]
            expected = digit.lower_factor * digit.extent
        return expected

    def _after_a_gap(self, left: Sequence[IterSplitExpr], end: PrimExpr) -> IterSplitExpr | None:
        rules = self.rewriter.rules
        if not all(is_divisible(s.lower_factor, end, rules) for s in left):
            return None
        least = left[0]
        for split in left[1:]:
            least = split if is_divisible(least.lower_factor, split.lower_factor, rules) else least
        return least

    def _refuse(self, message: str) -> bool:
        self.rewriter.errors.append(message)
        return False

    def _covers(self, end: PrimExpr) -> bool:
        rules = self.rewriter.rules
        full = rules.can_prove_equal(end, self.mark.extent)
        original = self.rewriter.paddings.original(self.mark)
        if self.level is IterMapLevel.BIJECTIVE:
            if original is not None:
                return self._refuse("Bijective mapping should not take iter paddings")
            return full or self._refuse("The iterations do not traverse full iter space")
        divides = full or is_divisible(self.mark.extent, end, rules)
        if not divides and (original is None or self.level is IterMapLevel.SURJECTIVE):
            return self._refuse("The lower factor is not divisible by the full iter space extent")
        if original is None or self.level is not IterMapLevel.SURJECTIVE:
            return True
        return self._covers_padded(end, full, original)

    def _covers_padded(self, end: PrimExpr, full: bool, original: IterMark) -> bool:
        """Return whether digits of a padded iterator take all their values on the values of the original one."""
        reached = self.rewriter.rules.can_prove(tx.greater_equal(original.extent, end))
        if not full:
            return reached or self._refuse("The extent before padding is less than lower factor")
        if len(self.splits) != 1:
            return self._refuse("Dependent iterations on padding iter space")
        if self.rewriter.rules.can_prove_equal(self.splits[0].extent, end) and not reached:
            return self._refuse(
                "Split on padding iteration is not surjective if the split extent equals to the full iter space extent"
            )
        return True


__all__ = ["Uses", "are_digits"]
