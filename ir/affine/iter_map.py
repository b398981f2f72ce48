"""Quasi-affine iterator maps: how indices are built from loop variables by splitting and fusing.

A map is a list of indices over iterators, each with a range. It is quasi-affine if each index is a sum of *splits*:
a split is a digit of an iterator in a mixed-radix system, `x // lower % extent`, times a scale; an iterator is an
input, or a fusion, that is, a sum that counts without gaps (`i * 8 + j` with j below 8). Blocks whose bindings form
such a map can be reordered, tiled, and inverted. The notion is TVM's (Feng et al., TensorIR, 2023, section 3.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from ...diagnostics import TiraxError
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, Op, Product, Sum, SymExpr, Var, floordiv, floormod, product

ZERO, ONE = Const(0), Const(1)


class IterMapLevel(Enum):
    """The required kind of map: bijective (each digit used exactly once), surjective (at most once), or no check."""

    BIJECTIVE = 0
    SURJECTIVE = 1
    NO_CHECK = 3


class NotAffineError(TiraxError):
    """An index is not a sum of splits, or splits overlap."""


@dataclass(frozen=True)
class IterMark:
    """An iterator, which is an input or a fusion; it counts from 0 to `extent - 1`."""

    source: Var | IterSum
    extent: SymExpr


@dataclass(frozen=True)
class IterSplit:
    """`(mark // lower % extent) * scale`"""

    mark: IterMark
    lower: SymExpr
    extent: SymExpr
    scale: SymExpr

    def scaled(self, factor: SymExpr) -> IterSplit:
        return IterSplit(self.mark, self.lower, self.extent, self.scale * factor)


@dataclass(frozen=True)
class IterSum:
    """A sum of splits plus a base."""

    splits: tuple[IterSplit, ...]
    base: SymExpr

    def __add__(self, other: IterSum) -> IterSum:
        merged = list(self.splits)
        for split in other.splits:
            _merge(merged, split)
        return IterSum(tuple(merged), self.base + other.base)

    def scaled(self, factor: SymExpr) -> IterSum:
        if factor.constant == 0:
            return IterSum((), ZERO)
        return IterSum(tuple(s.scaled(factor) for s in self.splits), self.base * factor)


def _merge(splits: list[IterSplit], new: IterSplit) -> None:
    """Add a split, merging it with one of the same digit."""
    for k, old in enumerate(splits):
        if (old.mark, old.lower, old.extent) == (new.mark, new.lower, new.extent):
            scale = old.scale + new.scale
            splits[k : k + 1] = [] if scale.constant == 0 else [IterSplit(old.mark, old.lower, old.extent, scale)]
            return
    splits.append(new)


def quotient(e: SymExpr, divisor: SymExpr) -> SymExpr | None:
    """Return `e / divisor` if the divisor's factors are among those of each term of `e`, else None.

    A divisor that is the extent of an iterator is nonzero wherever the iterator has a value.
    """
    if e.constant == 0 or divisor.constant == 1:
        return e
    if e == divisor:
        return Const(1, e.dtype)
    if isinstance(e, Sum) and len(e.terms) + bool(e.offset) > 1:
        parts = [quotient(t * c, divisor) for t, c in e.terms] + [quotient(Const(e.offset, e.dtype), divisor)]
        known = [p for p in parts if p is not None]
        return sum(known[1:], known[0]) if len(known) == len(parts) else None
    factor, atoms = _monomial(e)
    by, others = _monomial(divisor)
    for atom in others:
        if atom not in atoms:
            return None
        atoms.remove(atom)
    return product([Const(factor // by, e.dtype), *atoms], e.dtype) if by and factor % by == 0 else None


def _monomial(e: SymExpr) -> tuple[int, list[SymExpr]]:
    """Return the constant factor and the other factors."""
    if e.constant is not None:
        return e.constant, []
    if isinstance(e, Sum) and len(e.terms) == 1 and not e.offset:
        term, factor = e.terms[0]
        return factor, _monomial(term)[1]
    return 1, list(e.atoms) if isinstance(e, Product) else [e]


def _exactly(e: SymExpr, divisor: SymExpr) -> SymExpr:
    exact = quotient(e, divisor)
    return floordiv(e, divisor) if exact is None else exact


def _no_divisor(extent: SymExpr, divisor: SymExpr) -> NotAffineError:
    return NotAffineError("the divisor does not divide the extent", expected=f"a divisor of {extent}", found=divisor)


@dataclass(frozen=True)
class Tree:
    """An operation as it is written: unlike in `SymExpr`, `(i * 64 + j) // 16` stays a quotient."""

    kind: str
    """`add`, `sub`, `mul`, `floordiv` or `floormod`."""
    left: Tree | SymExpr
    right: Tree | SymExpr
    value: SymExpr
    """The expression that the tree represents."""

    def free_vars(self) -> Iterable[Var]:
        """Return the variables of the tree."""
        return self.value.free_vars()


Ranges = Mapping[Var, tuple[SymExpr, SymExpr]]
"""Iterators with their first values and extents."""


@dataclass
class _Rewriter:
    """Conversion of expressions to sums of splits; fusions of the same splits share one mark."""

    inputs: Ranges
    analyzer: Analyzer
    fusions: dict[tuple[IterSplit, ...], IterMark] = field(default_factory=dict)
    constrained: list[tuple[tuple[IterSplit, ...], IterMark]] = field(default_factory=list)
    keep_units: bool = False
    """True if iterators with a single value stay in the expressions."""

    def rewrite(self, e: Tree | SymExpr) -> IterSum:
        """Return `e` as a sum of splits. Raises `NotAffineError` if it is not one."""
        if isinstance(e, Tree):
            return self._apply_constraints(self._part(e))
        if isinstance(e, Sum):
            out = IterSum((), Const(e.offset, e.dtype))
            for term, factor in e.terms:
                out = out + self._term(term).scaled(Const(factor, e.dtype))
            return self._apply_constraints(joined_digits(out))
        return self._apply_constraints(self._term(e))

    def _part(self, e: Tree | SymExpr) -> IterSum:
        """Return a part of a tree. Conditions limit sums; iterators alone are divided at their full extent."""
        if isinstance(e, Tree):
            return joined_digits(self._tree(e))
        return self.rewrite(e) if isinstance(e, Sum) else self._term(e)

    def _tree(self, e: Tree) -> IterSum:
        left, right = self._part(e.left), self._part(e.right)
        if e.kind in ("floordiv", "floormod"):
            limited = self._apply_constraints(left) if len(left.splits) > 1 else left
            return self._divided(e.kind, limited, _value(e.right), with_units=True)
        if e.kind == "mul":
            moving, fixed = (left, right) if left.splits else (right, left)
            if fixed.splits:
                raise NotAffineError("a product of iterators", found=e.value)
            return moving.scaled(fixed.base)
        return left + (right if e.kind == "add" else right.scaled(Const(-1, e.value.dtype)))

    def _term(self, e: SymExpr) -> IterSum:
        if not any(v in self.inputs for v in e.free_vars()):
            return IterSum((), e)
        if isinstance(e, Var):
            return self._input(e)
        if isinstance(e, Product):
            return self._product(e)
        if isinstance(e, Op) and e.kind in ("floordiv", "floormod"):
            return self._divided(e.kind, self.rewrite(e.args[0]), e.args[1])
        raise NotAffineError("no sum of splits", found=e)

    def _input(self, e: Var) -> IterSum:
        first, extent = self.inputs[e]
        if extent.constant == 1 and not self.keep_units:
            return IterSum((), first)
        return IterSum((IterSplit(IterMark(e, extent), ONE, extent, ONE),), first)

    def _product(self, e: Product) -> IterSum:
        moving = [a for a in e.atoms if any(v in self.inputs for v in a.free_vars())]
        if len(moving) != 1:
            raise NotAffineError("a product of iterators", found=e)
        fixed = [a for a in e.atoms if a is not moving[0]]
        return self._term(moving[0]).scaled(product(fixed, e.dtype))

    def _divided(self, kind: str, x: IterSum, divisor: SymExpr, *, with_units: bool = False) -> IterSum:
        if any(v in self.inputs for v in divisor.free_vars()):
            raise NotAffineError("a division by an iterator", found=divisor)
        if divisor.constant == 1:
            return x if kind == "floordiv" else IterSum((), ZERO)
        base = x.base
        if not self._divides(divisor, base):
            raise NotAffineError("a division of a sum with an offset that it does not divide", found=base)
        offset = _exactly(base, divisor) if kind == "floordiv" else ZERO
        if not x.splits:
            return IterSum((), offset)
        if not with_units and len(x.splits) > 1 and any(s.extent.constant == 1 for s in x.splits):
            raise NotAffineError("a division of a sum with an iterator that has one value", found=to_expr(x))
        split = self.fused(IterSum(x.splits, ZERO))
        divide = self._floordiv if kind == "floordiv" else self._floormod
        return divide(split, divisor) + IterSum((), offset)

    def _divides(self, divisor: SymExpr, e: SymExpr) -> bool:
        if divisor.constant and e.constant is not None:
            return e.constant % divisor.constant == 0
        return quotient(e, divisor) is not None or self.analyzer.can_prove_equal(floormod(e, divisor), ZERO)

    def _reduced(self, split: IterSplit, divisor: SymExpr) -> tuple[SymExpr, SymExpr] | None:
        """Return (scale, divisor) without common factors; None if the division cancels against the scale."""
        if self._divides(divisor, split.scale):
            return None
        if self._divides(split.scale, divisor):
            return split.scale, _exactly(divisor, split.scale)
        raise NotAffineError("scale and divisor have no common part", found=f"{split.scale} and {divisor}")

    def _floordiv(self, split: IterSplit, divisor: SymExpr) -> IterSum:
        reduced = self._reduced(split, divisor)
        if reduced is None:
            scale = _exactly(split.scale, divisor)
            return IterSum((IterSplit(split.mark, split.lower, split.extent, scale),), ZERO)
        _, divisor = reduced
        if self._divides(divisor, split.extent):
            extent = _exactly(split.extent, divisor)
            if extent.constant == 1:
                return IterSum((), ZERO)
            return IterSum((IterSplit(split.mark, split.lower * divisor, extent, ONE),), ZERO)
        if self._below(split.extent, divisor):
            return IterSum((), ZERO)
        raise _no_divisor(split.extent, divisor)

    def _floormod(self, split: IterSplit, divisor: SymExpr) -> IterSum:
        reduced = self._reduced(split, divisor)
        if reduced is None:
            return IterSum((), ZERO)
        scale, divisor = reduced
        if self._divides(divisor, split.extent):
            return IterSum((IterSplit(split.mark, split.lower, divisor, scale),), ZERO)
        if self._below(split.extent, divisor):
            return IterSum((split,), ZERO)
        raise _no_divisor(split.extent, divisor)

    def _below(self, extent: SymExpr, divisor: SymExpr) -> bool:
        return self.analyzer.bounds(extent - divisor).high <= 0

    def fused(self, total: IterSum) -> IterSplit:
        """Return one split for a sum without base that counts without gaps. Raises `NotAffineError` if it has gaps."""
        if len(total.splits) == 1:
            return total.splits[0]
        chain = self.chain(total.splits)
        unit = chain[0].scale
        key = tuple(IterSplit(s.mark, s.lower, s.extent, _exactly(s.scale, unit)) for s in chain)
        mark = self.fusions.get(key)
        if mark is None:
            source = IterSum(key[::-1], ZERO)
            mark = self.fusions[key] = IterMark(source, product([s.extent for s in key]))
        return IterSplit(mark, ONE, mark.extent, unit)

    def chain(self, splits: Sequence[IterSplit]) -> list[IterSplit]:
        """Return the splits from the fastest to the slowest; each scale is the total extent of the splits before it."""
        left = list(splits)
        first = min(left, key=lambda s: (s.scale.constant is None, abs(s.scale.constant or 0)))
        if any(self._divides(s.scale, first.scale) and s.scale != first.scale for s in left):
            first = next(s for s in left if all(self._divides(s.scale, o.scale) for o in left))
        chain, expected = [], first.scale
        while left:
            fitting = [s for s in left if self.same(s.scale, expected)]
            units = [s for s in fitting if s.extent.constant == 1]
            split = units[-1] if units else fitting[0] if fitting else None
            if split is None:
                raise NotAffineError("a sum that does not count without gaps", expected=f"scale {expected}")
            left.remove(split)
            chain.append(split)
            expected = expected * split.extent
        return chain

    def same(self, a: SymExpr, b: SymExpr) -> bool:
        """Return whether two expressions are provably equal."""
        if a.constant is not None and b.constant is not None:
            return a.constant == b.constant
        return self.analyzer.can_prove_equal(a, b)

    def constrain(self, e: SymExpr, upper: SymExpr) -> None:
        """Record that `e` is below `upper`, which bounds the extent of a fusion."""
        total = self.rewrite(e)
        if total.base.constant != 0 or not total.splits:
            return
        try:
            split = self.fused(total)
        except NotAffineError:
            return
        if split.scale.constant != 1 or not self._below(upper, split.extent):
            return
        chain = tuple(self.chain(total.splits))
        mark = IterMark(IterSum(chain[::-1], ZERO), upper)
        if len(chain) > 1:
            self.fusions[chain] = mark
        self.constrained.append((total.splits, mark))

    def _apply_constraints(self, total: IterSum) -> IterSum:
        """Replace splits by a constrained fusion if all of them occur, in the right ratio."""
        for parts, mark in self.constrained:
            by_digit = {(s.mark, s.lower, s.extent): s for s in total.splits}
            mine = [by_digit.get((p.mark, p.lower, p.extent)) for p in parts]
            if any(m is None for m in mine):
                continue
            factor = _exactly(mine[0].scale, parts[0].scale)  # pyright: ignore[reportOptionalMemberAccess]
            if all(m is not None and m.scale == p.scale * factor for m, p in zip(mine, parts, strict=True)):
                rest = tuple(s for s in total.splits if s not in mine)
                total = IterSum((*rest, IterSplit(mark, ONE, mark.extent, factor)), total.base)
        return total


@dataclass(frozen=True)
class IterMap:
    """A quasi-affine map: a sum of splits for each index."""

    indices: tuple[IterSum, ...]

    def inverse(self, outputs: Sequence[SymExpr]) -> dict[Var, SymExpr]:
        """Return the iterators as functions of the indices. The map must be bijective.

        Iterators with a single value are left out.
        """
        values: dict[IterMark, SymExpr] = {}
        order: list[IterMark] = []
        for index, output in zip(self.indices, outputs, strict=True):
            _distribute(index, output - index.base, values, order)
        inverses: dict[Var, SymExpr] = {}
        while order:
            mark = order.pop(0)
            if any(_contains(other, mark) for other in order):
                order.append(mark)
                continue
            if isinstance(mark.source, Var):
                inverses[mark.source] = values[mark]
            else:
                _distribute(mark.source, values[mark] - mark.source.base, values, order)
        return inverses


def _value(e: Tree | SymExpr) -> SymExpr:
    return e.value if isinstance(e, Tree) else e


def _contains(outer: IterMark, inner: IterMark) -> bool:
    return isinstance(outer.source, IterSum) and any(
        s.mark == inner or _contains(s.mark, inner) for s in outer.source.splits
    )


def _distribute(total: IterSum, value: SymExpr, values: dict[IterMark, SymExpr], order: list[IterMark]) -> None:
    """Add the values of the iterators of `total`'s splits that follow from its value `value`."""
    ranked = sorted(range(len(total.splits)), key=lambda k: _rank(total.splits, k))
    for position, k in enumerate(ranked):
        split = total.splits[k]
        digit = floordiv(value, split.scale)
        if position < len(ranked) - 1:
            digit = floormod(digit, split.extent)
        if split.mark not in values:
            values[split.mark] = ZERO
            order.append(split.mark)
        values[split.mark] = values[split.mark] + digit * split.lower


