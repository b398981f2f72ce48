"""`tvm.arith`'s quasi-affine maps for scalar expressions: views of `ir.iter_map` and `ir.subspace`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from ...diagnostics import TiraxError
from ...dialects.sym.expr import Const, SymExpr, Var, i1
from ...dialects.sym.linear import conjuncts
from ...dialects.sym.operators import logical_and
from ...handles.tir.domains import Range
from ...handles.tir.prim_expr import ExprLike, PrimExpr, const
from ...ir.affine import iter_map as maps
from ...ir.affine.iter_map import IterMapLevel, NotAffineError
from ...ir.affine.subspace import Half, divide
from .arith.ranges import ends_of, index_type, to_sym, to_view, variable

_Part = maps.IterSum | maps.IterSplit | maps.IterMark


class IterMapExpr:
    """A part of a map; `part` is its representation in the analysis."""

    __slots__ = ("part",)
    part: Any

    @property
    def dtype(self) -> str:
        """The dtype of the corresponding expression."""
        return normalize_iter_map_to_expr(self).dtype

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IterMapExpr) and self.part == other.part

    def __hash__(self) -> int:
        return hash(self.part)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({normalize_iter_map_to_expr(self)})"


class IterMark(IterMapExpr):
    """An iterator, a variable or a fusion, with values from 0 to `extent` - 1."""

    __slots__ = ()
    part: maps.IterMark

    def __init__(self, source: PrimExpr | IterMapExpr, extent: ExprLike) -> None:
        inner = source.part if isinstance(source, IterSumExpr) else variable(source)
        self.part = maps.IterMark(inner, to_sym(extent))

    @property
    def source(self) -> PrimExpr | IterSumExpr:
        """A variable, or a sum of splits."""
        source = self.part.source
        return to_view(source) if isinstance(source, Var) else _view(IterSumExpr, source)

    @property
    def extent(self) -> PrimExpr:
        return to_view(self.part.extent)


class IterSplitExpr(IterMapExpr):
    """`source // lower_factor % extent * scale`"""

    __slots__ = ()
    part: maps.IterSplit

    def __init__(self, source: IterMark, lower_factor: ExprLike, extent: ExprLike, scale: ExprLike) -> None:
        self.part = maps.IterSplit(source.part, to_sym(lower_factor), to_sym(extent), to_sym(scale))

    @property
    def source(self) -> IterMark:
        return _view(IterMark, self.part.mark)

    @property
    def lower_factor(self) -> PrimExpr:
        return to_view(self.part.lower)

    @property
    def extent(self) -> PrimExpr:
        return to_view(self.part.extent)

    @property
    def scale(self) -> PrimExpr:
        return to_view(self.part.scale)


class IterSumExpr(IterMapExpr):
    """A sum of splits and a base."""

    __slots__ = ()
    part: maps.IterSum

    def __init__(self, args: Sequence[IterSplitExpr], base: ExprLike) -> None:
        self.part = maps.IterSum(tuple(a.part for a in args), to_sym(base))

    @property
    def args(self) -> list[IterSplitExpr]:
        return [_view(IterSplitExpr, s) for s in self.part.splits]

    @property
    def base(self) -> PrimExpr:
        return to_view(self.part.base)


_Expr = TypeVar("_Expr", bound=IterMapExpr)


def _view(cls: type[_Expr], part: _Part) -> _Expr:
    out = cls.__new__(cls)
    out.part = part
    return out


@dataclass(frozen=True)
class IterMapResult:
    """The result of `detect_iter_map`: there are no indices if there are errors."""

    indices: list[IterSumExpr]
    errors: list[str]
    padding_predicate: PrimExpr
    """True where the indices are in the padding, outside of the iterators' values."""


@dataclass(frozen=True)
class _Question:
    """The arguments of the functions below, converted for the analysis."""

    indices: list[SymExpr]
    ranges: dict[Var, tuple[SymExpr, SymExpr]]
    conditions: list[SymExpr]
    level: IterMapLevel

    LEVELS: ClassVar[dict[str, IterMapLevel]] = {
        "bijective": IterMapLevel.BIJECTIVE,
        "surjective": IterMapLevel.SURJECTIVE,
        "nocheck": IterMapLevel.NO_CHECK,
    }

    @staticmethod
    def of(indices: Sequence[ExprLike], iters: Mapping[Any, Range], predicate: ExprLike, level: Any) -> _Question:
        """Convert the arguments. Raises `TiraxError` for an unknown level."""
        required = _Question.LEVELS.get(level.lower()) if isinstance(level, str) else IterMapLevel(level)
        if required is None:
            raise TiraxError("no level of a map", expected=", ".join(_Question.LEVELS), found=level)
        ranges = {variable(v): ends_of(r) for v, r in iters.items()}
        condition = to_sym(predicate)
        conditions = [] if condition.constant == 1 else [condition]
        return _Question([to_sym(e) for e in indices], ranges, conditions, required)


