"""TVM's nodes of quasi-affine maps: marks, splits and sums, whose parts are scalar expressions."""

from __future__ import annotations

from collections.abc import Sequence

from ....diagnostics import DTypeError
from ....handles.tir import prim_expr as tx
from ....handles.tir.expr_kinds import class_name, expr_node
from ....handles.tir.expr_trees import same_tree
from ....handles.tir.prim_expr import ExprLike, PrimExpr
from ..arith.analyzer import Analyzer


def is_one(e: PrimExpr) -> bool:
    """Return whether an expression is the constant 1."""
    return e.constant == 1


def is_zero(e: PrimExpr) -> bool:
    """Return whether an expression is the constant 0."""
    return e.constant == 0


def same(a: PrimExpr, b: PrimExpr) -> bool:
    """Return whether two expressions are one tree."""
    return same_tree(a.ssa, b.ssa)


class IterMapExpr:
    """A part of a map. Equality is structural; the analysis compares marks by identity."""

    __slots__ = ()

    @property
    def dtype(self) -> str:
        """The dtype of the expression that the part stands for."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        return all(_equal(getattr(self, name), getattr(other, name)) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.dtype))

    def same_as(self, other: object) -> bool:
        """Return whether both are the same node."""
        return self is other


def _equal(a: object, b: object) -> bool:
    if isinstance(a, PrimExpr) and isinstance(b, PrimExpr):
        return same(a, b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    return a is b or isinstance(a, IterMapExpr) and a == b


class IterMark(IterMapExpr):
    """An iterator with values from 0 to `extent` - 1; `source` is an expression, or the sum that it fuses."""

    __slots__ = ("extent", "source")
    source: PrimExpr | IterSplitExpr | IterSumExpr
    extent: PrimExpr

    def __init__(self, source: ExprLike | IterSplitExpr | IterSumExpr, extent: ExprLike) -> None:
        if isinstance(source, IterMark):
            raise DTypeError("a mark is no source of another", expected="an expression, a split or a sum")
        self.source = source if isinstance(source, IterMapExpr) else expr_node(tx.convert(source).ssa)
        self.extent = tx.convert(extent)

    @property
    def dtype(self) -> str:
        return self.source.dtype

    def __repr__(self) -> str:
        return f"IterMark({self.source}, extent={self.extent})"


class IterSplitExpr(IterMapExpr):
    """`source // lower_factor % extent * scale`"""

    __slots__ = ("extent", "lower_factor", "scale", "source")
    source: IterMark
    lower_factor: PrimExpr
    extent: PrimExpr
    scale: PrimExpr

    def __init__(self, source: IterMark, lower_factor: ExprLike, extent: ExprLike, scale: ExprLike) -> None:
        self.source = source
        self.lower_factor, self.extent, self.scale = map(tx.convert, (lower_factor, extent, scale))

    @staticmethod
    def whole(mark: IterMark, scale: ExprLike | None = None) -> IterSplitExpr:
        """Return all digits of an iterator, times a scale."""
        one = tx.const(1, mark.dtype)
        return IterSplitExpr(mark, one, mark.extent, one if scale is None else scale)

    def replaced(self, **parts: IterMark | PrimExpr) -> IterSplitExpr:
        """Return a copy with other parts."""
        own = {name: getattr(self, name) for name in self.__slots__}
        return IterSplitExpr(**{**own, **parts})

    def is_digit_of(self, other: IterSplitExpr) -> bool:
        """Return whether both are the same digits of one iterator, whatever their scales are."""
        if self.source is not other.source:
            return False
        return same(self.lower_factor, other.lower_factor) and same(self.extent, other.extent)

    @property
    def dtype(self) -> str:
        return self.source.dtype

    def __repr__(self) -> str:
        factors = f"lower_factor={self.lower_factor}, extent={self.extent}, scale={self.scale}"
        return f"IterSplit({self.source}, {factors})"


class IterSumExpr(IterMapExpr):
    """A sum of splits and a base."""

    __slots__ = ("args", "base")
    args: list[IterSplitExpr]
    base: PrimExpr

    def __init__(self, args: Sequence[IterSplitExpr], base: ExprLike) -> None:
        self.args, self.base = list(args), tx.convert(base)

    @property
    def dtype(self) -> str:
        return self.base.dtype

    def plus(self, other: IterSumExpr, sign: int = 1) -> IterSumExpr:
        """Return the sum, or with `sign` -1 the difference; digits that both have are one split."""
        args = list(self.args)
        for split in other.args:
            at = next((k for k, old in enumerate(args) if old.is_digit_of(split)), None)
            if at is None:
                zero = tx.const(0, split.scale.dtype)
                args.append(split if sign > 0 else split.replaced(scale=zero - split.scale))
            else:
                old = args[at].scale
                args[at] = split.replaced(scale=old + split.scale if sign > 0 else old - split.scale)
        return IterSumExpr(args, self.base + other.base if sign > 0 else self.base - other.base)

    def times(self, factor: PrimExpr) -> IterSumExpr:
        """Return the sum multiplied by an expression without iterators."""
        return IterSumExpr([s.replaced(scale=s.scale * factor) for s in self.args], self.base * factor)

    def is_same(self, other: IterSumExpr) -> bool:
        """Return whether both have the same base and the same splits of the same marks."""
        if len(self.args) != len(other.args) or not same(self.base, other.base):
            return False
        return all(a.is_digit_of(b) and same(a.scale, b.scale) for a, b in zip(self.args, other.args, strict=True))

    def __repr__(self) -> str:
        return f"IterSum({self.args}, {self.base})"


def to_sum(e: PrimExpr | IterSplitExpr | IterSumExpr) -> IterSumExpr:
    """Return a part, or an expression without iterators, as a sum."""
    if isinstance(e, IterSumExpr):
        return e
    if isinstance(e, IterSplitExpr):
        return IterSumExpr([e], tx.const(0, e.dtype))
    return IterSumExpr([], e)


def to_expr(e: PrimExpr | IterMapExpr, analyzer: Analyzer | None = None) -> PrimExpr:
    """Return the scalar expression that a part stands for."""
    rules = Analyzer() if analyzer is None else analyzer
    if isinstance(e, IterMark):
        return to_expr(e.source, rules)
    if isinstance(e, IterSplitExpr):
        return _split_expr(e, rules)
    if isinstance(e, IterSumExpr):
        total: PrimExpr | None = None
        for split in e.args:
            term = _split_expr(split, rules)
            total = term if total is None else total + term
        return e.base if total is None else total + e.base
    assert isinstance(e, PrimExpr)
    return e


def _split_expr(e: IterSplitExpr, rules: Analyzer) -> PrimExpr:
    source, whole = to_expr(e.source.source, rules), e.source.extent
    if is_one(e.lower_factor) and rules.can_prove_equal(e.extent, whole):
        return source * e.scale
    if rules.can_prove_equal(whole, e.lower_factor * e.extent):
        if is_one(e.extent) and not is_one(whole):
            return tx.const(0, e.extent.dtype)
        return tx.floordiv(source, e.lower_factor) * e.scale
    return tx.floordiv(tx.floormod(source, e.lower_factor * e.extent), e.lower_factor) * e.scale


def is_divisible(e: PrimExpr, divisor: PrimExpr, rules: Analyzer) -> bool:
    """Return whether a divisor provably divides an expression; 0 divides none."""
    value, by = e.constant, divisor.constant
    if by == 0:
        return False
    if value is not None and by is not None:
        return value % by == 0
    return rules.can_prove_equal(e, divisor) or rules.can_prove_equal(tx.floormod(e, divisor), tx.const(0, e.dtype))


def factors_of(e: PrimExpr) -> list[PrimExpr]:
    """Return the factors of a product, in order."""
    node = expr_node(e.ssa)
    return [*factors_of(node.part_of("a")), *factors_of(node.part_of("b"))] if class_name(node) == "Mul" else [node]


def product_of(dtype: str, *factors: PrimExpr) -> PrimExpr:
    """Return a product in normal form: symbols in order, then the product of the constants unless it is 1."""
    number, out = 1, tx.const(1, dtype)
    for factor in (f for e in factors for f in factors_of(e)):
        if factor.constant is not None:
            number *= int(factor.constant)
        else:
            out = out * factor
    return out if number == 1 else out * tx.const(number, dtype)