def _rank(splits: Sequence[IterSplit], k: int) -> tuple[int, int]:
    """Return the sort key of a split in a sum without gaps: the scale; for symbolic ones the number of factors."""
    scale = splits[k].scale
    return (0, scale.constant) if scale.constant is not None else (1, len(scale.free_vars()))


def detect_iter_map(
    indices: Sequence[Tree | SymExpr],
    inputs: Ranges,
    predicate: Iterable[SymExpr] = (),
    level: IterMapLevel = IterMapLevel.SURJECTIVE,
    analyzer: Analyzer | None = None,
    keep_units: bool = False,
) -> IterMap:
    """Return the quasi-affine map from the iterators `inputs` to `indices`.

    `predicate` are conditions `e < bound` that may be assumed. `keep_units` treats iterators with a single value like
    others. Raises `NotAffineError` if an index is not a sum of splits that counts without gaps, and, depending on
    `level`, if digits of iterators are used twice or not at all.
    """
    rewriter = _Rewriter(inputs, _with_ranges(analyzer or Analyzer(), inputs), keep_units=keep_units)
    for e, upper in sorted(limits_of(predicate), key=lambda limit: len(limit[0].free_vars())):
        rewriter.constrain(e, upper)
    sums = [rewriter.rewrite(e) for e in indices]
    if level is not IterMapLevel.NO_CHECK:
        fused = [IterSum((rewriter.fused(IterSum(s.splits, ZERO)),), s.base) if s.splits else s for s in sums]
        _check(rewriter, fused, level)
        sums = fused
    return IterMap(tuple(sums))


