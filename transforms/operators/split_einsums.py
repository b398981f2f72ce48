"""Einstein sums of three and more tensors as sums of two at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from string import ascii_letters
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects.relax.linear_algebra import Einsum
from ...ir.passes.transform import Pass
from ...ir.rewriting.driver import Emit, apply_rules

_ASSUMED_EXTENT = 64
"""In place of an extent that only a run knows."""


@dataclass(frozen=True)
class SplitEinsums(Pass):
    """Replace an `einsum` of three or more tensors by those of two tensors each, if this takes fewer multiplications.

    y = einsum(a, b, c, "ij,jk,kl->il")  ->  t = einsum(b, c, "jk,kl->jl"); y = einsum(a, t, "ij,jl->il")

    The cheapest product comes first; extents that only a run knows count as 64.
    """

    name = "split-einsums"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {"relax.einsum": _split})


class _Step(NamedTuple):
    """The product of two tensors, by their places in the list, which the result is appended to; `letters` are its."""

    places: tuple[int, int]
    terms: tuple[str, str]
    letters: str


def _split(op: Einsum, emit: Emit) -> SSAValue | None:
    tensors = op.tensors("xs")
    if len(tensors) < 3 or any(t.dims is None for t in tensors):
        return None
    inputs, result = _with_letters(*op.labels([t.rank or 0 for t in tensors]))
    every = [dict(zip(term, t.dims or (), strict=True)) for term, t in zip(inputs, tensors, strict=True)]
    extents: dict[str, int] = {}
    for dims in every:
        for letter, dim in dims.items():
            known = _ASSUMED_EXTENT if dim.constant is None else dim.constant
            extents[letter] = max(known, extents.get(letter, 0))
    steps = _steps(inputs, result, extents)
    if sum(_cost(extents, *step.terms) for step in steps) >= _cost(extents, *inputs):
        return None
    values = list(op.operands)
    for step in steps:
        pair = [values[place] for place in step.places]
        values = [v for place, v in enumerate(values) if place not in step.places]
        values.append(emit("einsum", pair, subscripts=f"{','.join(step.terms)}->{step.letters}"))
    return values[-1]


def _with_letters(inputs: Sequence[str], result: str) -> tuple[list[str], str]:
    """Return subscripts with letters in place of the digits, which stand for the dimensions of `...`."""
    free = (c for c in ascii_letters if c not in "".join(inputs))
    names = {ord(c): next(free) for c in sorted(set("".join(inputs))) if c.isdigit()}
    return [term.translate(names) for term in inputs], result.translate(names)


def _steps(inputs: Sequence[str], result: str, extents: Mapping[str, int]) -> list[_Step]:
    """Return products of two tensors at a time: always the cheapest, or of these the one with the smallest result."""
    terms: list[str] = [*inputs]
    steps: list[_Step] = []
    while len(terms) > 1:
        possible = [_step(terms, places, result) for places in combinations(range(len(terms)), 2)]
        step = min(possible, key=lambda s: (_cost(extents, *s.terms), _cost(extents, s.letters)))
        for place in reversed(step.places):
            del terms[place]
        terms.append(step.letters)
        steps.append(step)
    return steps


def _step(terms: Sequence[str], places: tuple[int, int], result: str) -> _Step:
    first, second = (terms[place] for place in places)
    kept = result + "".join(t for place, t in enumerate(terms) if place not in places)
    letters = "".join(c for c in dict.fromkeys(first + second) if c in kept)
    return _Step(places, (first, second), result if len(terms) == 2 else letters)


def _cost(extents: Mapping[str, int], *terms: str) -> int:
    return prod(extents[c] for c in set("".join(terms)))
