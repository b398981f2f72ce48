"""Symbolic integer expressions in canonical form.

An expression is immutable and kept canonical by its constructors: a sum of integer multiples of products of atoms.
Atoms are variables and the operations that are not linear (floor division, modulo, min, max, select, comparisons).
Terms stay in the order in which they were written, for printing; equality does not see the order.

A `Var` is named by a string (a symbolic shape variable, scoped to the function) or by an SSA value (in analyses only:
such an expression can not be put into an attribute).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from math import gcd, prod
from typing import ClassVar, Generic, TypeGuard, TypeVar

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from .operations import CONDITIONS, OPERATIONS

i1, i32, i64 = IntegerType(1), IntegerType(32), IntegerType(64)

Key = tuple[object, ...]
_FEW = 64
"""Products of up to this many terms are expanded without a check."""
T = TypeVar("T")


def _allow(count: int) -> None:
    """Allow the expansion of products of any number of terms."""


class SymExpr:
    """Base of symbolic expressions; `dtype` is the integer type (i1 for conditions)."""

    __slots__ = ("_hash", "dtype", "key")
    key: Key
    dtype: IntegerType
    check_terms: ClassVar[Callable[[int], None]] = staticmethod(_allow)
    """Rejects products of too many terms; set by `ir/passes/limits.py`."""
    write: ClassVar[Callable[[SymExpr], str]]
    """Returns the text in MLIR; set by `writing`."""
    substitution: ClassVar[Callable[[Mapping[Var, SymExpr]], Algebra[SymExpr]]]
    """Returns the fold that replaces variables; set by `rebuild`."""

    def _init(self, key: Key, dtype: IntegerType) -> None:
        self.key = key
        self.dtype = dtype
        self._hash = hash(key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, SymExpr) and self.key == other.key)

    def __add__(self, other: ExprLike) -> SymExpr:
        return add(self, other)

    def __radd__(self, other: ExprLike) -> SymExpr:
        return add(other, self)

    def __sub__(self, other: ExprLike) -> SymExpr:
        return sub(self, other)

    def __rsub__(self, other: ExprLike) -> SymExpr:
        return sub(other, self)

    def __neg__(self) -> SymExpr:
        return mul(self, -1)

    def __mul__(self, other: ExprLike) -> SymExpr:
        return mul(self, other)

    def __rmul__(self, other: ExprLike) -> SymExpr:
        return mul(other, self)

    def __floordiv__(self, other: ExprLike) -> SymExpr:
        return floordiv(self, other)

    def __rfloordiv__(self, other: ExprLike) -> SymExpr:
        return floordiv(other, self)

    def __mod__(self, other: ExprLike) -> SymExpr:
        return floormod(self, other)

    def __rmod__(self, other: ExprLike) -> SymExpr:
        return floormod(other, self)

    @property
    def constant(self) -> int | None:
        """The value if the expression is a constant, else None."""
        return None

    def children(self) -> tuple[SymExpr, ...]:
        return ()

    def free_vars(self) -> list[Var]:
        """Return the distinct variables in order of first occurrence."""
        variables: dict[Var, None] = {}
        stack: list[SymExpr] = [self]
        seen: set[int] = set()  # parts may be shared
        while stack:
            e = stack.pop()
            if isinstance(e, Var):
                variables[e] = None
            elif id(e) not in seen:
                seen.add(id(e))
                stack.extend(reversed(e.children()))
        return list(variables)

    def tree_size(self) -> int:
        """Return the number of nodes of the expression as a tree: shared parts count each time."""
        sizes: dict[int, int] = {}
        stack: list[SymExpr] = [self]
        while stack:
            e = stack[-1]
            missing = [c for c in e.children() if id(c) not in sizes]
            stack += missing
            if not missing:
                sizes[id(e)] = 1 + sum(sizes[id(c)] for c in e.children())
                stack.pop()
        return sizes[id(self)]

    def fold(self, algebra: Algebra[T]) -> T:
        """Return the value of the expression in an algebra."""
        raise NotImplementedError(type(self).__name__)

    def substitute(self, mapping: Mapping[Var, SymExpr]) -> SymExpr:
        """Return the expression with variables replaced, in canonical form."""
        return self.fold(SymExpr.substitution(mapping))

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Return the value for values of the named variables. Raises `KeyError` for a missing one."""
        return self.fold(_Evaluation(values))

    def __str__(self) -> str:
        return SymExpr.write(self)

    def __repr__(self) -> str:
        return f"sym<{self}>"