def limits_of(conditions: Iterable[SymExpr]) -> list[tuple[SymExpr, SymExpr]]:
    """Return pairs (e, bound) with e < bound that follow from the conjunction of the conditions."""
    return [limit for condition in conditions for limit in _upper_bounds(condition)]


def _with_ranges(analyzer: Analyzer, inputs: Ranges) -> Analyzer:
    for var, (first, extent) in inputs.items():
        low, high = analyzer.bounds(first).low, analyzer.bounds(first + extent - 1).high
        analyzer.bind(var, low, high)
    return analyzer


def _upper_bounds(condition: SymExpr) -> Iterable[tuple[SymExpr, SymExpr]]:
    """Return pairs (e, bound) with e < bound that follow from a condition."""
    if isinstance(condition, Op) and condition.kind == "and":
        for part in condition.args:
            yield from _upper_bounds(part)
    elif isinstance(condition, Op) and condition.kind in ("lt", "le", "gt", "ge"):
        a, b = condition.args if condition.kind in ("lt", "le") else condition.args[::-1]
        difference = a - b
        bound = ZERO if condition.kind in ("lt", "gt") else ONE
        if isinstance(difference, Sum):
            negative = [(t, c) for t, c in difference.terms if c < 0]
            left: SymExpr = ZERO
            for term, factor in difference.terms:
                left = left + term * factor if factor > 0 else left
            for term, factor in negative:
                bound = bound + term * -factor
            yield left, bound - difference.offset


