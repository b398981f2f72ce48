"""Detection of quasi-affine maps by TVM's rules: expressions of iterators become sums of splits of marks."""

from __future__ import annotations

from collections.abc import Mapping

from ....handles.tir import prim_expr as tx
from ....handles.tir.domains import Range
from ....handles.tir.expr_kinds import class_name, expr_node
from ....handles.tir.expr_trees import children
from ....handles.tir.prim_expr import PrimExpr
from ....ir.affine.iter_map import IterMapLevel
from ....ir.origins import origin
from ..arith.analyzer import Analyzer
from .fusion import Fusions
from .nodes import (
    IterMapExpr,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    factors_of,
    is_divisible,
    is_one,
    is_zero,
    to_sum,
)
from .padding import Paddings

_Part = PrimExpr | IterSplitExpr | IterSumExpr
_ARITHMETIC = {"Add": "_add", "Sub": "_subtract", "Mul": "_multiply", "FloorDiv": "_divide", "FloorMod": "_divide"}


class Rewriter:
    """Rewrites expressions of the iterators; what is no sum of splits leaves a message in `errors`."""

    def __init__(
        self, analyzer: Analyzer, iters: Mapping[PrimExpr, Range], level: IterMapLevel, simplify_units: bool
    ) -> None:
        self.rules, self.level = analyzer, level
        self.errors: list[str] = []
        self.marks: list[IterMark] = []
        self.fusions = Fusions(analyzer, level)
        self.paddings = Paddings(analyzer, self.errors)
        self._iterators = {origin(v.ssa): self._iterator(v, r, simplify_units) for v, r in iters.items()}

    def _iterator(self, var: PrimExpr, domain: Range, simplify_units: bool) -> _Part:
        first, extent = domain.min, domain.extent
        if simplify_units and is_one(extent):
            return IterSumExpr([], first)
        mark = IterMark(var if is_zero(first) else var - first, extent)
        self.marks.append(mark)
        split = IterSplitExpr.whole(mark)
        return split if is_zero(first) else IterSumExpr([split], first)

    def index(self, e: PrimExpr) -> IterSumExpr:
        """Return an index as a sum of one split; a message says if its splits are no single iterator."""
        return self.single(to_sum(self.part(e)))

    def single(self, total: IterSumExpr) -> IterSumExpr:
        """Return a sum with its splits fused to one."""
        if not total.args:
            return total
        fused = self.fusions.fuse(total, allow_single=True)
        if fused is None:
            self.errors.append("Could not normalize iterators")
        return total if fused is None else fused

    def limit(self, e: PrimExpr, lower: PrimExpr | None, upper: PrimExpr | None) -> None:
        """Assume that `lower <= e < upper`: the fusion of the splits of `e` has a smaller extent from now on."""
        if not self.fusions.limit(to_sum(self.part(e)), lower, upper):
            self.errors.append("Could not normalize iterators using the constraints given.")

    def normalized(self, e: PrimExpr) -> IterSumExpr:
        """Return a sum of splits with scales in normal form, the greatest constant factor first."""
        total = to_sum(self.part(e))
        if not total.args:
            return total
        total = self.fusions.combined(total) or total
        if not total.args:
            return total
        items: list[tuple[int, int, IterSplitExpr]] = []
        for split in total.args:
            number, symbols, scale = 1, 0, tx.const(1, split.dtype)
            for factor in factors_of(split.scale):
                if factor.constant is not None:
                    number *= int(factor.constant)
                else:
                    symbols, scale = symbols + 1, scale * factor
            scale = scale if number == 1 else scale * tx.const(number, split.dtype)
            items.append((number, symbols, split.replaced(scale=scale)))
        items.sort(key=lambda item: (-item[0], -item[1]))
        return IterSumExpr([split for _, _, split in items], total.base)

    def part(self, e: PrimExpr) -> _Part:
        """Return an expression as a part of a map, or the expression itself if it has no iterators."""
        node = expr_node(e.ssa)
        known = self._iterators.get(origin(node.ssa))
        if known is not None:
            return known
        rule = _ARITHMETIC.get(class_name(node)) if node.dtype in ("int32", "int64") else None
        if rule is None:
            self._refuse_iterators(node)
            return node
        a, b = self.part(node.part_of("a")), self.part(node.part_of("b"))
        if isinstance(a, PrimExpr) and isinstance(b, PrimExpr):
            return node
        return getattr(self, rule)(node, a, b)

    def _refuse_iterators(self, e: PrimExpr) -> None:
        """Leave a message if an operation that is no arithmetic has iterators below."""
        todo = children(e.ssa)
        while todo:
            value = todo.pop()
            node = expr_node(value)
            if origin(node.ssa) in self._iterators:
                self.errors.append(f"An iterator stands in what is no sum of iterators: {e}")
                return
            todo += children(node.ssa)

    def _add(self, e: PrimExpr, a: _Part, b: _Part) -> _Part:
        return to_sum(a).plus(to_sum(b))

    def _subtract(self, e: PrimExpr, a: _Part, b: _Part) -> _Part:
        return to_sum(a).plus(to_sum(b), -1)

    def _multiply(self, e: PrimExpr, a: _Part, b: _Part) -> _Part:
        moving, fixed = (b, a) if isinstance(a, PrimExpr) else (a, b)
        if not isinstance(fixed, PrimExpr):
            self.errors.append(f"Product of two iterators cannot be represented as an IterMap, occurs in {e}")
            return e
        if isinstance(moving, IterSplitExpr):
            return moving.replaced(scale=moving.scale * fixed)
        return to_sum(moving).times(fixed)

    def _divide(self, e: PrimExpr, a: _Part, b: _Part) -> _Part:
        if isinstance(b, IterMapExpr):
            self.errors.append(f"Cannot represent as an IterMap: the divisor in {e} may not be an iterator")
            return e
        total = self._dividend(to_sum(a), e)
        if total is None:
            return e
        divide = self._floordiv if class_name(e) == "FloorDiv" else self._floormod
        out = divide(total.args[0], total.base, b)
        return e if out is None else out

    def _dividend(self, total: IterSumExpr, e: PrimExpr) -> IterSumExpr | None:
        if not total.args:
            return None
        if len(total.args) == 1:
            return total
        fused = self.fusions.fuse(total, allow_single=True)
        if fused is None:
            self.errors.append(f"The dividend of {e} can't be written as a single fused IterSum")
        return fused

    def _divides(self, divisor: PrimExpr, e: PrimExpr) -> bool:
        return is_divisible(e, divisor, self.rules)

    def _unresolved(self, split: IterSplitExpr, divisor: PrimExpr) -> None:
        self.errors.append(
            f"Cannot represent as IterMap: the scaling factor {split.scale} of the dividend and the divisor {divisor} "
            "have no part in common"
        )

    def _unscaled(self, split: IterSplitExpr, base: PrimExpr, divisor: PrimExpr) -> tuple[PrimExpr, PrimExpr] | None:
        """Return base and divisor without the split's scale, if it divides both."""
        if is_one(split.scale):
            return base, divisor
        if self._divides(split.scale, divisor) and (is_zero(base) or self._divides(split.scale, base)):
            return tx.floordiv(base, split.scale), tx.floordiv(divisor, split.scale)
        self._unresolved(split, divisor)
        return None

    def _floordiv(self, split: IterSplitExpr, base: PrimExpr, divisor: PrimExpr) -> _Part | None:
        if is_one(divisor):
            return split if is_zero(base) else IterSumExpr([split], base)
        if not is_one(split.scale) and self._divides(divisor, split.scale):
            whole = split.replaced(scale=tx.floordiv(split.scale, divisor))
            if is_zero(base):
                return whole
            if self._divides(divisor, base):
                return IterSumExpr([whole], tx.floordiv(base, divisor))
        reduced = self._unscaled(split, base, divisor)
        if reduced is None:
            return None
        base, divisor = reduced
        one = tx.const(1, divisor.dtype)
        padded = self.paddings.padded(split if is_one(split.scale) else split.replaced(scale=one), base, divisor)
        if padded is None:
            return None
        new = self._quotient(padded[0], divisor)
        rest = self.rules.simplify(tx.floordiv(base - padded[1], divisor))
        return new if is_zero(rest) else IterSumExpr([new], rest)

    def _quotient(self, split: IterSplitExpr, divisor: PrimExpr) -> IterSplitExpr:
        if self._divides(divisor, split.extent):
            extent = self.rules.simplify(tx.floordiv(split.extent, divisor))
            return split.replaced(lower_factor=split.lower_factor * divisor, extent=extent)
        extent = self.rules.simplify(tx.floordiv(split.extent + divisor - 1, divisor))
        if self._is_whole(split):
            return split.replaced(lower_factor=divisor, extent=extent)
        return IterSplitExpr(IterMark(split, split.extent), divisor, extent, tx.const(1, divisor.dtype))

    def _floormod(self, split: IterSplitExpr, base: PrimExpr, divisor: PrimExpr) -> _Part | None:
        if is_one(divisor):
            return tx.const(0, split.dtype)
        if not is_one(split.scale) and self._divides(divisor, split.scale) and self._divides(divisor, base):
            return tx.const(0, split.dtype)
        reduced = self._unscaled(split, base, divisor)
        if reduced is None:
            return None
        base, divisor = reduced
        padded = self.paddings.padded(split, base, divisor)
        if padded is None:
            return None
        digits = padded[0]
        if not self.paddings.collecting and not self._divides(divisor, digits.extent) and not self._is_top(digits):
            self._unresolved(split, divisor)  # `x % 8 % 3` is not `x % 3`
            return None
        return digits.replaced(extent=divisor)

    def _is_top(self, split: IterSplitExpr) -> bool:
        """Return whether the split is all that is left of its iterator: it has no digits above."""
        end = split.lower_factor * split.extent
        return self.rules.can_prove(tx.greater_equal(end, split.source.extent))

    def _is_whole(self, split: IterSplitExpr) -> bool:
        return is_one(split.lower_factor) and self.rules.can_prove_equal(split.extent, split.source.extent)


__all__ = ["Rewriter"]