ExprLike = SymExpr | int


class Const(SymExpr):
    __slots__ = ("value",)

    def __init__(self, value: int, dtype: IntegerType = i64):
        self.value = int(value)
        self._init(("const", self.value, dtype.width.data), dtype)

    @property
    def constant(self) -> int:
        return self.value

    def free_vars(self) -> list[Var]:
        return []

    def fold(self, algebra: Algebra[T]) -> T:
        return algebra.const(self)


class Var(SymExpr):
    """A variable: a name scoped to the function, or an SSA value."""

    __slots__ = ("name",)

    def __init__(self, name: str | SSAValue, dtype: IntegerType = i64):
        self.name = name
        self._init(("var", name, dtype.width.data), dtype)

    @property
    def value(self) -> SSAValue | None:
        """The SSA value of the variable, None for a named variable."""
        return None if isinstance(self.name, str) else self.name

    def free_vars(self) -> list[Var]:
        return [self]

    def fold(self, algebra: Algebra[T]) -> T:
        return algebra.var(self)


class Product(SymExpr):
    """A product of two or more atoms (never constants)."""

    __slots__ = ("atoms",)

    def __init__(self, atoms: tuple[SymExpr, ...]):
        self.atoms = atoms
        self._init(("*", frozenset(Counter(atoms).items())), widest_type(atoms))

    def children(self) -> tuple[SymExpr, ...]:
        return self.atoms

    def fold(self, algebra: Algebra[T]) -> T:
        return algebra.product(self)


class Sum(SymExpr):
    """`sum(coefficient * term) + offset`; terms are atoms or products, coefficients are nonzero.

    `place` is the number of terms written before the offset: it only affects the text.
    """

    __slots__ = ("offset", "place", "terms")

    def __init__(
        self, terms: tuple[tuple[SymExpr, int], ...], offset: int, dtype: IntegerType, place: int | None = None
    ):
        self.terms = terms
        self.offset = offset
        self.place = len(terms) if place is None else min(place, len(terms))
        self._init(("+", frozenset(terms), offset), dtype)

    @property
    def taken(self) -> int:
        """The part of the offset that is written inside quotients."""
        return sum(c * t.taken for t, c in self.terms if type(t) is Op)

    def children(self) -> tuple[SymExpr, ...]:
        return tuple(t for t, _ in self.terms)

    def fold(self, algebra: Algebra[T]) -> T:
        return algebra.sum(self)


class Op(SymExpr):
    """A nonlinear operation: `kind` is a key of `OPS`.

    `taken` is the number that was taken out of a quotient: sums with it print the number inside the quotient, as `(n +
    3) floordiv 2` for `1 + (n + 1) floordiv 2`. Like the place of an offset, it only affects the text.
    """

    __slots__ = ("args", "kind", "taken")

    def __init__(self, kind: str, args: tuple[SymExpr, ...], taken: int = 0):
        self.kind = kind
        self.args = args
        self.taken = taken
        arg_key = frozenset(args) if OPERATIONS[kind].commutative else args
        self._init((kind, arg_key), i1 if kind in CONDITIONS else widest_type(args[-2:]))

    def children(self) -> tuple[SymExpr, ...]:
        return self.args

    def fold(self, algebra: Algebra[T]) -> T:
        return algebra.op(self)


MOST_ADDED = 32
"""Terms of a sum that are added one after the other."""


def total(parts: Sequence[T], add: Callable[[T, T], T]) -> T:
    """Return the sum of all parts. Many are added as a balanced tree, to bound the recursion depth of whatever
    traverses the result.
    """
    while len(parts) > MOST_ADDED:
        parts = [reduce(add, parts[n : n + MOST_ADDED]) for n in range(0, len(parts), MOST_ADDED)]
    return reduce(add, parts)