def _check(rewriter: _Rewriter, sums: Sequence[IterSum], level: IterMapLevel) -> None:
    """Check that the splits of every mark are distinct digits of it, and all of them if the map must be bijective."""
    used: dict[IterMark, list[IterSplit]] = {}
    todo = [s for total in sums for s in total.splits]
    inputs_used: set[Var] = set()
    while todo:
        for split in todo:
            used.setdefault(split.mark, []).append(split)
        todo = []
        for mark in [m for m in used if not any(_contains(o, m) for o in used if o is not m)]:
            _check_digits(rewriter, mark, used.pop(mark), level)
            if isinstance(mark.source, Var):
                inputs_used.add(mark.source)
            else:
                todo += mark.source.splits
        if not todo and used:
            todo = [s for splits in used.values() for s in splits]
            used = {}
    unused = [v for v, (_, extent) in rewriter.inputs.items() if v not in inputs_used and extent.constant != 1]
    if level is IterMapLevel.BIJECTIVE and unused:
        raise NotAffineError("an iterator is not used", found=unused[0])


def _check_digits(rewriter: _Rewriter, mark: IterMark, splits: list[IterSplit], level: IterMapLevel) -> None:
    left, expected = list(splits), ONE
    bijective = level is IterMapLevel.BIJECTIVE
    while left:
        digit = next((s for s in left if rewriter.same(s.lower, expected)), None)
        if digit is None:
            later = [s for s in left if rewriter._divides(expected, s.lower)]  # pyright: ignore[reportPrivateUsage]
            if bijective or not later:
                raise NotAffineError("digits of an iterator overlap, or one is missing", found=left[0].lower)
            digit = min(later, key=lambda s: s.lower.constant if s.lower.constant is not None else 1 << 62)
            if any(o.lower == digit.lower for o in left if o is not digit):
                raise NotAffineError("a digit of an iterator is used twice", found=digit.lower)
        left.remove(digit)
        expected = digit.lower * digit.extent
    covers = rewriter.same(expected, mark.extent)
    if not covers and (bijective or not rewriter._divides(expected, mark.extent)):  # pyright: ignore[reportPrivateUsage]
        raise NotAffineError("the digits of an iterator do not cover it", expected=mark.extent, found=expected)


