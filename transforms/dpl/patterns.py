"""Dataflow patterns: descriptions of expressions and their operands.

    x = wildcard()
    relu_of_add = is_op("relax.nn.relu")(is_op("relax.add")(x, is_const()))

A pattern has identity: the same object at two places matches the same expression. Patterns contain no matching code
(`matcher`), functions create them (`constructors`); constraints between patterns that are not nested belong to a
`PatternContext` (`context`).
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, cast

from xdsl.ir import Attribute

from ...diagnostics import SourceLocation, TiraxError
from ...dialects.dtypes import dtype_name, dtype_of
from ...dialects.relax.types import free_symbolic_vars
from ...dialects.sym.expr import SymExpr, Var
from ...handles.relax.expr import Expr
from ...handles.relax.function import DataflowBlock
from ...handles.relax.op import Op
from ...handles.struct_info import dims_of, type_of
from ...handles.tir.dims import Dim, dim_value


@dataclass(frozen=True)
class Mismatch:
    """The condition that failed: expected and found, with the place.

    `path` leads from the expression to the place, step by step; empty for the expression itself. `location` is the
    source location of the nearest call, or None if unknown.
    """

    path: tuple[str, ...]
    expected: str
    found: str
    location: SourceLocation | None = None
    hint: str | None = None

    def __str__(self) -> str:
        place = " > ".join(self.path) or "the expression"
        head = place if self.location is None else f"{self.location}: {place}"
        lines = [head, f"  expected: {self.expected}", f"  found: {self.found}"]
        return "\n".join(lines if self.hint is None else [*lines, f"  hint: {self.hint}"])


@dataclass
class Search:
    """Functions of patterns, set by the modules that know all patterns: `matcher`, `graph`, `explain` and `text`."""

    in_expr: Callable[[DFPattern, Any, Mapping[Any, Any] | None], dict[DFPattern, Any] | None] = field(init=False)
    why_not: Callable[[DFPattern, Any, Mapping[Any, Any] | None], Mismatch | None] = field(init=False)
    in_block: Callable[[Constraints, DataflowBlock], dict[DFPattern, Any] | None] = field(init=False)
    text: Callable[[DFPattern], str] = field(init=False)


SEARCH = Search()


class DFPattern:
    """Base class of patterns. `p(a, b)` is a call of what `p` matches; `|`, `&` and `~` combine patterns."""

    def __call__(self, *args: Any, varg_default_wildcard: bool = False, add_constraint: bool = True) -> CallPattern:
        """Return a call pattern with these arguments; `varg_default_wildcard` allows further arguments.

        In a `PatternContext` each argument is used by the call, unless `add_constraint` is off.
        """
        return CallPattern(self, args, varg_default_wildcard, add_constraint)

    def __repr__(self) -> str:
        return SEARCH.text(self)

    def __or__(self, other: DFPattern) -> OrPattern:
        return OrPattern(self, other)

    def __and__(self, other: DFPattern) -> AndPattern:
        return AndPattern(self, other)

    def __invert__(self) -> NotPattern:
        return NotPattern(self)

    def optional(self, option: Callable[[DFPattern], DFPattern]) -> OrPattern:
        """Match this, or `option(this)`."""
        return option(self) | self

    def has_attr(self, attrs: Mapping[str, Any]) -> AttrPattern:
        """Require these attributes of a call or a function."""
        return AttrPattern(self, attrs)

    def has_struct_info(self, struct_info: Any) -> StructInfoPattern:
        """Require struct info that is certainly a case of `struct_info`."""
        return StructInfoPattern(self, struct_info)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        """Require a tensor of this data type."""
        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[Any]) -> ShapePattern:
        """Require a tensor of this shape."""
        return ShapePattern(self, shape)

    def match(self, expr: Any, var2val: Mapping[Any, Any] | None = None) -> bool:
        """Return whether an expression matches. Variables in `var2val` are looked through."""
        return self.extract_matched_expr(expr, var2val) is not None

    def extract_matched_expr(self, expr: Any, var2val: Mapping[Any, Any] | None = None) -> dict[DFPattern, Any] | None:
        """Return the expression that each part of the pattern matches in `expr`, or None if it does not match."""
        return SEARCH.in_expr(self, expr, var2val)

    def explain(self, expr: Any, var2val: Mapping[Any, Any] | None = None) -> Mismatch | None:
        """Return the first failed condition and its place, or None if the expression matches.

        With several possible matches, the condition on the one that matched the most parts of the pattern.
        """
        return SEARCH.why_not(self, expr, var2val)

    def used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """Require that `other` uses this pattern's match, as argument `index` unless that is -1."""
        return as_seq(self).used_by(other, index)

    def only_used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """Require that `other`, and nothing else, uses this pattern's match; see `used_by`."""
        return as_seq(self).only_used_by(other, index)

    __xor__ = used_by
    __rshift__ = only_used_by

    def fork_to(self, *others: DFPattern) -> None:
        """Require that each of `others` uses this pattern's match."""
        for other in others:
            self.used_by(other)

    def same_shape_as(self, *others: DFPattern) -> SameShapeConstraint:
        """Require that the matches of this and `others` have the same shape."""
        return SameShapeConstraint(self, *others)

    def dup(self) -> Self:
        """Return a copy that is matched by itself, with copies of its parts."""
        new = copy.copy(self)
        for name, part in vars(self).items():
            if isinstance(part, DFPattern):
                setattr(new, name, part.dup())
            elif isinstance(part, list | tuple):
                parts = cast("list[Any] | tuple[Any, ...]", part)
                setattr(new, name, type(parts)(p.dup() if isinstance(p, DFPattern) else p for p in parts))
        return new