class Algebra(Generic[T]):
    """An interpretation of expressions: `e.fold(algebra)` is the value of `e` in it.

    `const` and `var` return the values of leaves; `add`, `mul` and `apply` combine two values. For other strategies,
    `sum`, `product` and `op` are overridden; they call `of` for their parts. An algebra with a cache overrides `of`,
    which is called for all parts.
    """

    def of(self, e: SymExpr) -> T:
        """Return the value of an expression or of a part of one."""
        return e.fold(self)

    def const(self, e: Const) -> T:
        raise NotImplementedError

    def var(self, e: Var) -> T:
        raise NotImplementedError

    def add(self, a: T, b: T) -> T:
        raise NotImplementedError

    def mul(self, a: T, b: T) -> T:
        raise NotImplementedError

    def apply(self, kind: str, args: list[T]) -> T:
        """Return the value of an operation of `OPS` on its operands."""
        raise NotImplementedError

    def product(self, e: Product) -> T:
        return reduce(self.mul, [self.of(a) for a in e.atoms])

    def sum(self, e: Sum) -> T:
        """Return the value of a sum: terms in order, times their factors, with the offset at its written position."""
        of = self.of
        parts = [of(t) if c == 1 else self.mul(of(t), of(Const(c, e.dtype))) for t, c in e.terms]
        if e.offset:
            parts.insert(e.place, of(Const(e.offset, e.dtype)))
        return total(parts, self.add)

    def op(self, e: Op) -> T:
        return self.apply(e.kind, [self.of(a) for a in e.args])


class _Evaluation(Algebra[int]):
    def __init__(self, values: Mapping[str, int]):
        self.values = values

    def const(self, e: Const) -> int:
        return e.value

    def var(self, e: Var) -> int:
        return self.values[e.name]  # pyright: ignore[reportArgumentType]

    def product(self, e: Product) -> int:
        return prod(self.of(a) for a in e.atoms)

    def sum(self, e: Sum) -> int:
        return sum(c * self.of(t) for t, c in e.terms) + e.offset

    def apply(self, kind: str, args: list[int]) -> int:
        return int(OPERATIONS[kind].evaluate(*args))


def widest_type(exprs: Iterable[SymExpr]) -> IntegerType:
    """Return the widest integer type of expressions, the first of equally wide ones."""
    widest: IntegerType | None = None
    for e in exprs:
        if widest is None or (e.dtype is not widest and e.dtype.width.data > widest.width.data):
            widest = e.dtype
    assert widest is not None
    return widest


def typed_like(value: ExprLike, other: ExprLike) -> SymExpr:
    """Return `value` as an expression; a Python int gets the type of `other`."""
    if isinstance(value, SymExpr):
        return value
    dtype = other.dtype if isinstance(other, SymExpr) and other.dtype != i1 else i64
    return Const(value, dtype)


def as_expr(value: ExprLike | str, dtype: IntegerType = i64) -> SymExpr:
    """Convert an int, a variable's name or an expression to an expression."""
    if isinstance(value, SymExpr):
        return value
    return Var(value, dtype) if isinstance(value, str) else Const(int(value), dtype)


def add(a: ExprLike, b: ExprLike) -> SymExpr:
    """Return a + b."""
    x, y = typed_like(a, b), typed_like(b, a)
    if x.dtype is not y.dtype:
        return _sum([(x, 1), (y, 1)], 0, widest_type((x, y)))
    if y.constant == 0:
        return x
    return y if x.constant == 0 else _sum([(x, 1), (y, 1)], 0, x.dtype)


def sub(a: ExprLike, b: ExprLike) -> SymExpr:
    """Return a - b."""
    x, y = typed_like(a, b), typed_like(b, a)
    dtype = widest_type((x, y))
    if isinstance(x, Const) and isinstance(y, Const):
        return Const(x.value - y.value, dtype)
    return _sum([(x, 1), (y, -1)], 0, dtype)


def _sum(parts: Iterable[tuple[SymExpr, int]], offset: int, dtype: IntegerType) -> SymExpr:
    terms: dict[SymExpr, int] = {}
    place: int | None = None
    for expr, factor in parts:
        if isinstance(expr, Const):
            offset += factor * expr.value
            place = len(terms) if place is None else place
        elif isinstance(expr, Sum):
            offset += factor * expr.offset
            if place is None and expr.offset != expr.taken:
                place = len(terms) + expr.place
            for term, c in expr.terms:
                terms[term] = terms.get(term, 0) + factor * c
        else:
            terms[expr] = terms.get(expr, 0) + factor
    kept = _join_div_mod({t: c for t, c in terms.items() if c})
    if not kept:
        return Const(offset, dtype)
    widest = widest_type(kept)
    if widest is not dtype and widest.width.data > dtype.width.data:
        dtype = widest
    if len(kept) == 1 and offset == 0:
        ((term, c),) = kept.items()
        if c == 1:
            return term
    return Sum(tuple(kept.items()), offset, dtype, place)


def sum_of(parts: Iterable[tuple[SymExpr, int]], offset: int, dtype: IntegerType) -> SymExpr:
    """Return the sum of expressions times factors plus an offset; its type is `dtype`, or wider if an expression
    is wider.
    """
    return _sum(parts, offset, dtype)