def is_same(a: SymExpr, b: SymExpr) -> bool:
    """Return whether two expressions are equal, ignoring their types."""
    if a.constant is not None or b.constant is not None:
        return a.constant == b.constant
    return a == b or (a - b).constant == 0


def to_expr(total: IterSum | IterSplit | IterMark) -> SymExpr:
    """Return the expression that a part of a map represents."""
    if isinstance(total, IterMark):
        return total.source if isinstance(total.source, Var) else to_expr(joined_digits(total.source))
    if isinstance(total, IterSplit):
        source, end = to_expr(total.mark), total.lower * total.extent
        reaches_end = is_same(end, total.mark.extent)
        return floordiv(source if reaches_end else floormod(source, end), total.lower) * total.scale
    out: SymExpr = ZERO
    for split in total.splits:
        out = out + to_expr(split)
    return out + total.base


def joined_digits(total: IterSum) -> IterSum:
    """Return the sum with adjacent digits of a mark merged: `x // 6 * 6 + x % 6 // 2 * 2 + x % 2` is `x`."""
    splits = list(total.splits)
    k = 0
    while k < len(splits):
        fast = splits[k]
        above = (fast.mark, fast.lower * fast.extent, fast.scale * fast.extent)
        slow = next((s for s in splits if s is not fast and (s.mark, s.lower, s.scale) == above), None)
        if slow is None:
            k += 1
            continue
        at = splits.index(slow)
        splits[at] = IterSplit(fast.mark, fast.lower, fast.extent * slow.extent, fast.scale)
        del splits[k]
        k = 0
    return IterSum(tuple(splits), total.base)