class WildcardPattern(DFPattern):
    """Matches anything."""


class _NamedPattern(DFPattern):
    """Matches something named `name`, or of any name if that is empty."""

    def __init__(self, name_hint: str = ""):
        self.name = name_hint


class VarPattern(_NamedPattern):
    """A variable that is not looked through: a parameter, or any variable without bindings to look it up in."""


class DataflowVarPattern(VarPattern):
    """A `VarPattern` for variables local to a dataflow block."""


class GlobalVarPattern(_NamedPattern):
    """A function of the module whose name contains `name`."""


class ExternFuncPattern(_NamedPattern):
    """A packed function."""

    def __init__(self, global_symbol: str = ""):
        super().__init__(global_symbol)


class ConstantPattern(DFPattern):
    """A constant tensor."""


class ExprPattern(DFPattern):
    """An operator, or an expression that is structurally equal to `expr`."""

    def __init__(self, expr: Expr | Op):
        self.expr = expr


class CallPattern(DFPattern):
    """A call of what `op` matches."""

    def __init__(
        self, op: DFPattern, args: Iterable[Any], varg_default_wildcard: bool = False, add_constraint: bool = True
    ):
        self.op = op
        self.args = tuple(map(as_pattern, args))
        self.varg_default_wildcard = varg_default_wildcard
        if add_constraint:
            constrain_arguments(self)


class FunctionPattern(DFPattern):
    """A Relax function: its parameters, and the expression that it returns."""

    def __init__(self, params: Iterable[Any], body: DFPattern):
        self.params = tuple(map(as_pattern, params))
        self.body = body


class TuplePattern(DFPattern):
    """A tuple with these fields, in this order."""

    def __init__(self, fields: Iterable[Any]):
        self.fields = tuple(map(as_pattern, fields))

    def __getitem__(self, index: int) -> TupleGetItemPattern:
        if not -len(self.fields) <= index < len(self.fields):
            raise IndexError(f"index {index} of a tuple of {len(self.fields)} patterns")
        return TupleGetItemPattern(self, index % len(self.fields))

    def __len__(self) -> int:
        return len(self.fields)


class UnorderedTuplePattern(DFPattern):
    """A tuple with these fields, in any order."""

    def __init__(self, fields: Iterable[Any]):
        self.fields = tuple(map(as_pattern, fields))

    def __len__(self) -> int:
        return len(self.fields)


class TupleGetItemPattern(DFPattern):
    """A field of a tuple; any field if `index` is None."""

    def __init__(self, tuple_value: DFPattern, index: int | None = None):
        self.tuple_value = tuple_value
        self.index = None if index == -1 else index


class OrPattern(DFPattern):
    """Either of two patterns; the left one is tried first."""

    def __init__(self, left: DFPattern, right: DFPattern):
        self.left = as_pattern(left)
        self.right = as_pattern(right)


class AndPattern(DFPattern):
    """Both patterns."""

    def __init__(self, left: DFPattern, right: DFPattern):
        self.left = as_pattern(left)
        self.right = as_pattern(right)