def terms_of(e: SymExpr) -> tuple[tuple[SymExpr, int], ...]:
    """Return the terms of a sum with their factors, without the offset; an atom or a product is one term."""
    if isinstance(e, Sum):
        return e.terms
    return () if isinstance(e, Const) else ((e, 1),)


def offset_of(e: SymExpr) -> int:
    """Return the constant of a sum."""
    return e.offset if isinstance(e, Sum) else e.value if isinstance(e, Const) else 0


def _join_div_mod(terms: dict[SymExpr, int]) -> dict[SymExpr, int]:
    """`(x // d) * d * k + (x % d) * k -> x * k`"""
    for term, k in terms.items():
        if type(term) is Op or type(term) is Product:
            for atom in _factors(term):
                if type(atom) is Op and atom.kind == "floormod":
                    joined = _with_quotient(terms, term, k, atom)
                    if joined is not None:
                        return joined
    return terms


def _wider_remainders(terms: dict[SymExpr, int], remainder: Op) -> Iterator[Op]:
    """Yield x % D of the terms with (x % D) // d, for a remainder x % d where d divides D: digits of one number."""
    x, by = remainder.args
    for term in terms:
        for atom in _factors(term) if type(term) is Op or type(term) is Product else ():
            if type(atom) is Op and atom.kind == "floordiv" and atom.args[1] == by:
                wide = atom.args[0]
                if _is_remainder_of(wide, x) and floormod(wide.args[1], by).constant == 0:
                    yield wide


def _is_remainder_of(e: SymExpr, x: SymExpr) -> TypeGuard[Op]:
    return type(e) is Op and e.kind == "floormod" and e.args[0] == x


def _with_quotient(terms: dict[SymExpr, int], term: SymExpr, k: int, remainder: Op) -> dict[SymExpr, int] | None:
    """Merge `term`, a product with `remainder`, with the term that has its quotient; None if there is no such term."""
    x, divisor = remainder.args
    factor = _over(term, Counter((remainder,)))
    for number in (x, *_wider_remainders(terms, remainder)):
        quotient = mul(mul(Op("floordiv", (number, divisor)), divisor), factor)
        parts = dict(terms_of(quotient))
        if all(terms.get(part) == k * c for part, c in parts.items()):
            break
    else:
        return None
    rest = [(t, c) for t, c in terms.items() if t is not term and t not in parts]
    joined = _sum([*rest, (mul(number, factor), k)], 0, term.dtype)
    if joined.constant is not None or offset_of(joined):
        return None
    return dict(terms_of(joined))


def _factors(e: SymExpr) -> tuple[SymExpr, ...]:
    return e.atoms if isinstance(e, Product) else (e,)


def mul(a: ExprLike, b: ExprLike) -> SymExpr:
    """Return a * b, expanded."""
    x, y = typed_like(a, b), typed_like(b, a)
    if isinstance(x, Const):
        x, y = y, x
    dtype = x.dtype if x.dtype is y.dtype else widest_type((x, y))
    if isinstance(y, Const):
        if isinstance(x, Const):
            return Const(x.value * y.value, dtype)
        if y.value == 1 and x.dtype is dtype:
            return x
        return _sum([(x, y.value)], 0, dtype) if y.value else Const(0, dtype)
    left, right = terms_of(x), terms_of(y)
    if len(left) * len(right) > _FEW:
        SymExpr.check_terms(len(left) * len(right))
    parts: list[tuple[SymExpr, int]] = [
        (Product((*_factors(t), *_factors(u))), c * d) for t, c in left for u, d in right
    ]
    x_offset, y_offset = offset_of(x), offset_of(y)
    parts += [(t, c * y_offset) for t, c in left] + [(u, d * x_offset) for u, d in right]
    return _sum(parts, x_offset * y_offset, dtype)


