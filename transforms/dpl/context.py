"""Constraints between patterns: who uses whom, and what has one shape. They are collected in a `PatternContext`.

with PatternContext() as ctx:
    conv = is_op("relax.nn.conv2d")(wildcard(), wildcard())
    conv >> is_op("relax.nn.relu")(wildcard())
matched = ctx.match_dfb(func.body.blocks[0])
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...diagnostics import TiraxError
from ...handles.relax.function import DataflowBlock
from . import patterns as p

if TYPE_CHECKING:
    from .matcher import Matches


@dataclass(frozen=True)
class Edge:
    """What `definition` matches is used by what `user` matches, as argument `index` if that is not -1."""

    definition: p.DFPattern
    user: p.DFPattern
    index: int = -1
    only: bool = False


@dataclass
class Constraints:
    """What a context holds: its patterns in order, edges between them and patterns of one shape."""

    nodes: dict[p.DFPattern, None] = field(default_factory=dict[p.DFPattern, None])
    edges: list[Edge] = field(default_factory=list[Edge])
    same_shapes: list[tuple[p.DFPattern, ...]] = field(default_factory=list[tuple[p.DFPattern, ...]])

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
    """Collects the constraints of patterns that are made inside of `with`; an incremental one has the outer's, too."""

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
        """The innermost context of this thread. Raises `TiraxError` where there is none."""
        if not _stack.contexts:
            raise TiraxError("there is no PatternContext here", hint="with PatternContext() as ctx:")
        return _stack.contexts[-1]

    def match_dfb(self, dfb: DataflowBlock) -> Matches | None:
        """The variables of a dataflow block that the patterns stand for, None where not all can be found."""
        from .graph import match_block

        return match_block(self.constraints, dfb)


def _current() -> Constraints | None:
    return _stack.contexts[-1].constraints if _stack.contexts else None


_NO_VALUES = (p.GlobalVarPattern, p.ExternFuncPattern, p.PrimArrPattern, p.ConstantPattern)


def constrain_arguments(call: p.CallPattern) -> None:
    """In a context the arguments of a call pattern are used by it."""
    constraints = _current()
    if constraints is None:
        return
    for i, arg in enumerate(call.args):
        if not isinstance(arg, _NO_VALUES):
            constraints.add_edge(Edge(arg, call, i))


class PatternSeq:
    """Patterns each of which is used by the next one (`only_use`: by nothing else)."""

    def __init__(self, patterns: Iterable[p.DFPattern], only_use: bool = False):
        self.patterns = [p.as_pattern(x) for x in patterns]
        if not self.patterns:
            raise TiraxError("a PatternSeq has at least one pattern")
        self._edges = [Edge(a, b, -1, only_use) for a, b in zip(self.patterns, self.patterns[1:], strict=False)]
        _register(self._edges)

    def used_by(self, other: p.DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """The last of this is used by the first of `other`."""
        return self._then(other, index, only=False)

    def only_used_by(self, other: p.DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """The last of this is used by the first of `other` and by nothing else."""
        return self._then(other, index, only=True)

    __xor__ = used_by
    __rshift__ = only_used_by

    def _then(self, other: p.DFPattern | PatternSeq, index: int, only: bool) -> PatternSeq:
        following = as_seq(other)
        edge = Edge(self.patterns[-1], following.patterns[0], index, only)
        _register([edge])
        return _joined([*self.patterns, *following.patterns], [*self._edges, edge, *following.edges])

    @property
    def edges(self) -> list[Edge]:
        """The constraints between neighbours."""
        return self._edges

    def __getitem__(self, index: int) -> p.DFPattern:
        return self.patterns[index]

    def __len__(self) -> int:
        return len(self.patterns)

    def dup(self) -> PatternSeq:
        """A sequence like this of patterns with identities of their own."""
        copies = [pattern.dup() for pattern in self.patterns]
        edges = [Edge(a, b, e.index, e.only) for a, b, e in zip(copies, copies[1:], self._edges, strict=False)]
        _register(edges)
        return _joined(copies, edges)


def _register(edges: Iterable[Edge]) -> None:
    constraints = _current()
    if constraints is not None:
        for edge in edges:
            constraints.add_edge(edge)


def _joined(patterns: list[p.DFPattern], edges: list[Edge]) -> PatternSeq:
    seq = PatternSeq.__new__(PatternSeq)
    seq.patterns = patterns
    seq._edges = edges  # pyright: ignore[reportPrivateUsage]
    return seq


def as_seq(pattern: p.DFPattern | PatternSeq) -> PatternSeq:
    """A pattern as a sequence of one. Raises `TiraxError` for what is no pattern."""
    return pattern if isinstance(pattern, PatternSeq) else PatternSeq([pattern])


class SameShapeConstraint:
    """What these patterns match has one shape."""

    def __init__(self, *args: p.DFPattern):
        self.args = tuple(map(p.as_pattern, args))
        constraints = _current()
        if constraints is not None:
            constraints.same_shapes.append(self.args)
