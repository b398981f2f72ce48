"""Explanations of failed matches: the condition at which the furthest attempt ended.

The explanation watches a run of the matcher itself, so that the two cannot disagree. A failed pattern ended at its own
condition, or below it at the end of the attempt that had matched the most parts of the pattern; among equal ones, at
the first. Failed attempts below a pattern that does match are discarded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import Any

from ...diagnostics import SourceLocation
from ...handles.relax.call import Call
from ...handles.relax.calls import to_expr
from ...handles.relax.expr import Tuple, TupleGetItem, Var
from ...handles.relax.function import Function
from ...handles.relax.op import Op
from ...ir.locations import location_of
from . import patterns as p
from .matcher import Lookup, Matcher, Subject, Ways, opaque, same_expr
from .phrases import callee, condition, named, other


def explain(pattern: p.DFPattern, expr: Any, var2val: Mapping[Any, Any] | None) -> p.Mismatch | None:
    """Return why `pattern` does not match `expr`, or None if it does; variables are looked up in `var2val`."""
    subject: Subject = expr if isinstance(expr, Op) else to_expr(expr)
    watch = _Watch(opaque if var2val is None else var2val.get)
    return None if watch.first(pattern, subject) is not None else watch.ends[0].mismatch


p.SEARCH.why_not = explain


@dataclass(frozen=True)
class _End:
    """The end of an attempt, and how many parts of the pattern it had matched."""

    mismatch: p.Mismatch
    parts: int


@dataclass(frozen=True)
class _Step:
    """An expression being matched, before and after looking through variables."""

    outer: Subject
    inner: Subject


@dataclass
class _Record:
    """State shared by the matchers of a pattern and of functions inside it."""

    steps: list[_Step] = field(default_factory=list[_Step])
    ends: list[_End] = field(default_factory=list[_End])


class _Watch(Matcher):
    """A matcher that records where attempts end."""

    def __init__(self, lookup: Lookup = opaque, record: _Record | None = None):
        super().__init__(lookup)
        self.record = record or _Record()

    @property
    def ends(self) -> list[_End]:
        return self.record.ends

    def nested(self, lookup: Lookup) -> Matcher:
        return _Watch(lookup, self.record)

    def match(self, pattern: p.DFPattern, expr: Subject) -> Ways:
        ends, matched = self.ends, False
        before = len(ends)
        with closing(super().match(pattern, expr)) as ways:
            while self._next(ways, expr):
                del ends[before:]
                matched = True
                yield
                before = len(ends)
        below = ends[before:]
        del ends[before:]
        if not matched:
            ends.append(_furthest(below) if below else self._end(pattern, expr))

    def _next(self, ways: Ways, expr: Subject) -> bool:
        """Return whether there is another match; `steps` holds the expressions being matched meanwhile."""
        self.record.steps.append(_Step(expr, self.unwrap(expr)))
        try:
            return next(ways, _NO_WAY) is not _NO_WAY
        finally:
            self.record.steps.pop()

    def _end(self, pattern: p.DFPattern, expr: Subject) -> _End:
        inner, known = self.unwrap(expr), self.bound.get(pattern)
        if known is None:
            expected, found = condition(pattern, inner)
        else:
            expected, found = f"what this part of the pattern stands for elsewhere, {named(known)}", other(known, inner)
        steps = [*self.record.steps, _Step(expr, inner)]
        path = tuple(text for outer, to in pairwise(steps) for text in _way(outer.inner, to.outer))
        mismatch = p.Mismatch(path, expected, found, _location(steps), self._hint(pattern, inner))
        return _End(mismatch, len(self.bound))

    def _hint(self, pattern: p.DFPattern, expr: Subject) -> str | None:
        blind = self.looks_through_nothing and isinstance(expr, Var) and not isinstance(pattern, p.VarPattern)
        return "explain(expr, get_var2val(function)) looks at what variables stand for" if blind else None


_NO_WAY = object()


def _furthest(ends: Sequence[_End]) -> _End:
    """Return the end that had matched the most; expectations of several attempts at the same place are merged."""
    best = max(ends, key=lambda end: end.parts)
    alike = [end.mismatch for end in ends if end.parts == best.parts and _is_at(end.mismatch, best.mismatch)]
    expected = ", or ".join(dict.fromkeys(mismatch.expected for mismatch in alike))
    return replace(best, mismatch=replace(best.mismatch, expected=expected))


def _is_at(a: p.Mismatch, b: p.Mismatch) -> bool:
    return (a.path, a.found) == (b.path, b.found)


# Places.


def _location(steps: Sequence[_Step]) -> SourceLocation | None:
    """Return the source location of the innermost expression that is the result of an operation and not a leaf."""
    ops = (step.inner.op_handle for step in reversed(steps) if isinstance(step.inner, Call | TupleGetItem))
    return location_of(next(ops, None))


def _way(outer: Subject, inner: Subject) -> Iterator[str]:
    """Yield the path from an expression to a part of it; empty if the pattern looks at the same expression again."""
    if inner is not outer:
        yield from islice((text for part, text in _parts(outer) if same_expr(part, inner)), 1)


def _parts(expr: Subject) -> Iterator[tuple[Subject, str]]:
    """Yield the parts of an expression."""
    if type(expr) is Call:
        yield expr.op, "what is called"
        yield from ((arg, f"argument {i} of {callee(expr)}") for i, arg in enumerate(expr.args))
    elif isinstance(expr, Tuple):
        yield from ((item, f"field {i}") for i, item in enumerate(expr.fields))
    elif isinstance(expr, TupleGetItem):
        yield expr.tuple_value, "the tuple"
    elif isinstance(expr, Function):
        yield from ((param, f"parameter {i}") for i, param in enumerate(expr.params))
        yield expr.body.body, "the result"
