"""Maps from indices to indices, `(n, c, h, w) -> (n, c floordiv 4, h, w, c mod 4)`: the basis of layouts.

Results are expressions over the parameters. A map is inverted by reading its results as sums of pieces of iterators: a
piece is `x floordiv lower mod extent` of a parameter, or of a sum of pieces, `x`. If the extent of `x` is not a
multiple of its largest piece there is padding, and a predicate selects the new indices that are padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import NamedTuple

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...diagnostics import ShapeError
from .analyzer import Analyzer
from .expr import Algebra, Const, Op, Product, Sum, SymExpr, Var, floormod, i1, i64, offset_of, product, terms_of
from .operators import eq, le, logical_and, logical_or, lt
from .text import parse_expr
from .writing import expr_text

_TRUE, _FALSE = Const(1, i1), Const(0, i1)


class Inverse(NamedTuple):
    """The inverse of a map, and the condition on new indices under which they are padding."""

    map: IndexMapping
    padding: SymExpr


@dataclass(frozen=True, eq=False)
class IndexMapping:
    """Maps old indices `params` to `results`; `inverse_map` is the inverse if it was given with the map.

    Two maps are equal if they are the same function up to the names of parameters.
    """

    params: tuple[Var, ...]
    results: tuple[SymExpr, ...]
    inverse_map: IndexMapping | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IndexMapping) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> tuple[object, ...]:
        places = {p: Var(f".{i}", p.dtype) for i, p in enumerate(self.params)}
        results = tuple(r.substitute(places) for r in self.results)
        return (tuple(p.dtype for p in self.params), results, self.inverse_map)

    def __str__(self) -> str:
        text = f"({', '.join(map(expr_text, self.params))}) -> ({', '.join(map(expr_text, self.results))})"
        return text if self.inverse_map is None else f"{text} inverse {self.inverse_map}"

    def free_vars(self) -> list[Var]:
        """Return the variables of results that are not parameters: symbolic sizes of the enclosing function."""
        variables = dict.fromkeys(v for r in self.results for v in r.free_vars())
        return [v for v in variables if v not in self.params]

    def substitute(self, mapping: Mapping[Var, SymExpr]) -> IndexMapping:
        """Return the map with variables other than its parameters replaced."""
        outer = {v: e for v, e in mapping.items() if v not in self.params}
        inverse = None if self.inverse_map is None else self.inverse_map.substitute(mapping)
        return IndexMapping(self.params, tuple(r.substitute(outer) for r in self.results), inverse)

    def apply(self, indices: Sequence[SymExpr]) -> list[SymExpr]:
        """Return the new indices for old ones. Raises `ShapeError` if their number is wrong."""
        self._check_rank(len(indices))
        mapping = dict(zip(self.params, indices, strict=True))
        return [r.substitute(mapping) for r in self.results]

    def shape(self, dims: Sequence[SymExpr]) -> list[SymExpr]:
        """Return the shape of a tensor of shape `dims` after the map is applied.

        Raises `ShapeError` if new indices do not begin at 0 or are unbounded.
        """
        reader = self._reader(dims)
        return [reader.extent(r) for r in self.results]

    def inverse(self, dims: Sequence[SymExpr]) -> IndexMapping:
        """Return the inverse on indices below `dims`. Raises `ShapeError` if the map is not one-to-one or pads."""
        if self.inverse_map is not None:
            return self.inverse_map
        inverse = self.padded_inverse(dims)
        if inverse.padding.constant != 0:
            raise ShapeError(f"the index map {self} has no inverse: it pads", found=f"padding where {inverse.padding}")
        return inverse.map

    def padded_inverse(self, dims: Sequence[SymExpr]) -> Inverse:
        """Return the inverse on indices below `dims`, and the condition under which it is undefined.

        Raises `ShapeError` if different indices collide, or new indices have gaps.
        """
        names = _fresh_names(self.results)
        new = [Var(n, r.dtype) for n, r in zip(names, self.results, strict=True)]
        reader = self._reader(dims)
        try:
            padding = reader.solve(self.results, new)
        except ShapeError:
            reader, results = self._reader(dims), self.results
            for p in self.params:
                results = reader.count_from(p, _offset_of(p, results), results)
            if results == self.results:
                raise
            padding = reader.solve(results, new)
        if self.inverse_map is not None:
            return Inverse(self.inverse_map, padding)
        return Inverse(IndexMapping(tuple(new), tuple(reader.values[p] for p in self.params)), padding)

    def equivalent(self, other: IndexMapping) -> bool:
        """Return whether both are provably the same function."""
        if len(self.params) != len(other.params) or len(self.results) != len(other.results):
            return False
        analyzer = Analyzer()
        pairs = zip(self.results, other.apply(self.params), strict=True)
        return all(analyzer.can_prove_equal(a, b) for a, b in pairs)

    def _check_rank(self, rank: int) -> None:
        if rank != len(self.params):
            raise ShapeError(f"the index map {self} has another rank", expected=len(self.params), found=rank)

    def _reader(self, dims: Sequence[SymExpr]) -> _Reader:
        self._check_rank(len(dims))
        return _Reader(self, dims)


def _fresh_names(results: Sequence[SymExpr]) -> list[str]:
    """Return names for new indices: that of the parameter for a plain parameter, else `axis0`, `axis1`, …"""
    taken: set[str] = set()
    names: list[str] = []
    for i, result in enumerate(results):
        name = str(result.name) if isinstance(result, Var) else f"axis{i}"
        while name in taken:
            name += "_1"
        taken.add(name)
        names.append(name)
    return names


def _offset_of(param: Var, results: Sequence[SymExpr]) -> int:
    """Return the offset that is added to a parameter where its divisor is largest: elsewhere multiples of it are
    omitted.
    """
    divisions = [e for r in results for e in _walk(r) if isinstance(e, Op) and e.kind == "floordiv"]
    offsets = [
        (e.args[1].constant or 0, offset_of(e.args[0])) for e in divisions if terms_of(e.args[0]) == ((param, 1),)
    ]
    return max((0, *max(offsets, default=(0, 0))[1:]))


def _walk(e: SymExpr) -> Iterator[SymExpr]:
    yield e
    for child in e.children():
        yield from _walk(child)


@dataclass
class _Iterator:
    """The source of pieces: the values from `base` up to `base + extent` (excluded) of a parameter or a sum."""

    expr: SymExpr
    extent: SymExpr
    base: int = 0
    parts: list[_Piece] | None = None
    """The pieces of the sum, None for a parameter."""
    used: list[_Piece] = field(default_factory=lambda: list[_Piece]())

    @property
    def edge(self) -> SymExpr:
        return self.extent + self.base


@dataclass(frozen=True, eq=False)
class _Piece:
    """`scale * (iterator floordiv lower mod extent)`, or with `reverse` counted down from the last value."""

    iterator: _Iterator
    lower: SymExpr
    extent: SymExpr
    scale: SymExpr
    reverse: bool = False

    def times(self, scale: SymExpr | int, reverse: bool = False) -> _Piece:
        return _Piece(self.iterator, self.lower, self.extent, self.scale * scale, self.reverse != reverse)

    def is_top(self) -> bool:
        """Return whether it is the outermost piece of its iterator."""
        beyond = (self.lower * self.extent - self.iterator.edge).constant
        return self.extent == _ceil(self.iterator.edge, self.lower) or (beyond is not None and beyond >= 0)


@dataclass(frozen=True)
class _Joined:
    """The value of an iterator, that of its outermost piece, that of all others, and the scale of the outermost."""

    top: SymExpr
    rest: SymExpr
    lower: SymExpr
    count: SymExpr
    """The extent of the outermost piece."""

    @property
    def value(self) -> SymExpr:
        return self.top * self.lower + self.rest


class _UnreadableError(Exception):
    """An expression is not a sum of pieces."""


def _ceil(x: SymExpr, d: SymExpr) -> SymExpr:
    """Return the ceiling of x / d, in TVM's form."""
    return x // d if (x % d).constant == 0 else (x - floormod(x, d * -1)) // d


