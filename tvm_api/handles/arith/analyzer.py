"""`tvm.arith.Analyzer` and integer sets for scalar expressions: views of `dialects.sym`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import IntEnum
from math import inf, isinf
from typing import Any, ClassVar

from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import SSAValue

from ....diagnostics import TiraxError
from ....dialects import tir
from ....dialects.dtypes import bit_width, is_scalable, is_unsigned
from ....dialects.sym import analyzer as _sym
from ....dialects.sym import int_set as _sets
from ....dialects.sym.bounds import EVERYTHING, Interval
from ....dialects.sym.expr import Const, SymExpr, Var, i1
from ....dialects.sym.operators import OPS
from ....handles.tir import prim_expr, variables
from ....handles.tir.domains import Range
from ....handles.tir.prim_expr import ExprLike, PrimExpr, from_sym
from ....ir.affine.boxes import exact_box
from ....target import Target, has_scalable_vectors
from ....te.reduction import Reduce
from .bounds import bounds_of
from .canonical import CanonicalSimplifier
from .ranges import ends_of, to_sym, to_view, variable
from .residues import residue_of
from .rewrite import RewriteSimplifier
from .simplifier import Extension
from .terms import Term, body_of_let, expression_of, term_of

_LIMIT = (1 << 63) - 1
_VSCALES = range(1, 17)
"""The values that `T.vscale()` has on processors with SVE."""


def bind_range(known: _sym.Analyzer, var: Var, first: SymExpr, extent: SymExpr) -> None:
    """Bind a variable to a range as TVM does: one of a single value is that value."""
    if extent.constant == 1:
        known.bind_value(var, first)
    else:
        known.bind_range(var, first, extent)


class ProofStrength(IntEnum):
    """The effort of a proof; this analyzer has a single, bounded effort."""

    DEFAULT = 0
    SYMBOLIC_BOUND = 1


@dataclass(frozen=True)
class ConstIntBound:
    """The integers from `min_value` to `max_value`, inclusive; `NEG_INF` and `POS_INF` mean unbounded."""

    min_value: int
    max_value: int

    POS_INF: ClassVar[int] = _LIMIT
    NEG_INF: ClassVar[int] = -_LIMIT


@dataclass(frozen=True)
class ModularSet:
    """The integers `coeff * k + base`; with a `coeff` of 0 only `base`."""

    coeff: int
    base: int


class IntSet:
    """A set of integers."""

    __slots__ = ("interval",)
    interval: _sets.SymInterval

    @staticmethod
    def of(interval: _sets.SymInterval) -> IntervalSet:
        """Return the view of a set."""
        out = IntervalSet.__new__(IntervalSet)
        out.interval = interval
        return out

    @staticmethod
    def single_point(point: ExprLike) -> IntervalSet:
        """Return the set of a single value."""
        return IntSet.of(_sets.SymInterval.point(to_sym(point)))

    @staticmethod
    def vector(vec: ExprLike) -> IntervalSet:
        """Return the set of a vector's lanes; for a ramp, the integers from the first to the last lane."""
        e = prim_expr.convert(vec)
        op = e.ssa.owner
        if isinstance(op, tir.BroadcastOp):
            return IntSet.single_point(PrimExpr(op.value))
        if not isinstance(op, tir.RampOp) or not isinstance(op.result.type, VectorType):
            return IntSet.single_point(e)
        base, step = to_sym(PrimExpr(op.base)), to_sym(PrimExpr(op.stride))
        if is_scalable(op.result.type):  # of any number of lanes
            rises, falls = _is_positive(step), _is_negative(step)
            return IntSet.of(_sets.SymInterval(base if rises else None, base if falls else None))
        last = base + step * (op.result.type.get_shape()[0] - 1)
        return IntSet.of(_sets.SymInterval.point(base).union(_sets.SymInterval.point(last)))

    def is_nothing(self) -> bool:
        """Return whether the set is provably empty."""
        return self.interval.is_empty

    def is_everything(self) -> bool:
        """Return whether the set contains all integers."""
        return self.interval.is_everything

    def is_single_point(self) -> bool:
        """Return whether the set provably contains exactly one integer."""
        return self.interval.is_point

    def union(self, other: IntSet) -> IntervalSet:
        """Return the smallest interval that contains both sets."""
        return IntSet.of(self.interval.union(other.interval, _sym.Analyzer()))

    def intersect(self, other: IntSet) -> IntervalSet:
        """Return the intersection."""
        return IntSet.of(self.interval.intersect(other.interval, _sym.Analyzer()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IntSet) and self.interval == other.interval

    def __hash__(self) -> int:
        return hash(self.interval)

    def __repr__(self) -> str:
        if self.is_nothing():
            return "IntervalSet(nothing)"
        low, high = (None if e is None else to_view(e) for e in (self.interval.low, self.interval.high))
        return f"IntervalSet({'neg_inf' if low is None else low}, {'pos_inf' if high is None else high})"


def _is_positive(step: SymExpr) -> bool:
    return step.constant is not None and step.constant > 0


def _is_negative(step: SymExpr) -> bool:
    return step.constant is not None and step.constant < 0


def union_lower_bound(sets: Sequence[IntSet]) -> IntSet:
    """Return an interval contained in the union: the first set, extended by sets that touch it."""
    known = _sym.Analyzer()
    out = _sets.NOTHING
    for each in (s.interval for s in sets if not s.is_nothing()):
        if out.is_empty:
            out = each
        elif _reaches(out, each, known) and _reaches(each, out, known):
            out = out.union(each, known)
    return IntSet.of(out)


def _reaches(first: _sets.SymInterval, second: _sets.SymInterval, known: _sym.Analyzer) -> bool:
    """Return whether the second interval starts at most one after the end of the first."""
    if first.high is None or second.low is None:
        return True
    return known.can_prove(OPS["le"](second.low, first.high + 1))


_POS_INF, _NEG_INF = (variables.Var(name, "int64") for name in ("pos_inf", "neg_inf"))


def pos_inf() -> PrimExpr:
    """Return the symbol for positive infinity."""
    return _POS_INF


def neg_inf() -> PrimExpr:
    """Return the symbol for negative infinity."""
    return _NEG_INF


class IntervalSet(IntSet):
    """The integers from `min_value` to `max_value`, inclusive."""

    __slots__ = ()

    def __init__(self, min_value: ExprLike, max_value: ExprLike) -> None:
        self.interval = _sets.SymInterval(_end(min_value, _NEG_INF), _end(max_value, _POS_INF))

    @property
    def min_value(self) -> PrimExpr:
        """The lower end, `neg_inf()` if unbounded; `pos_inf()` for the empty set."""
        low = self.interval.low
        return _POS_INF if self.interval.is_empty else _NEG_INF if low is None else to_view(low)

    @property
    def max_value(self) -> PrimExpr:
        """The upper end, `pos_inf()` if unbounded; `neg_inf()` for the empty set."""
        high = self.interval.high
        return _NEG_INF if self.interval.is_empty else _POS_INF if high is None else to_view(high)


def _end(value: ExprLike, infinite: PrimExpr) -> SymExpr | None:
    return None if isinstance(value, PrimExpr) and value.same_as(infinite) else to_sym(value)


def set_of(value: Any) -> _sets.SymInterval:
    """Convert a domain (a set, a range, or a value) to a set. Raises `TiraxError` for anything else."""
    if isinstance(value, IntSet):
        return value.interval
    if isinstance(value, Range):
        first, extent = ends_of(value)
        return _sets.SymInterval(first, first + extent - 1)
    return _sets.SymInterval.point(to_sym(value))


def domain_of(domains: Mapping[Any, Any] | None) -> dict[Var, _sets.SymInterval]:
    """Convert domains to sets, by variable."""
    return {variable(v): set_of(s) for v, s in (domains or {}).items()}


class ConstraintScope:
    """A context manager in which a condition is assumed."""

    def __init__(self, fenter: Callable[[], Any]) -> None:
        self._enter = fenter
        self._inside: Any = None

    def __enter__(self) -> None:
        self._inside = self._enter()
        self._inside.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._inside.__exit__(*error)


class Analyzer:
    """Knowledge about variables, and what it implies for expressions.

    Arithmetic is that of integers, without overflow. `known` is the analyzer of symbolic expressions.
    """

    def __init__(self) -> None:
        self.known = _sym.Analyzer()
        self._facts_of: dict[Var, object] = {}
        self._typed: set[Var] = set()
        self._vscale: Var | None = None
        self.enabled_extensions = Extension.NoExtensions

    # Facts

    def bind(self, var: PrimExpr, expr: ExprLike | Range, allow_override: bool = False) -> None:
        """Bind a variable to an expression or a range. Raises `TiraxError` for a conflicting earlier binding."""
        v = variable(var)
        if isinstance(expr, Range):
            self._tell(v, ends_of(expr), allow_override)
            bind_range(self.known, v, *ends_of(expr))
            return
        value = to_sym(expr)
        self._tell(v, value, allow_override)
        self.known.bind_value(v, value)

    def update(self, var: PrimExpr, info: ConstIntBound | ModularSet | IntSet, override: bool = False) -> None:
        """Set the bounds, residue or set of a variable. Raises `TiraxError` for conflicting earlier ones."""
        v = variable(var)
        if isinstance(info, ModularSet):
            self.known.bind_residue(v, _sym.Residue.of(info.coeff, info.base))
            return
        self._tell(v, info, override)
        if isinstance(info, ConstIntBound):
            low, high = (
                inf * (-1 if e < 0 else 1) if abs(e) == _LIMIT else e for e in (info.min_value, info.max_value)
            )
            self.known.bind(v, low, high)
        elif info.interval.low is not None and info.interval.high is not None:
            self.known.bind_range(v, info.interval.low, info.interval.high - info.interval.low + 1)

    def _tell(self, var: Var, info: object, override: bool) -> None:
        before = self._facts_of.get(var)
        if before is not None and before != info and not override:
            raise TiraxError(
                f"something else is known of '{to_view(var)}'", expected=before, found=info, hint="allow overriding"
            )
        self._facts_of[var] = info
        self._typed.add(var)

    def constraint_scope(self, constraint: ExprLike) -> ConstraintScope:
        """Assume a condition in a block: `with analyzer.constraint_scope(n > 4): ...`."""
        return ConstraintScope(lambda: self._assuming(constraint))

    @contextmanager
    def _assuming(self, constraint: ExprLike) -> Iterator[None]:
        condition = self._condition(constraint)
        with self.known.constraint_scope(condition):
            yield

    def clone(self) -> Analyzer:
        """Return an analyzer with the same knowledge."""
        out = Analyzer()
        out.known, out._facts_of, out._typed = self.known.copy(), dict(self._facts_of), set(self._typed)
        out._vscale = self._vscale
        return out

    def _read(self, e: ExprLike) -> SymExpr:
        """Return a symbolic expression; unknown variables are bounded by their dtypes."""
        expr = to_sym(e)
        for v in expr.free_vars():
            if v not in self._typed and v.value is not None:
                self._typed.add(v)
                limits = _type_limits(v.dtype)
                if limits is not None and self.known.bounds(v) == _sym.EVERYTHING:
                    self.known.bind(v, *limits)
        return expr

    def _condition(self, e: ExprLike) -> SymExpr:
        """Return a symbolic condition, in which all calls of `T.vscale()` are the same number."""
        expr = self._read(e)
        calls = [v for v in expr.free_vars() if _is_vscale(v)]
        if not calls:
            return expr
        self._vscale = self._vscale or calls[0]
        return expr.substitute(dict.fromkeys(calls, self._vscale))

    # Queries

    def const_int_bound(self, expr: ExprLike) -> ConstIntBound:
        """Return constant bounds of an expression."""
        low, high = self.bounds(prim_expr.convert(expr))
        return ConstIntBound(int(max(low, ConstIntBound.NEG_INF)), int(min(high, ConstIntBound.POS_INF)))

    def bounds(self, expr: PrimExpr) -> Interval:
        """Return the tighter of the bounds known for the expression itself and those derived from its parts."""
        known = self._known_bounds(expr)
        with suppress(RecursionError):  # a tree that is too deep is only known as a whole
            known = known.meet(bounds_of(term_of(expr.ssa), lambda leaf: self._known_bounds(expression_of(leaf))))
        return known

    def _known_bounds(self, expr: PrimExpr) -> Interval:
        return self.known.bounds(self._read(expr)) if isinstance(expr.type, IntegerType) else EVERYTHING

    def const_int_bound_is_bound(self, var: PrimExpr) -> bool:
        """Return whether a variable is bound."""
        return variable(var) in self._facts_of

    def modular_set(self, expr: ExprLike) -> ModularSet:
        """Return the residue class of an expression."""
        residue = self._residue(term_of(prim_expr.convert(expr).ssa))
        return ModularSet(residue.step, residue.base)

    def residue(self, expr: PrimExpr) -> _sym.Residue:
        """Return the residue class known for an expression itself and derived from its parts."""
        residue = self._residue(term_of(expr.ssa))
        return residue.meet(self.known.residue(self._read(expr))) if isinstance(expr.type, IntegerType) else residue

    def _residue(self, term: Term) -> _sym.Residue:
        return residue_of(term, self._leaf_residue, lambda t: self.bounds(expression_of(t)).low)

    def _leaf_residue(self, leaf: Term) -> _sym.Residue:
        op = leaf.value.owner if isinstance(leaf.value, SSAValue) else None
        if isinstance(op, tir.LetInOp):
            return self._residue(body_of_let(op))
        if not isinstance(leaf.dtype, IntegerType):
            return _sym.Residue.of(1, 0)
        return self.known.residue(self._read(expression_of(leaf)))

    def int_set(self, expr: ExprLike, dom_map: Mapping[Any, Any] | None = None) -> IntervalSet:
        """Return the values of an expression for the domains of variables in `dom_map`."""
        return IntSet.of(_sets.values_of(self._read(expr), domain_of(dom_map), self.known))

    def simplify(self, expr: ExprLike, steps: int = 2) -> PrimExpr:
        """Return an equivalent expression, as simple as the known facts allow; non-integers are unchanged."""
        original = prim_expr.convert(expr)
        if not isinstance(original.type, IntegerType) or (is_unsigned(original.type) and original.type != i1):
            return original  # unsigned arithmetic wraps around
        return self.arranged(original)

    def arranged(self, expr: ExprLike) -> PrimExpr:
        """Return an integer expression in the form of TVM's passes: canonical, by the rewriting rules, canonical."""
        once = CanonicalSimplifier(self)(prim_expr.convert(expr))
        twice = RewriteSimplifier(self)(once)
        return twice if twice.constant is not None else CanonicalSimplifier(self)(twice)

    def bound_value(self, var: PrimExpr) -> PrimExpr:
        """Return the value that a variable is bound to or equated with by a condition, or the variable itself."""
        read = self._read(var)
        value = self.known.simplify(read)
        if value == read or not isinstance(read, Var) or read in self.known.facts.namesakes and isinstance(value, Var):
            return var
        return to_view(value)

    def rewrite_simplify(self, expr: ExprLike) -> PrimExpr:
        """Return the normal form by the rules of `rewrite_rules`; expressions that are nested too deeply are
        unchanged.
        """
        return RewriteSimplifier(self)(prim_expr.convert(expr))

    def canonical_simplify(self, expr: Any, steps: int = 2) -> Any:
        """Return an equivalent expression with combined sums of quotients and remainders (see `canonical`).

        For a reduction of `te` the sources are simplified, with the ranges of its axes known.
        """
        if isinstance(expr, Reduce):
            return self._reduction(expr)
        return CanonicalSimplifier(self)(prim_expr.convert(expr))

    def _reduction(self, e: Reduce) -> Reduce:
        for axis in e.axes:
            self.bind(axis, Range.from_min_extent(from_sym(axis.min), from_sym(axis.extent)))
        init = None if e.init is None else tuple(map(self.canonical_simplify, e.init))
        return replace(e, sources=tuple(map(self.canonical_simplify, e.sources)), init=init)

    def is_constrained(self, expr: ExprLike) -> bool:
        """Return whether a condition constrains one of the variables of an expression, beyond their ranges."""
        return self.known.facts.mentions(self._read(expr))

    def can_prove(self, expr: ExprLike, strength: ProofStrength = ProofStrength.DEFAULT) -> bool:
        """Return whether a condition is provably true.

        Floats count as numbers, without NaN. Conditions on `T.vscale()` are tried for each value that it may have, if
        the current target has SVE; otherwise a warning says that they are not.
        """
        term = term_of(prim_expr.convert(expr).ssa)
        if term.op in ("eq", "le", "ge") and term.args[0] is term.args[1]:
            return True
        condition = self._condition(expr)
        return self.known.can_prove(condition) or self._holds_for_vscale(condition)

    def _holds_for_vscale(self, condition: SymExpr) -> bool:
        calls = [v for v in condition.free_vars() if _is_vscale(v)]
        if not calls:
            return False
        target = Target.current()
        if has_scalable_vectors(target):
            values = (condition.substitute(dict.fromkeys(calls, Const(n, calls[0].dtype))) for n in _VSCALES)
            return all(map(self.known.can_prove, values))
        kind, _, options = str(target).partition(" ")
        keys: list[str] = getattr(target, "keys", [])
        shown = " ".join(word for word in (kind, f"-keys={','.join(keys)}" if keys else "", options) if word)
        sys.stderr.write(
            "Warning: The expression contains scalable values. An attempt to prove by substituting with known values "
            "of vscale was not performed. This proof currently only supports AArch64 SVE targets, but the target was "
            f"{shown}\n"
        )
        return False

    def can_prove_equal(self, lhs: ExprLike, rhs: ExprLike) -> bool:
        """Return whether two expressions are provably equal; those that are no integers are if they are the same."""
        one, other = prim_expr.convert(lhs), prim_expr.convert(rhs)
        if not isinstance(one.type, IntegerType) or not isinstance(other.type, IntegerType):
            return term_of(one.ssa) is term_of(other.ssa)
        return self.known.can_prove_equal(self._read(lhs), self._read(rhs))

    def can_prove_less(self, expr: ExprLike, bound: int) -> bool:
        """Return whether an expression is provably less than a constant."""
        return self.known.bounds(self._read(expr)).high < bound

    def can_prove_greater_equal(self, expr: ExprLike, bound: int) -> bool:
        """Return whether an expression is provably at least a constant."""
        return self.known.bounds(self._read(expr)).low >= bound


def _is_vscale(v: Var) -> bool:
    op = v.value.owner if isinstance(v.value, SSAValue) else None
    return isinstance(op, tir.CallIntrinOp) and op.func.data == "vscale"


def _type_limits(dtype: IntegerType) -> tuple[int, int] | None:
    """Return the minimum and maximum of a narrow dtype, or None for 64 bits, which represent all integers."""
    bits = bit_width(dtype)
    if bits >= 64:
        return (0, (1 << bits) - 1) if is_unsigned(dtype) else None
    if is_unsigned(dtype) or dtype == i1:
        return 0, (1 << bits) - 1
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


# Regions

Region = Sequence[Range]


def estimate_region_strict_bound(
    region: Region, var_dom: Mapping[Any, Range], predicate: ExprLike = True
) -> list[IntervalSet] | None:
    """Return exactly the elements of the region over the domains, if they are provably a box, or None."""
    box = _exact_box(region, var_dom, predicate)
    return None if box is None else [IntSet.of(s) for s in box]


estimate_region_lower_bound = estimate_region_strict_bound


def estimate_region_upper_bound(
    region: Region, var_dom: Mapping[Any, Range], predicate: ExprLike = True
) -> list[IntervalSet]:
    """Return a box that contains the elements of the region over the domains, where a condition holds."""
    exact = _exact_box(region, var_dom, predicate)
    if exact is None:
        domain, known = domain_of(var_dom), _sym.Analyzer()
        for v, range_ in var_dom.items():
            known.bind_range(variable(v), *ends_of(range_))
        known.assume(to_sym(predicate))
        exact = []
        for first, extent in map(ends_of, region):
            low, high = _sets.values_of(first, domain, known), _sets.values_of(first + extent - 1, domain, known)
            least, most = known.bounds(first).low, known.bounds(first + extent - 1).high
            exact.append(_sets.SymInterval(_nearer(max, low.low, least), _nearer(min, high.high, most)))
    return [IntSet.of(s) for s in exact]


def _nearer(choose: Callable[[float, float], float], end: SymExpr | None, limit: float) -> SymExpr | None:
    """Return the end of a set, or the limit implied by conditions if it is tighter or the set is unbounded."""
    if isinf(limit) or (end is not None and (end.constant is None or choose(end.constant, limit) == end.constant)):
        return end
    return Const(int(limit)) if end is None else Const(int(limit), end.dtype)


def _exact_box(region: Region, var_dom: Mapping[Any, Range], predicate: ExprLike) -> list[_sets.SymInterval] | None:
    ranges = {variable(v): ends_of(r) for v, r in var_dom.items()}
    return exact_box([ends_of(r) for r in region], ranges, to_sym(predicate))
