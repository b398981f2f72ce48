"""Why a pattern does not match an expression: the condition at which the way that came furthest ended.

The matcher itself is run and watched, so that an explanation and a match cannot disagree. A pattern that matches in
no way ended at a condition of its own, or at the end of the way below it on which most parts of the pattern had been
found; of several, the one that was tried first. What was tried in vain below a pattern that matches after all is
forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import Any

from ...diagnostics import SourceLocation
from ...handles.relax.calls import to_expr
from ...handles.relax.expr import Call, Op, Tuple, TupleGetItem, Var
from ...handles.relax.function import Function
from ...ir.locations import location_of
from . import patterns as p
from .matcher import Lookup, Matcher, Subject, Ways, opaque, same_expr
from .phrases import callee, condition, named, other


def explain(pattern: p.DFPattern, expr: Any, var2val: Mapping[Any, Any] | None) -> p.Mismatch | None:
    """Why `pattern` does not match `expr`, None where it does; variables are looked up in `var2val`."""
    subject: Subject = expr if isinstance(expr, Op) else to_expr(expr)
    watch = _Watch(opaque if var2val is None else var2val.get)
    return None if watch.first(pattern, subject) is not None else watch.ends[0].mismatch


p.SEARCH.why_not = explain


@dataclass(frozen=True)
class _End:
    """Where a way ended, and how many parts of the pattern had been found on it."""

    mismatch: p.Mismatch
    parts: int


@dataclass(frozen=True)
class _Step:
    """An expression that is being matched, as it was given and with its variables looked through."""

    outer: Subject
    inner: Subject


@dataclass
class _Record:
    """What the matchers of a pattern and of functions in it share."""

    steps: list[_Step] = field(default_factory=list[_Step])
    ends: list[_End] = field(default_factory=list[_End])


class _Watch(Matcher):
    """A matcher that remembers where ways end."""

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
        """Whether there is a further way; `steps` has the expressions that are being matched meanwhile."""
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
    """The end at which most had been found. What several ways expected of one place is told together."""
    best = max(ends, key=lambda end: end.parts)
    alike = [end.mismatch for end in ends if end.parts == best.parts and _is_at(end.mismatch, best.mismatch)]
    expected = ", or ".join(dict.fromkeys(mismatch.expected for mismatch in alike))
    return replace(best, mismatch=replace(best.mismatch, expected=expected))


def _is_at(a: p.Mismatch, b: p.Mismatch) -> bool:
    return (a.path, a.found) == (b.path, b.found)


# Places.


def _location(steps: Sequence[_Step]) -> SourceLocation | None:
    """Where the innermost expression was read that an operation gives, and that is no leaf."""
    ops = (step.inner.op_handle for step in reversed(steps) if isinstance(step.inner, Call | TupleGetItem))
    return location_of(next(ops, None))


def _way(outer: Subject, inner: Subject) -> Iterator[str]:
    """The way from an expression to one that it is made of; none where a pattern looks at the same one again."""
    if inner is not outer:
        yield from islice((text for part, text in _parts(outer) if same_expr(part, inner)), 1)


def _parts(expr: Subject) -> Iterator[tuple[Subject, str]]:
    """What an expression is made of."""
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
