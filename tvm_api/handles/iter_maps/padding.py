"""Padding of iterators for divisors that do not divide their extents, in two rounds.

The first round collects, for each mark, the least common multiple of all divisors and the padding on the left; the
second one replaces the mark by a padded one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import lcm

from ....handles.tir import prim_expr as tx
from ....handles.tir.expr_kinds import class_name, expr_node
from ....handles.tir.prim_expr import PrimExpr
from ..arith.analyzer import Analyzer
from .nodes import IterMark, IterSplitExpr, IterSumExpr, is_divisible, is_zero, to_expr


@dataclass
class _Padding:
    factor: PrimExpr
    left: PrimExpr
    padded: IterMark | None = None


@dataclass
class Paddings:
    """The paddings of marks; `collecting` is true in the first round."""

    rules: Analyzer
    errors: list[str]
    collecting: bool = False
    required: bool = False
    exact: bool = True
    """False if an index has the extent of its digits, but not their values: other offsets of one iterator."""
    predicate: PrimExpr = field(default_factory=lambda: tx.const(False, "bool"))
    """True where a padded iterator has no value of the original one."""
    originals: dict[int, tuple[IterMark, IterMark]] = field(default_factory=dict[int, tuple[IterMark, IterMark]])
    """The padded marks by their identities, with the original ones."""
    _paddings: dict[int, _Padding] = field(default_factory=dict[int, _Padding])

    def original(self, mark: IterMark) -> IterMark | None:
        """Return the iterator that a mark pads, or None if it pads none."""
        known = self.originals.get(id(mark))
        return None if known is None else known[1]

    def padded(self, split: IterSplitExpr, base: PrimExpr, divisor: PrimExpr) -> tuple[IterSplitExpr, PrimExpr] | None:
        """Return a split of a padded mark that the divisor divides, and the padding on its left.

        None, with a message, if the mark has another padding on the left.
        """
        left = self.rules.simplify(tx.floormod(base, divisor))
        return self._collected(split, left, divisor) if self.collecting else self._applied(split, left, divisor)

    def _right(self, edge: PrimExpr, divisor: PrimExpr) -> PrimExpr:
        if is_divisible(edge, divisor, self.rules):
            return tx.const(0, edge.dtype)
        return self.rules.simplify(tx.floormod(tx.const(0, edge.dtype) - edge, divisor))

    def _collected(self, split: IterSplitExpr, left: PrimExpr, divisor: PrimExpr) -> tuple[IterSplitExpr, PrimExpr]:
        dtype = split.dtype
        known = self._paddings.get(id(split.source))
        if known is None:
            known = self._paddings[id(split.source)] = _Padding(tx.const(1, dtype), tx.const(0, dtype))
        known.factor = self._common_multiple(known.factor, divisor * split.lower_factor)
        right = self._right(left + split.extent, divisor)
        if is_zero(left) and is_zero(right):
            return split, tx.const(0, dtype)
        self.required = True
        known.left = tx.maximum(known.left, left * split.lower_factor)
        return split.replaced(extent=self.rules.simplify(left + split.extent + right)), left

    def _applied(
        self, split: IterSplitExpr, left: PrimExpr, divisor: PrimExpr
    ) -> tuple[IterSplitExpr, PrimExpr] | None:
        mark = split.source
        known = self._paddings.get(id(mark))
        if known is None or (is_zero(known.left) and is_divisible(mark.extent, known.factor, self.rules)):
            self.exact &= is_zero(left)
            return split, left
        if known.padded is None:
            if not is_divisible(known.left, split.lower_factor, self.rules):
                self.errors.append(
                    f"Detect incompatible left padding on {to_expr(split, self.rules)}, the iter mark is left padded "
                    f"with {known.left}"
                )
                return None
            own, left = left, tx.floordiv(known.left, split.lower_factor)
            self._note(split, is_divisible(left - own, divisor, self.rules))
            known.padded = self._pad(mark, known)
        else:
            self._note(split, self.rules.can_prove_equal(known.left, left * split.lower_factor))
        extent = tx.floordiv(known.padded.extent, split.lower_factor)
        return split.replaced(source=known.padded, extent=extent), left

    def _note(self, split: IterSplitExpr, same_offset: bool) -> None:
        end = split.lower_factor * split.extent
        self.exact &= same_offset and self.rules.can_prove(tx.greater_equal(end, split.source.extent))

    def _pad(self, mark: IterMark, padding: _Padding) -> IterMark:
        edge = mark.extent + padding.left
        right = self._right(edge, padding.factor)
        total = IterSumExpr([IterSplitExpr.whole(mark)], padding.left)
        padded = IterMark(total, self.rules.simplify(edge + right))
        self.originals[id(padded)] = padded, mark
        value, factor = to_expr(total, self.rules), padding.factor
        row, column = tx.floordiv(value, factor), tx.floormod(value, factor)
        before = tx.logical_and(tx.equal(row, 0), tx.less(column, padding.left))
        after = tx.logical_and(
            tx.equal(row, tx.floordiv(edge, factor)), tx.greater_equal(column, tx.floormod(edge, factor))
        )
        for pad, place in ((padding.left, before), (right, after)):
            if not is_zero(pad):
                introduced = place if pad.constant is not None else tx.logical_and(tx.not_equal(pad, 0), place)
                self.predicate = introduced if is_zero(self.predicate) else tx.logical_or(self.predicate, introduced)
        return padded

    def _common_multiple(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        """Return a common multiple: of constant factors the least, of symbols one if it divides the other."""
        (x, n), (y, m) = _with_factor(a), _with_factor(b)
        number = tx.const(lcm(n, m), a.dtype)
        if self.rules.can_prove_equal(x, y) or is_divisible(x, y, self.rules):
            return x * number
        return y * number if is_divisible(y, x, self.rules) else x * y * number


def _with_factor(e: PrimExpr) -> tuple[PrimExpr, int]:
    """Return an expression without its constant factor, and that factor."""
    if e.constant is not None:
        return tx.const(1, e.dtype), int(e.constant)
    node = expr_node(e.ssa)
    if class_name(node) == "Mul":
        for part, other in (("a", "b"), ("b", "a")):
            factor = node.part_of(other).constant
            if factor is not None:
                return node.part_of(part), int(factor)
    return node, 1


__all__ = ["Paddings"]
