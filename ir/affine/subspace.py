"""Subspace division: split bindings into a part of the outer loops and a part of the inner loops.

for i_0, i_1 in grid(4, 8): vi = i_0 * 8 + i_1, divided at i_1  ->  outer i_0 of 4, inner i_1 of 8
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, SymExpr, Var, product
from .iter_map import IterMapLevel, IterSplit, IterSum, NotAffineError, Ranges, detect_iter_map, quotient, to_expr


@dataclass(frozen=True)
class Half:
    """One part of a binding; it counts from 0 to `extent - 1`."""

    binding: SymExpr
    extent: SymExpr

    @property
    def is_unit(self) -> bool:
        return self.extent.constant == 1


@dataclass(frozen=True)
class Division:
    """A binding: `outer * inner.extent + inner + base`."""

    outer: Half
    inner: Half
    base: SymExpr


def divide(
    bindings: Sequence[SymExpr], ranges: Ranges, inner: Set[Var], predicate: Iterable[SymExpr] = ()
) -> list[Division]:
    """Split each of `bindings`, affine maps of loops in `ranges`, into an outer part and a part of the loops `inner`.

    Raises `NotAffineError` if the bindings are not such a map, or if the parts cannot be separated.
    """
    shift = {v: least for v, (least, _) in ranges.items() if least.constant != 0}
    moved: dict[Var, SymExpr] = {v: v + least for v, least in shift.items()}
    back: dict[Var, SymExpr] = {v: v - least for v, least in shift.items()}
    counted = {v: (Const(0, v.dtype), extent) for v, (_, extent) in ranges.items()}
    indices = [b.substitute(moved) for b in bindings]
    conditions = [c.substitute(moved) for c in predicate]
    detect_iter_map(indices, counted, conditions, IterMapLevel.SURJECTIVE)
    iter_map = detect_iter_map(indices, counted, conditions, IterMapLevel.NO_CHECK)
    return [_divided(total, back, inner) for total in iter_map.indices]


def _divided(total: IterSum, back: Mapping[Var, SymExpr], inner: Set[Var]) -> Division:
    chain = _chain(total.splits)
    count = sum(1 for s in chain if _is_inside(s, inner))
    if any(not _is_inside(s, inner) for s in chain[:count]):
        raise NotAffineError("an outer loop counts faster than an inner one", found=to_expr(total))
    size = product([s.extent for s in chain[:count]])
    outer = [IterSplit(s.mark, s.lower, s.extent, _over(s.scale, size)) for s in chain[count:]]
    return Division(_half(outer, back), _half(chain[:count], back), total.base)


def _chain(splits: Sequence[IterSplit]) -> list[IterSplit]:
    """Return the splits from the fastest to the slowest.

    Raises `NotAffineError` if they do not count by 1 without gaps.
    """
    analyzer = Analyzer()
    left, chain = list(splits), list[IterSplit]()
    expected: SymExpr = Const(1)
    while left:
        split = next((s for s in left if analyzer.can_prove_equal(s.scale, expected)), None)
        if split is None:
            raise NotAffineError("a binding that does not count without gaps", expected=f"scale {expected}")
        left.remove(split)
        chain.append(split)
        expected = expected * split.extent
    return chain


def _is_inside(split: IterSplit, inner: Set[Var]) -> bool:
    """Return whether a split depends on inner loops only. Raises `NotAffineError` if it mixes inner and outer ones."""
    used = {v for v in to_expr(split).free_vars() if v.value is not None}
    inside = used & inner
    if inside and inside != used:
        raise NotAffineError("a part of a binding is of outer and inner loops", found=to_expr(split))
    return bool(inside)


def _over(scale: SymExpr, size: SymExpr) -> SymExpr:
    factor = quotient(scale, size)
    if factor is None:
        raise NotAffineError("the outer part does not count in steps of the inner one", expected=size, found=scale)
    return factor


def _half(splits: Sequence[IterSplit], back: Mapping[Var, SymExpr]) -> Half:
    """Return the sum of splits, each counting from 0 whatever the start of its loop."""
    binding = to_expr(IterSum(tuple(splits[::-1]), Const(0)))
    return Half(binding.substitute(back), product([s.extent for s in splits]))