def _split_multiples(e: SymExpr, divisor: int) -> tuple[SymExpr, SymExpr]:
    """Return quotient and rest with `e == divisor * quotient + rest`; the quotient has all provably divisible terms."""
    terms, offset = terms_of(e), offset_of(e)
    quotient = [(t, c // divisor) for t, c in terms if c % divisor == 0]
    rest = [(t, c) for t, c in terms if c % divisor != 0]
    return _sum(quotient, offset // divisor, e.dtype), _sum(rest, offset % divisor, e.dtype)


def _without_common(x: SymExpr, y: SymExpr) -> tuple[SymExpr, SymExpr, SymExpr] | None:
    """Return `p, q, f` with `x == f * p` and `y == f * q`, for a single term y that shares factors with all of
    x; else None.
    """
    terms = terms_of(y)
    if len(terms) != 1 or offset_of(y) or offset_of(x):
        return None
    ((term, scale),) = terms
    common = Counter(_factors(term))
    for t, _ in terms_of(x):
        common &= Counter(_factors(t))
        if not common:
            return None
    p = _sum([(_over(t, common), c) for t, c in terms_of(x)], 0, x.dtype)
    return p, _sum([(_over(term, common), scale)], 0, y.dtype), product(common.elements())


def _over(term: SymExpr, factors: Counter[SymExpr]) -> SymExpr:
    """Divide a term by factors that it has."""
    left = tuple((Counter(_factors(term)) - factors).elements())
    return Const(1, term.dtype) if not left else left[0] if len(left) == 1 else Product(left)


def floordiv(a: ExprLike, b: ExprLike) -> SymExpr:
    """Return a / b rounded down. Raises `ZeroDivisionError` for a constant 0.

    Common factors are cancelled as if they were nonzero: the quotient is undefined where they are zero.
    """
    x, y = typed_like(a, b), typed_like(b, a)
    d = y.constant
    if d == 0:
        raise ZeroDivisionError("floor division of a symbolic expression by zero")
    if x == y:
        return Const(1, x.dtype)
    if x.constant == 0:
        return x
    if d is None or d < 0:
        if d is not None and x.constant is not None:
            return Const(x.constant // d, widest_type((x, y)))
        reduced = _without_common(x, y)
        return Op("floordiv", (x, y)) if reduced is None else floordiv(*reduced[:2])
    if x.constant is not None:
        return Const(x.constant // d, widest_type((x, y)))
    multiples, rest = _split_multiples(x, d)
    quotient = _floordiv_rest(rest, d, y.dtype)
    if type(quotient) is Op and quotient.args[0] is rest and offset_of(rest) and offset_of(multiples):
        quotient = Op("floordiv", quotient.args, offset_of(multiples))
        multiples = _sum(terms_of(multiples), 0, multiples.dtype)
        return _sum([(multiples, 1), (quotient, 1)], quotient.taken, widest_type((x, y)))
    return add(multiples, quotient)


def _floordiv_rest(rest: SymExpr, d: int, dtype: IntegerType) -> SymExpr:
    if rest.constant is not None:
        return Const(rest.constant // d, rest.dtype)
    if isinstance(rest, Op) and rest.kind == "floordiv" and (rest.args[1].constant or 0) > 0:
        return floordiv(rest.args[0], Const(d * (rest.args[1].constant or 1), rest.args[1].dtype))
    if isinstance(rest, Sum):
        common = gcd(d, *(c for _, c in rest.terms))
        if common > 1:
            # floor((common * q + r) / (common * e)) = floor(q / e) for 0 <= r < common
            reduced = _sum([(t, c // common) for t, c in rest.terms], rest.offset // common, rest.dtype)
            return floordiv(reduced, Const(d // common, dtype))
    return Op("floordiv", (rest, Const(d, dtype)))


def floormod(a: ExprLike, b: ExprLike) -> SymExpr:
    """Return a - floor(a / b) * b. Raises `ZeroDivisionError` for a constant 0."""
    x, y = typed_like(a, b), typed_like(b, a)
    d = y.constant
    if d == 0:
        raise ZeroDivisionError("modulo of a symbolic expression by zero")
    if x == y or x.constant == 0:
        return Const(0, x.dtype)
    if d is not None and x.constant is not None:
        return Const(x.constant % d, widest_type((x, y)))
    if d is None or d < 0:
        reduced = _without_common(x, y)
        return Op("floormod", (x, y)) if reduced is None else mul(floormod(*reduced[:2]), reduced[2])
    _, rest = _split_multiples(x, d)
    if rest.constant is not None:
        return Const(rest.constant % d, rest.dtype)
    if isinstance(rest, Op) and rest.kind == "floormod":
        inner = rest.args[1].constant
        if inner and inner % d == 0:
            return floormod(rest.args[0], y)
    return Op("floormod", (rest, y))


def product(factors: Iterable[ExprLike], dtype: IntegerType = i64) -> SymExpr:
    """Return the product of `factors`, 1 if there are none."""
    out: SymExpr | None = None
    for f in factors:
        out = as_expr(f, dtype) if out is None else mul(out, f)
    return Const(1, dtype) if out is None else out
