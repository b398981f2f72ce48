"""`tvm.arith`'s quasi-affine maps of scalar expressions, by TVM's rules (`iter_maps`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...diagnostics import TiraxError
from ...handles.tir import prim_expr as tx
from ...handles.tir.domains import Range
from ...handles.tir.expr_kinds import expr_node
from ...handles.tir.prim_expr import ExprLike, PrimExpr
from ...ir.affine.iter_map import IterMapLevel
from ...ir.origins import origin
from .arith.analyzer import Analyzer
from .iter_maps.conditions import limits_of, uses
from .iter_maps.digits import Uses, are_digits
from .iter_maps.inverse import Inverse
from .iter_maps.nodes import IterMapExpr, IterMark, IterSumExpr, is_one, to_expr
from .iter_maps.rewriter import Rewriter
from .iter_maps.subspaces import Divider, NotDividedError

_LEVELS = {
    "bijective": IterMapLevel.BIJECTIVE,
    "surjective": IterMapLevel.SURJECTIVE,
    "nocheck": IterMapLevel.NO_CHECK,
}


@dataclass(frozen=True)
class IterMapResult:
    """The result of `detect_iter_map`: there are no indices if there are errors."""

    indices: list[IterSumExpr]
    errors: list[str]
    padding_predicate: PrimExpr
    """True where the indices are in the padding, outside of the iterators' values."""
    exact: bool = True
    """False if digits of padded iterators have the extents of the indices, but not their values."""


def _level(level: Any) -> IterMapLevel:
    """Return a level by its name, its number or itself; None does not check."""
    if level is None:
        return IterMapLevel.NO_CHECK
    known = _LEVELS.get(level.lower()) if isinstance(level, str) else IterMapLevel(level)
    if known is None:
        raise TiraxError("no level of a map", expected=", ".join(_LEVELS), found=level)
    return known


def _domains(iters: Mapping[Any, Range]) -> dict[PrimExpr, Range]:
    return {expr_node(tx.convert(v).ssa): r for v, r in iters.items()}


def _are_sane(iters: Mapping[PrimExpr, Range]) -> bool:
    return not any(uses(e, iters) for domain in iters.values() for e in (domain.min, domain.extent))


def detect_iter_map(
    indices: Sequence[ExprLike],
    input_iters: Mapping[Any, Range],
    predicate: ExprLike = True,
    check_level: Any = IterMapLevel.SURJECTIVE,
    simplify_trivial_iterators: bool = True,
) -> IterMapResult:
    """Return the quasi-affine map from iterators to indices, padded where divisors do not divide, or errors."""
    return _detected(
        [tx.convert(e) for e in indices],
        _domains(input_iters),
        tx.convert(predicate),
        _level(check_level),
        simplify_trivial_iterators,
    )


def _detected(
    indices: Sequence[PrimExpr],
    iters: dict[PrimExpr, Range],
    predicate: PrimExpr,
    level: IterMapLevel,
    simplify_units: bool,
) -> IterMapResult:
    nothing = tx.const(False, "bool")
    if not _are_sane(iters):
        return IterMapResult([], ["Invalid iterators.  Iterators may not be expressions of each other."], nothing)
    iters = dict(iters)
    limits = [] if is_one(predicate) else limits_of(predicate, iters)
    if limits is None:
        return IterMapResult([], ["Could not parse predicate as constraints on the input iterators."], nothing)
    rewriter = Rewriter(Analyzer(), iters, level, simplify_units)
    for limit in sorted(limits, key=lambda limit: limit.size):
        rewriter.limit(limit.e, limit.lower, limit.upper)
        if rewriter.errors:
            return IterMapResult([], rewriter.errors, nothing)
    if not rewriter.fusions.limits_agree():
        return IterMapResult([], ["Invalid constraints."], nothing)
    sums = _sums(rewriter, indices, level)
    if not rewriter.errors and not are_digits(rewriter, sums, level):
        rewriter.errors.append(
            "Index mapping does not form a bijective transform."
            if level is IterMapLevel.BIJECTIVE
            else "Mapped indices are not independent."
        )
    paddings = rewriter.paddings
    return IterMapResult([] if rewriter.errors else sums, rewriter.errors, paddings.predicate, paddings.exact)