class NotPattern(DFPattern):
    """Anything that `to_reject` does not match."""

    def __init__(self, to_reject: DFPattern):
        self.to_reject = as_pattern(to_reject)


class _Refined(DFPattern):
    """A match of `pattern` that satisfies a further condition."""

    def __init__(self, pattern: DFPattern):
        self.pattern = as_pattern(pattern)


class AttrPattern(_Refined):
    """A call or function with these attributes."""

    def __init__(self, pattern: DFPattern, attrs: Mapping[str, Any]):
        super().__init__(pattern)
        self.attrs = dict(attrs)


class StructInfoPattern(_Refined):
    """A value with this struct info; `symbols` are variables of the pattern, by default all of it, which match any
    extent, the same one in all patterns of a match.
    """

    def __init__(self, pattern: DFPattern, struct_info: Any, symbols: Iterable[Var] | None = None):
        super().__init__(pattern)
        self.type: Attribute = type_of(struct_info)
        self.symbols = frozenset(free_symbolic_vars([self.type]) if symbols is None else symbols)


class DataTypePattern(_Refined):
    """A tensor of this data type."""

    def __init__(self, pattern: DFPattern, dtype: str):
        super().__init__(pattern)
        self.element: Attribute = dtype_of(dtype)

    @property
    def dtype(self) -> str:
        """The name of the data type."""
        return dtype_name(self.element)


class ShapePattern(_Refined):
    """A tensor of this shape."""

    def __init__(self, pattern: DFPattern, shape: Sequence[Any]):
        super().__init__(pattern)
        self.dims: tuple[SymExpr, ...] = tuple(dims_of(shape))

    @property
    def shape(self) -> list[Dim]:
        """The extents."""
        return list(map(dim_value, self.dims))


class PrimArrPattern(DFPattern):
    """A shape value with these extents."""

    def __init__(self, shape: Sequence[Any]):
        self.dims: tuple[SymExpr, ...] = tuple(dims_of(shape))

    @property
    def fields(self) -> list[Dim]:
        """The extents."""
        return list(map(dim_value, self.dims))

    def __len__(self) -> int:
        return len(self.dims)

    def __getitem__(self, index: int) -> Dim:
        return self.fields[index]


def as_pattern(value: Any) -> DFPattern:
    """Return a pattern for a pattern, an expression (matches itself) or a sequence (a tuple). Raises `TiraxError`."""
    if isinstance(value, DFPattern):
        return value
    if isinstance(value, Expr | Op):
        return ExprPattern(value)
    if isinstance(value, tuple | list):
        return TuplePattern(cast("Sequence[Any]", value))
    raise TiraxError("not a pattern", expected="a DFPattern such as wildcard()", found=repr(value))


# Constraints between patterns.


@dataclass(frozen=True)
class Edge:
    """A constraint: `user` uses the match of `definition`, as argument `index` unless that is -1."""

    definition: DFPattern
    user: DFPattern
    index: int = -1
    only: bool = False


@dataclass
class Constraints:
    """The contents of a context: its patterns in order, edges between them, and patterns of equal shape."""

    nodes: dict[DFPattern, None] = field(default_factory=dict[DFPattern, None])
    edges: list[Edge] = field(default_factory=list[Edge])
    same_shapes: list[tuple[DFPattern, ...]] = field(default_factory=list[tuple[DFPattern, ...]])

    def add_edge(self, edge: Edge) -> None:
        self.nodes.setdefault(edge.definition)
        self.nodes.setdefault(edge.user)
        self.edges.append(edge)

    def copy(self) -> Constraints:
        return Constraints(dict(self.nodes), list(self.edges), list(self.same_shapes))


class _Stack(threading.local):
    def __init__(self) -> None:
        self.contexts: list[PatternContext] = []


_stack = _Stack()


class PatternContext:
    """Collector of constraints of patterns created inside `with`.

    An incremental one includes those of the outer context.
    """

    def __init__(self, incremental: bool = False):
        outer = _stack.contexts
        if incremental and not outer:
            raise TiraxError("an incremental PatternContext stands inside of another")
        self.constraints: Constraints = outer[-1].constraints.copy() if incremental else Constraints()

    def __enter__(self) -> PatternContext:
        _stack.contexts.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _stack.contexts.pop()

    @staticmethod
    def current() -> PatternContext:
        """Return the innermost context of this thread. Raises `TiraxError` if there is none."""
        if not _stack.contexts:
            raise TiraxError("there is no PatternContext here", hint="with PatternContext() as ctx:")
        return _stack.contexts[-1]

    def match_dfb(self, dfb: DataflowBlock) -> dict[DFPattern, Any] | None:
        """Return the variables of a dataflow block that the patterns match, or None if there is no match."""
        return SEARCH.in_block(self.constraints, dfb)


