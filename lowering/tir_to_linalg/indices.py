"""Indices of accesses as affine expressions of the iterators of a nest, from an offset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ...dialects.sym.expr import Const, Op, SymExpr, Var, offset_of, terms_of
from ...ir.affine.values import sym_expr_of


@dataclass(frozen=True)
class Index:
    """`expr + offset`: an expression of iterators, by their positions, and a number that is the same for all points."""

    expr: AffineExpr
    offset: SymExpr
    linear: Mapping[int, int] | None
    """The factors of the iterators; None if there is a quotient or remainder."""

    @property
    def bare(self) -> int | None:
        """The iterator that the index is, but for the offset; None if it is a combination."""
        if self.linear is not None and list(self.linear.values()) == [1]:
            return next(iter(self.linear))
        return None


@dataclass(frozen=True)
class Scope:
    """What values are in a nest: iterators by position, and iterators with one value there by its expression."""

    root: Operation
    dims: Mapping[SSAValue, int]
    fixed: Mapping[SSAValue, SymExpr] = field(default_factory=dict[SSAValue, SymExpr])

    def index(self, value: SSAValue) -> Index | None:
        """Return an index, None if it is not affine."""
        return self._affine(self.expr(value))

    def expr(self, value: SSAValue) -> SymExpr:
        """Return the expression of an integer, over the iterators and what is constant in the nest."""
        found = sym_expr_of(value, through_casts=True)
        variables = [(v, v.value) for v in found.free_vars()]
        known = {v: self.fixed[value] for v, value in variables if value is not None and value in self.fixed}
        return found.substitute(known) if known else found

    def is_constant(self, e: SymExpr) -> bool:
        """Return whether an expression has one value in the nest."""
        values = [v.value for v in e.free_vars() if v.value is not None]
        return not any(v in self.dims or self._is_inside(v) for v in values)

    def _is_inside(self, value: SSAValue) -> bool:
        owner = value.owner
        op = owner if isinstance(owner, Operation) else owner.parent_op()
        return op is not None and self.root.is_ancestor(op)

    def _affine(self, e: SymExpr) -> Index | None:
        expr: AffineExpr | None = None
        offset: SymExpr = Const(offset_of(e))
        linear: dict[int, int] | None = {}
        for term, factor in terms_of(e):
            if self.is_constant(term):
                offset += term * factor
                continue
            part = self._term(term)
            if part is None:
                return None
            dim = self._position(term)
            if dim is not None and linear is not None:
                linear[dim] = linear.get(dim, 0) + factor
            else:
                linear = None
            scaled = part if factor == 1 else part * factor
            expr = scaled if expr is None else expr + scaled
        return Index(AffineExpr.constant(0) if expr is None else expr, offset, linear)

    def _position(self, term: SymExpr) -> int | None:
        value = term.value if isinstance(term, Var) else None
        return None if value is None else self.dims.get(value)

    def _term(self, term: SymExpr) -> AffineExpr | None:
        if isinstance(term, Var):
            dim = self._position(term)
            return None if dim is None else AffineExpr.dimension(dim)
        if not isinstance(term, Op) or term.kind not in ("floordiv", "floormod"):
            return None
        inner, divisor = self._affine(term.args[0]), term.args[1].constant
        if inner is None or inner.offset.constant is None or divisor is None or divisor <= 0:
            return None
        whole = inner.expr + inner.offset.constant if inner.offset.constant else inner.expr
        return whole // divisor if term.kind == "floordiv" else whole % divisor