def detect_iter_map(
    indices: Sequence[ExprLike],
    input_iters: Mapping[Any, Range],
    predicate: ExprLike = True,
    check_level: Any = IterMapLevel.SURJECTIVE,
    simplify_trivial_iterators: bool = True,
) -> IterMapResult:
    """Return the quasi-affine map from iterators to indices, padded where divisors do not divide, or errors."""
    question = _Question.of(indices, input_iters, predicate, check_level)
    keep = not simplify_trivial_iterators
    try:
        result = maps.detect_iter_map(
            question.indices, question.ranges, question.conditions, question.level, keep_units=keep
        )
    except NotAffineError:
        try:
            result = maps.detect_padded_map(question.indices, question.ranges, question.conditions, question.level)
        except NotAffineError as error:
            return IterMapResult([], [str(error)], const(False, i1))
    return IterMapResult([_view(IterSumExpr, s) for s in result.indices], [], to_view(result.padding_predicate))


def normalize_to_iter_sum(index: ExprLike, input_iters: Mapping[Any, Range]) -> IterSumExpr:
    """Return an index as a sum of splits. Raises `NotAffineError` if it is not affine."""
    question = _Question.of([index], input_iters, True, IterMapLevel.NO_CHECK)
    (total,) = maps.detect_iter_map(question.indices, question.ranges, (), question.level).indices
    return _view(IterSumExpr, total)


def normalize_iter_map_to_expr(expr: IterMapExpr) -> PrimExpr:
    """Return the scalar expression of a part of a map."""
    return to_view(maps.to_expr(expr.part))


def iter_map_simplify(
    indices: Sequence[ExprLike],
    input_iters: Mapping[Any, Range],
    predicate: ExprLike = True,
    check_level: Any = IterMapLevel.SURJECTIVE,
    simplify_trivial_iterators: bool = True,
) -> list[PrimExpr]:
    """Return the simplified indices if they are a quasi-affine map, else the indices themselves."""
    question = _Question.of(indices, input_iters, predicate, check_level)
    simplified = maps.iter_map_simplify(
        question.indices,
        question.ranges,
        question.conditions,
        question.level,
        keep_units=not simplify_trivial_iterators,
    )
    return [to_view(e) for e in simplified]


def inverse_affine_iter_map(iter_map: Sequence[IterSumExpr], outputs: Sequence[ExprLike]) -> dict[PrimExpr, PrimExpr]:
    """Return the iterators of a bijective map in terms of the values of its indices."""
    inverse = maps.IterMap(tuple(s.part for s in iter_map)).inverse([to_sym(o) for o in outputs])
    return {to_view(v): to_view(e) for v, e in inverse.items()}


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
    question = _Question.of(bindings, input_iters, predicate, check_level)
    inner = {variable(v) for v in sub_iters}
    outside: SymExpr = Const(1, i1)
    inside = outside
    for condition in (part for c in question.conditions for part in conjuncts(c)):
        used = [v for v in condition.free_vars() if v in question.ranges]
        if all(v in inner for v in used):
            inside = logical_and(inside, condition)
        elif any(v in inner for v in used):
            return []
        else:
            outside = logical_and(outside, condition)
    try:
        divisions = divide(question.indices, question.ranges, inner, question.conditions)
        pairs = [(_half(d.outer, question.ranges), _half(d.inner, question.ranges, d.base)) for d in divisions]
    except NotAffineError:
        return []
    nothing = maps.IterSum((), Const(0, index_type(*question.indices)))
    return [*pairs, (_view(IterMark, maps.IterMark(nothing, outside)), _view(IterMark, maps.IterMark(nothing, inside)))]


def _half(half: Half, ranges: Mapping[Var, tuple[SymExpr, SymExpr]], base: SymExpr = maps.ZERO) -> IterMark:
    (source,) = maps.detect_iter_map([half.binding], ranges, (), IterMapLevel.NO_CHECK).indices
    return _view(IterMark, maps.IterMark(maps.IterSum(source.splits, source.base + base), half.extent))