_Pieces = tuple[list[_Piece], int]


class _Reader(Algebra[_Pieces]):
    """Reads the results of a map over a shape as sums of pieces and a constant, or raises `_UnreadableError`."""

    def __init__(self, mapping: IndexMapping, dims: Sequence[SymExpr]):
        dtype = mapping.params[0].dtype if mapping.params else i64
        self.mapping = mapping
        self.zero, self.one = Const(0, dtype), Const(1, dtype)
        self.iterators: dict[SymExpr, _Iterator] = {}
        self.pieces: dict[_Piece, SymExpr] = {}
        self.values: dict[SymExpr, SymExpr] = {}
        self.analyzer = Analyzer()
        for p, d in zip(mapping.params, dims, strict=True):
            extent = d if d.constant is None else Const(d.constant, dtype)
            self.iterators[p] = _Iterator(p, extent)
            self._below(p, extent)

    def _below(self, var: Var, extent: SymExpr) -> None:
        self.analyzer.bind(var, 0, inf if extent.constant is None else max(extent.constant - 1, 0))

    def count_from(self, param: Var, base: int, results: Sequence[SymExpr]) -> tuple[SymExpr, ...]:
        """Let a parameter start at `base`; return the results in terms of the new iterator."""
        if not base:
            return tuple(results)
        counter = Var(f"{param.name}+{base}", param.dtype)  # no name that a parameter may have
        old = self.iterators.pop(param)
        self.iterators[counter] = _Iterator(param, old.extent, base)
        self._below(counter, old.extent + base)
        return tuple(r.substitute({param: counter - base}) for r in results)

    # From an expression to pieces

    def const(self, e: Const) -> _Pieces:
        return [], e.value

    def sum(self, e: Sum) -> _Pieces:
        pieces: list[_Piece] = []
        base = e.offset
        for term, factor in e.terms:
            parts, offset = self.of(term)
            base += offset * factor
            if factor < 0:  # -p = (last - p) - last
                base += factor * sum(_last(p) for p in parts)
            pieces += [p.times(abs(factor), reverse=factor < 0) for p in parts]
        return pieces, base

    def product(self, e: Product) -> _Pieces:
        inner = [a for a in e.atoms if self._mentions(a)]
        if len(inner) != 1:
            raise _UnreadableError
        parts, base = self.of(inner[0])
        if base:
            raise _UnreadableError
        scale = product(a for a in e.atoms if a is not inner[0])
        return [p.times(scale) for p in parts], 0

    def _mentions(self, e: SymExpr) -> bool:
        return any(v in self.iterators for v in e.free_vars())

    def var(self, e: Var) -> _Pieces:
        iterator = self.iterators.get(e)
        if iterator is None:
            raise _UnreadableError
        return [_Piece(iterator, self.one, iterator.edge, self.one)], 0

    def op(self, e: Op) -> _Pieces:
        iterator = self.iterators.get(e)
        piece = self._part(e) if iterator is None else _Piece(iterator, self.one, iterator.extent, self.one)
        return [piece], 0

    def _part(self, e: Op) -> _Piece:
        if e.kind not in ("floordiv", "floormod"):
            raise _UnreadableError
        x, divisor = e.args
        if self._mentions(divisor) or (divisor.constant is not None and divisor.constant < 1):
            raise _UnreadableError
        dividend = self._as_piece(x)
        if not dividend.is_top() and (dividend.extent % divisor).constant != 0:
            raise _UnreadableError
        if e.kind == "floordiv":
            return _Piece(dividend.iterator, dividend.lower * divisor, _ceil(dividend.extent, divisor), self.one)
        return _Piece(dividend.iterator, dividend.lower, divisor, self.one)

    def _as_piece(self, x: SymExpr) -> _Piece:
        """Return the dividend as one piece: a sum becomes an iterator of its own."""
        parts, base = self.of(x)
        if len(parts) == 1 and not base and parts[0].scale.constant == 1 and not parts[0].reverse:
            return parts[0]
        if base < 0:
            raise _UnreadableError
        iterator = self.iterators.get(x)
        if iterator is None:
            iterator = self.iterators[x] = _Iterator(x, self._total(parts), base, parts)
        return _Piece(iterator, self.one, iterator.edge, self.one)

    def _total(self, pieces: Sequence[_Piece]) -> SymExpr:
        """Return the number of values of a sum of pieces, from 0 on."""
        out: SymExpr = self.one
        for piece in pieces:
            out = (piece.extent - 1) * piece.scale + out
        return out

    # Shapes

    def extent(self, result: SymExpr) -> SymExpr:
        """Return the number of indices of a result. Raises `ShapeError` if they do not begin at 0."""
        try:
            pieces, base = self.of(result)
        except _UnreadableError:
            return self._bounded(result)
        if base and pieces:
            message = f"the index map {self.mapping} gives indices that do not begin at 0"
            raise ShapeError(message, expected=0, found=base)
        return self._total(pieces) + base

    def _bounded(self, result: SymExpr) -> SymExpr:
        bounds = self.analyzer.bounds(result)
        if not isinstance(bounds.high, int) or not isinstance(bounds.low, int) or bounds.low < 0:
            raise ShapeError(f"the index map {self.mapping} gives indices without a known bound", found=result)
        return Const(bounds.high + 1, result.dtype)

    # Inverses

    def solve(self, results: Sequence[SymExpr], new: Sequence[Var]) -> SymExpr:
        """Solve for each parameter in terms of new indices (`values`); return the condition for padding."""
        for index, result in zip(new, results, strict=True):
            try:
                pieces, base = self.of(result)
            except _UnreadableError:
                raise self._not_one_to_one(f"{result} is no sum of parts of indices") from None
            self._below(index, self._total(pieces) + base)
            self._split_value(index - base, pieces)
        padding: SymExpr = _FALSE
        # A sum is an iterator that was read after what it is a sum of: from the last to the first.
        for iterator in reversed(list(self.iterators.values())):
            joined = self._join(iterator)
            padding = logical_or(self._padding(iterator, joined), padding)
            self.values[iterator.expr] = joined.value - iterator.base
            if iterator.parts is not None:
                self._split_value(joined.value - iterator.base, iterator.parts)
        return padding

    def _split_value(self, value: SymExpr, pieces: Sequence[_Piece]) -> None:
        """Split the value of a sum into the values of its pieces."""
        for piece in pieces:
            piece.iterator.used.append(piece)
            self.pieces[piece] = self.zero if len(pieces) > 1 else value
        chain = sorted((p for p in pieces if p.extent.constant != 1), key=lambda p: _measure(p.scale))
        inner: SymExpr = self.one
        for piece in chain:
            if piece.scale != inner:
                raise self._not_one_to_one("indices are left out, or overlap")
            part = (value if piece is chain[-1] else value % (inner * piece.extent)) // inner
            self.pieces[piece] = piece.extent - 1 - part if piece.reverse else part
            inner = inner * piece.extent

    def _join(self, iterator: _Iterator) -> _Joined:
        """Return the value of an iterator from those of its pieces. Raises `ShapeError` if they do not cover it
        exactly once.
        """
        pieces = sorted(iterator.used, key=lambda p: _measure(p.lower))
        if not pieces and iterator.extent.constant == 1:
            return _Joined(self.zero, self.zero, self.one, self.one)
        rest: SymExpr = self.zero
        lower: SymExpr = self.one
        for piece in pieces:
            if piece.lower != lower or (piece is pieces[-1] and not piece.is_top()):
                break
            if piece is pieces[-1]:
                return _Joined(self.pieces[piece], rest, lower, piece.extent)
            rest = self.pieces[piece] * lower + rest
            lower = lower * piece.extent
        raise self._not_one_to_one(f"parts of {iterator.expr} are lost, or stand twice")

    def _padding(self, iterator: _Iterator, joined: _Joined) -> SymExpr:
        """Return the condition that the value of an iterator is before its base or after its end."""
        edge, lower, before = iterator.edge, joined.lower, _FALSE
        if iterator.base:
            before = logical_and(
                self._sure(eq(joined.top, iterator.base // lower)), self._sure(lt(joined.rest, iterator.base % lower))
            )
        excess = (joined.count - _ceil(edge, lower)).constant
        if excess:
            return logical_or(before, le(edge, joined.value))
        last = edge % lower
        if last.constant == 0:
            return before
        pads = _TRUE if last.constant is not None else lt(floormod(edge, lower * -1), 0)
        beyond = logical_and(pads, self._sure(eq(joined.top, edge // lower)))
        return logical_or(before, logical_and(beyond, self._at_least(joined.rest, last, lower)))

    def _at_least(self, rest: SymExpr, last: SymExpr, lower: SymExpr) -> SymExpr:
        """Return `last <= rest`, as an equation if only the last value satisfies it."""
        return eq(rest, last) if (lower - last).constant == 1 else self._sure(le(last, rest))

    def _sure(self, condition: SymExpr) -> SymExpr:
        return _TRUE if self.analyzer.can_prove(condition) else condition

    def _not_one_to_one(self, why: str) -> ShapeError:
        return ShapeError(f"the index map {self.mapping} has no inverse", found=why)


def _last(piece: _Piece) -> int:
    """Return the greatest value of a piece. Raises `_UnreadableError` for a symbolic one."""
    last = ((piece.extent - 1) * piece.scale).constant
    if last is None:
        raise _UnreadableError
    return last


def _measure(e: SymExpr) -> tuple[int, int]:
    """Return a sort key for scales, innermost first: symbolic ones are greater than constants, products than
    factors.
    """
    if e.constant is not None:
        return (0, e.constant)
    term, factor = e.terms[0] if isinstance(e, Sum) and len(e.terms) == 1 else (e, 1)
    return (len(term.atoms) if isinstance(term, Product) else 1, factor)


@irdl_attr_definition
class IndexMapAttr(Data[IndexMapping]):
    """An index map as an attribute: `#sym.index_map<(i) -> (i floordiv 4, i mod 4)>`."""

    name = "sym.index_map"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> IndexMapping:
        with parser.in_angle_brackets():
            return _parse_map(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.data))

    def verify(self) -> None:
        if len(set(self.data.params)) != len(self.data.params):
            raise VerifyException(f"the index map {self.data} has two parameters of one name")


def _parse_map(parser: AttrParser) -> IndexMapping:
    params = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_param(parser))
    parser.parse_punctuation("->")
    results = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_expr(parser))
    inverse = _parse_map(parser) if parser.parse_optional_keyword("inverse") is not None else None
    return IndexMapping(tuple(params), tuple(results), inverse)


def _parse_param(parser: AttrParser) -> Var:
    place = parser.pos
    param = parse_expr(parser)
    if not isinstance(param, Var):
        parser.raise_error("a parameter of an index map is a variable", place, parser.pos)
    return param
