"""Conditions as conjunctions of disjunctions, simplified also between operands that are not adjacent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce

from .terms import FALSE, TRUE, Term, build, raw

Clause = list[Term]
_MOST_CLAUSES = 64
"""Distribution may double the size of a condition: beyond this number of clauses it is not applied."""


def conjunction(
    condition: Term, simplified: Callable[[Term], Term], under: Callable[[Term, Term], Term]
) -> Term | None:
    """Return a condition in conjunctive form, A || (B && C)  ->  (A || B) && (A || C), or None if it is too long.

    `simplified` returns the normal form of a condition, and `under(known, condition)` that under the assumption
    `known`.
    """
    clauses = _clauses(condition)
    if len(clauses) > _MOST_CLAUSES:
        return None
    for clause in clauses:
        _within(clause, simplified)
    clauses = _cleaned(clauses)
    _across(clauses, under)
    return reduce(_and, (reduce(_or, clause, FALSE) for clause in _cleaned(clauses)), TRUE)


def _and(a: Term, b: Term) -> Term:
    return build("and", a, b)


def _or(a: Term, b: Term) -> Term:
    return build("or", a, b)


def _clauses(condition: Term) -> list[Clause]:
    """Return the distinct clauses of a condition; one more than `_MOST_CLAUSES` if there are too many."""
    clauses: dict[frozenset[Term], Clause] = {}
    for clause in _distributed(condition):
        parts = list(dict.fromkeys(clause))
        clauses.setdefault(frozenset(parts), parts)
        if len(clauses) > _MOST_CLAUSES:
            break
    return list(clauses.values())


def _distributed(condition: Term) -> Iterator[Clause]:
    if condition.op == "and":
        for side in condition.args:
            yield from _distributed(side)
    elif condition.op == "or":
        for left in _distributed(condition.args[0]):
            for right in _distributed(condition.args[1]):
                yield left + right
    else:
        yield [condition]


def _within(clause: Clause, simplified: Callable[[Term], Term]) -> None:
    """Simplify within a clause: A || B || C  ->  B || D where A || C is D."""
    for i in range(len(clause)):
        for j in range(i + 1, len(clause)):
            clause[i], clause[j] = _joined("or", clause[i], clause[j], simplified)


def _joined(op: str, a: Term, b: Term, simplified: Callable[[Term], Term]) -> tuple[Term, Term]:
    """Return two conditions equivalent to the junction of a and b, the first one neutral if a single one suffices."""
    if TRUE in (a, b) or FALSE in (a, b):
        return a, b
    joint = raw(op, a, b)
    merged = simplified(joint)
    if merged is joint:
        return a, b
    if merged.op == op:
        return merged.args[0], merged.args[1]
    return (FALSE if op == "or" else TRUE), merged


def _across(clauses: list[Clause], under: Callable[[Term, Term], Term]) -> None:
    """Simplify across clauses: (A || B) && (A || C)  ->  A || D where B && C is D; implied clauses are removed."""
    for i in range(len(clauses)):
        for j in range(i + 1, len(clauses)):
            left, right = clauses[i], clauses[j]
            ours, theirs = set(left) - set(right), set(right) - set(left)
            if not ours:
                clauses[j] = [TRUE]
            elif not theirs:
                clauses[i] = [TRUE]
            elif len(ours) == len(theirs) == 1:
                _merge(left, right, ours.pop(), theirs.pop(), under)


def _merge(left: Clause, right: Clause, ours: Term, theirs: Term, under: Callable[[Term, Term], Term]) -> None:
    """Merge two clauses: where their common parts are false, each equals its own remaining part."""
    shared = [part for part in left if part is not ours]
    absent = reduce(_and, (build("not", part) for part in shared), TRUE)
    mine, other = _joined("and", ours, theirs, lambda joint: under(absent, joint))
    left[left.index(ours)], right[right.index(theirs)] = mine, other


def _cleaned(clauses: list[Clause]) -> list[Clause]:
    """Remove false parts and true clauses."""
    kept = [[part for part in clause if part is not FALSE] for clause in clauses if TRUE not in clause]
    return [[]] if [] in kept else kept