def iter_map_simplify(
    indices: Sequence[SymExpr],
    inputs: Ranges,
    predicate: Iterable[SymExpr] = (),
    level: IterMapLevel = IterMapLevel.SURJECTIVE,
    keep_units: bool = False,
) -> list[SymExpr]:
    """Return the indices simplified if they form a quasi-affine map (`simplest_map`), otherwise unchanged."""
    sums = simplest_map(indices, inputs, predicate, level, keep_units)
    return list(indices) if sums is None else [to_expr(s) + ZERO for s in sums]


def simplest_map(
    indices: Sequence[Tree | SymExpr],
    inputs: Ranges,
    predicate: Iterable[SymExpr] = (),
    level: IterMapLevel = IterMapLevel.SURJECTIVE,
    keep_units: bool = False,
) -> list[IterSum] | None:
    """Return the quasi-affine map of `indices`, with or without the predicate, with adjacent digits merged.

    Returns None if there is no such map, or if it uses an iterator that does not start at 0, as marks do.
    """
    moved = {v for v, (first, _) in inputs.items() if first.constant != 0}
    if any(v in moved for e in indices for v in e.free_vars()):
        return None
    conditions = list(predicate)
    for assumed in (conditions, []) if conditions else (conditions,):
        try:
            iter_map = detect_iter_map(indices, inputs, assumed, level, keep_units=keep_units)
        except NotAffineError:
            continue
        return [joined_digits(s) for s in iter_map.indices]
    return None