def _current() -> Constraints | None:
    return _stack.contexts[-1].constraints if _stack.contexts else None


_NO_VALUES = (GlobalVarPattern, ExternFuncPattern, PrimArrPattern, ConstantPattern)


def constrain_arguments(call: CallPattern) -> None:
    """Add to the current context that a call pattern uses its arguments."""
    constraints = _current()
    if constraints is None:
        return
    for i, arg in enumerate(call.args):
        if not isinstance(arg, _NO_VALUES):
            constraints.add_edge(Edge(arg, call, i))


class PatternSeq:
    """A sequence of patterns, each used by the next one (`only_use`: by nothing else)."""

    def __init__(self, patterns: Iterable[DFPattern], only_use: bool = False):
        self.patterns = [as_pattern(x) for x in patterns]
        if not self.patterns:
            raise TiraxError("a PatternSeq has at least one pattern")
        self._edges = [Edge(a, b, -1, only_use) for a, b in zip(self.patterns, self.patterns[1:], strict=False)]
        _register(self._edges)

    def used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """Require that the first pattern of `other` uses the last one of this."""
        return self._then(other, index, only=False)

    def only_used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """Require that the first pattern of `other`, and nothing else, uses the last one of this."""
        return self._then(other, index, only=True)

    __xor__ = used_by
    __rshift__ = only_used_by

    def _then(self, other: DFPattern | PatternSeq, index: int, only: bool) -> PatternSeq:
        following = as_seq(other)
        edge = Edge(self.patterns[-1], following.patterns[0], index, only)
        _register([edge])
        return _joined([*self.patterns, *following.patterns], [*self._edges, edge, *following.edges])

    @property
    def edges(self) -> list[Edge]:
        """Return the constraints between adjacent patterns."""
        return self._edges

    def __getitem__(self, index: int) -> DFPattern:
        return self.patterns[index]

    def __len__(self) -> int:
        return len(self.patterns)

    def dup(self) -> PatternSeq:
        """Return a sequence of copies, each with its own identity."""
        copies = [pattern.dup() for pattern in self.patterns]
        edges = [Edge(a, b, e.index, e.only) for a, b, e in zip(copies, copies[1:], self._edges, strict=False)]
        _register(edges)
        return _joined(copies, edges)


def _register(edges: Iterable[Edge]) -> None:
    constraints = _current()
    if constraints is not None:
        for edge in edges:
            constraints.add_edge(edge)


def _joined(patterns: list[DFPattern], edges: list[Edge]) -> PatternSeq:
    seq = PatternSeq.__new__(PatternSeq)
    seq.patterns = patterns
    seq._edges = edges  # pyright: ignore[reportPrivateUsage]
    return seq


def as_seq(pattern: DFPattern | PatternSeq) -> PatternSeq:
    """Return a pattern as a sequence of one. Raises `TiraxError` for values that are not patterns."""
    return pattern if isinstance(pattern, PatternSeq) else PatternSeq([pattern])


class SameShapeConstraint:
    """The matches of these patterns have the same shape."""

    def __init__(self, *args: DFPattern):
        self.args = tuple(map(as_pattern, args))
        constraints = _current()
        if constraints is not None:
            constraints.same_shapes.append(self.args)


__all__ = [
    "AndPattern",
    "AttrPattern",
    "CallPattern",
    "ConstantPattern",
    "DFPattern",
    "DataTypePattern",
    "DataflowVarPattern",
    "ExprPattern",
    "ExternFuncPattern",
    "FunctionPattern",
    "GlobalVarPattern",
    "NotPattern",
    "OrPattern",
    "PatternContext",
    "PatternSeq",
    "PrimArrPattern",
    "SameShapeConstraint",
    "ShapePattern",
    "StructInfoPattern",
    "TupleGetItemPattern",
    "TuplePattern",
    "UnorderedTuplePattern",
    "VarPattern",
    "WildcardPattern",
]