def _sums(rewriter: Rewriter, indices: Sequence[PrimExpr], level: IterMapLevel) -> list[IterSumExpr]:
    """Return the indices as sums, in two rounds if iterators are padded; empty with errors."""
    sums: list[IterSumExpr] = []
    for collecting in (True, False):
        if collecting and level is IterMapLevel.BIJECTIVE:
            continue
        rewriter.paddings.collecting = collecting
        sums = []
        for index in indices:
            sums.append(rewriter.index(index))
            if rewriter.errors:
                return []
        if collecting and not rewriter.paddings.required:
            break
    rewriter.paddings.collecting = False
    return sums


def normalize_to_iter_sum(index: ExprLike, input_iters: Mapping[Any, Range]) -> IterSumExpr:
    """Return an index as a sum of splits and a base, in which everything is that is no split.

    Scales are products of symbols and a constant; those with the greatest constants come first, then those with the
    most symbols. Raises `TiraxError` if the domain of an iterator uses an iterator.
    """
    iters = _domains(input_iters)
    if not _are_sane(iters):
        raise TiraxError("Invalid iterators.  Iterators may not be expressions of each other.")
    rewriter, e = Rewriter(Analyzer(), iters, IterMapLevel.NO_CHECK, True), tx.convert(index)
    total = rewriter.normalized(e)
    return total if rewriter.paddings.exact else IterSumExpr([], e)


def normalize_iter_map_to_expr(expr: IterMapExpr | PrimExpr) -> PrimExpr:
    """Return the scalar expression of a part of a map."""
    return to_expr(expr)


def iter_map_simplify(
    indices: Sequence[ExprLike],
    input_iters: Mapping[Any, Range],
    predicate: ExprLike = True,
    check_level: Any = IterMapLevel.SURJECTIVE,
    simplify_trivial_iterators: bool = True,
) -> list[PrimExpr]:
    """Return the simplified indices if they are a quasi-affine map, else the indices themselves."""
    originals, iters, level = [tx.convert(e) for e in indices], _domains(input_iters), _level(check_level)
    condition = tx.convert(predicate)
    found = _detected(originals, iters, condition, level, simplify_trivial_iterators)
    if not found.indices and not is_one(condition) and level is not IterMapLevel.BIJECTIVE:
        found = _detected(originals, iters, tx.const(True, "bool"), level, simplify_trivial_iterators)
    return [to_expr(s) for s in found.indices] if found.indices and found.exact else originals


def inverse_affine_iter_map(iter_map: Sequence[IterSumExpr], outputs: Sequence[ExprLike]) -> dict[PrimExpr, PrimExpr]:
    """Return the iterators of a bijective map in terms of the values of its indices."""
    return Inverse().of(iter_map, [tx.convert(o) for o in outputs])


def subspace_divide(
    bindings: Sequence[ExprLike],
    input_iters: Mapping[Any, Range],
    sub_iters: Sequence[PrimExpr],
    predicate: ExprLike = True,
    check_level: Any = IterMapLevel.SURJECTIVE,
    simplify_trivial_iterators: bool = True,
) -> list[tuple[IterMark, IterMark]]:
    """Divide each binding into an outer part and one of the iterators in `sub_iters`, or return an empty list.

    The extents of the last pair are the conditions on outer and on inner iterators that form the predicate.
    """
    found = detect_iter_map(bindings, input_iters, predicate, check_level, simplify_trivial_iterators)
    sums = found.indices if found.exact else []
    inner = {origin(tx.convert(v).ssa) for v in sub_iters}
    divider = Divider(Analyzer(), Uses.of(sums), set(inner))
    out: list[tuple[IterMark, IterMark]] = []
    try:
        for total in sums:
            division = divider.divide(total, tx.const(0, total.dtype))
            out.append(
                (IterMark(division.outer, division.outer_extent), IterMark(division.inner, division.inner_extent))
            )
    except NotDividedError:
        return []
    nothing = IterSumExpr([], 0)
    return [*out, (IterMark(nothing, divider.outside), IterMark(nothing, divider.inside))] if sums else []
