"""Sets of integers: no value of an expression lies outside, and where a form is known it is exact."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from tirax.dialects.sym import expr
from tirax.dialects.sym.analyzer import Analyzer, Interval
from tirax.dialects.sym.expr import Const, Sum, SymExpr, Var, floordiv, floormod, i1, i32
from tirax.dialects.sym.int_set import EVERYTHING, NOTHING, Intervals, SymInterval, values_of, within
from tirax.dialects.sym.operators import OPS, maximum, minimum, select

I, J, N, M = (Var(name) for name in "ijnm")


def interval(low: object, high: object) -> SymInterval:
    return SymInterval(*(Const(e) if isinstance(e, int) else e for e in (low, high)))  # type: ignore[arg-type]


DOMAIN = {I: interval(0, 7), J: interval(-3, 4)}

EXACT = {
    "a variable": (I, (0, 7)),
    "what does not move": (N + 1, (N + 1, N + 1)),
    "a sum": (I + J + N, (N - 3, N + 11)),
    "a negative factor": (N - I * 2, (N - 14, N)),
    "both signs": (I - J, (-4, 10)),
    "a product with an extent": (I * N, (0, N * 7)),
    "a product with the negative of one": (J * N, (N * -3, N * 4)),
    "a quotient": (floordiv(I, 2), (0, 3)),
    "a quotient of negatives": (floordiv(J, 2), (-2, 2)),
    "a quotient by an extent": (floordiv(I + N * 4, N), (4, floordiv(N * 4 + 7, N))),
    "a remainder": (floormod(I, 5), (0, 4)),
    "a remainder that is none": (floormod(I, 8), (0, 7)),
    "a remainder of one block": (floormod(I + 16, 8), (0, 7)),
    "a remainder of a part of a block": (floormod(minimum(I, 2) + 17, 8), (1, 3)),
    "a remainder by an extent": (floormod(I * 2, N), (0, N - 1)),
    "the lesser": (minimum(I, 3), (0, 3)),
    "the greater": (maximum(I, J), (0, 7)),
    "the greater of a number": (maximum(J, 1), (1, 4)),
    "a choice": (select(OPS["lt"](I, 3), I, J), (-3, 7)),
    "an operation of what does not move": (floordiv(N, 2) + I, (floordiv(N, 2), floordiv(N, 2) + 7)),
}


@pytest.mark.parametrize("name", EXACT)
def test_ends_are_these(name: str) -> None:
    expr, (low, high) = EXACT[name]
    ends = values_of(expr, DOMAIN)
    for end, expected in zip(ends, (low, high), strict=True):
        assert end is not None and Analyzer().can_prove_equal(end, expected), f"{ends}"


def test_ends_of_long_sums_take_no_square(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terms of all sums that are made on the way: four times as many for a sum of four times as many sizes."""
    terms, result = [0], expr._sum
    sizes = [Var(f"n{k}") for k in range(1024)]
    sums = {count: sum(sizes[:count], start=Const(0)) + I for count in (256, 1024)}

    def counted(parts: list[tuple[SymExpr, int]], *rest: Any) -> SymExpr:
        terms[0] += sum(len(part.terms) if isinstance(part, Sum) else 1 for part, _ in parts)
        return result(parts, *rest)

    monkeypatch.setattr(expr, "_sum", counted)
    counts = []
    for count, long in sums.items():
        terms[0] = 0
        assert values_of(long, DOMAIN) == SymInterval(long - I, long - I + 7)
        counts.append(terms[0] / count)
    assert counts[1] < 2 * counts[0]


def test_a_condition_is_true_or_false() -> None:
    assert values_of(OPS["lt"](I, J), DOMAIN) == SymInterval(Const(0, i1), Const(1, i1))


UNKNOWN = {
    "a divisor that moves": floordiv(N, I + 1),
    "a divisor of unknown sign": floordiv(I, N - M),
    "a remainder by what moves": floormod(N, I + 1),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_no_end_is_known_of_has_the_ends_of_the_analyzer(name: str) -> None:
    evaluator = _Moving()
    assert evaluator.of(UNKNOWN[name]) == EVERYTHING


class _Moving(Intervals):
    """I is of 0 to 7, J of -3 to 4; without an analyzer's help where there are no ends."""

    def __init__(self, known: Analyzer | None = None) -> None:
        super().__init__(Analyzer() if known is None else known)

    def moves(self, v: Var) -> bool:
        return v in DOMAIN

    def var(self, e: Var) -> SymInterval:
        return DOMAIN[e]


def test_products_need_a_sign() -> None:
    evaluator = _Moving()
    assert evaluator.of(I * N) == interval(0, N * 7)
    assert evaluator.of(I * I) == interval(0, 49)
    assert evaluator.of(J * J) == EVERYTHING and evaluator.of(I * J) == EVERYTHING
    either = minimum(N - 5, M)  # of either sign
    assert evaluator.of(either * I) == SymInterval(*(choose(Const(0), either * 7) for choose in (minimum, maximum)))
    known = Analyzer()
    known.bind(N, -9, -1)
    assert _Moving(known).of(I * N) == interval(N * 7, 0)
    known = Analyzer()
    known.bind(N, -9, 0)
    assert _Moving(known).of(I * N) == interval(N * 7, 0)
    assert evaluator.mul(SymInterval(Const(2), None), SymInterval.point(either)) == EVERYTHING
    half = Intervals.mul(evaluator, SymInterval(Const(2), None), SymInterval(Const(3), Const(3)))
    assert half == SymInterval(Const(6), None)


def test_remainders_within_one_block() -> None:
    k = Var("k")
    assert values_of(floormod(k, 8), {k: interval(9, 11)}) == interval(1, 3)
    assert values_of(floormod(k, 8), {k: interval(N * 8 + 1, N * 8 + 3)}) == interval(1, 3)
    assert values_of(floormod(k, 8), {k: interval(7, 8)}) == interval(0, 7)


def test_sets_without_an_end() -> None:
    upwards = {I: SymInterval(Const(2), None)}
    assert values_of(I * 3 + 1, upwards) == SymInterval(Const(7), None)
    assert values_of(N - I, upwards) == SymInterval(None, N - 2)
    assert values_of(minimum(I, 9), upwards) == interval(2, 9)
    assert values_of(maximum(I, 9), upwards) == SymInterval(Const(9), None)
    assert values_of(floordiv(I, 2), upwards) == SymInterval(Const(1), None)
    assert values_of(floormod(I, 4), upwards) == interval(0, 3)
    assert values_of(select(OPS["lt"](N, 3), I, Const(0)), upwards) == SymInterval(Const(0), None)


def test_ends_may_use_variables_before_them() -> None:
    domain = {I: interval(0, 7), J: SymInterval(I, I + 2)}
    assert values_of(J, domain) == interval(0, 9)
    assert values_of(J - I, domain) == interval(-7, 9) or values_of(J - I, domain) == interval(0, 2)
    circle = {I: SymInterval(J, J + 1), J: SymInterval(I, I + 1)}
    assert values_of(I, circle) == EVERYTHING


def test_constants_keep_their_type() -> None:
    k = Var("k", i32)
    ends = values_of(floormod(k, Const(4, i32)), {k: SymInterval(Const(0, i32), Const(9, i32))})
    assert [e.dtype for e in ends if e is not None] == [i32, i32]


def test_unions_and_intersections() -> None:
    a, b, known = interval(0, 5), interval(3, 9), Analyzer()
    assert a.union(b) == interval(0, 9) and a.union(b, known) == interval(0, 9)
    assert a.intersect(b, known) == interval(3, 5)
    assert a.intersect(interval(6, 9), known) == NOTHING and a.intersect(interval(5, 9), known) == interval(5, 5)
    assert a.union(NOTHING) == NOTHING.union(a) == a
    assert a.intersect(NOTHING, known) == NOTHING.intersect(a, known) == NOTHING
    assert a.union(EVERYTHING) == EVERYTHING and a.intersect(EVERYTHING, known) == a
    half = SymInterval(Const(2), None)
    assert half.union(a) == SymInterval(Const(0), None) and half.intersect(a, known) == interval(2, 5)
    assert interval(0, N).union(interval(1, M)) == SymInterval(Const(0), maximum(N, M))
    assert interval(0, N).union(interval(0, N + 1), known) == interval(0, N + 1)


def test_kinds_of_sets() -> None:
    point = SymInterval.point(N)
    assert point.is_point and not point.is_empty and not point.is_everything
    assert EVERYTHING.is_everything and not EVERYTHING.is_point and not SymInterval(N, None).is_everything
    assert NOTHING.is_empty and not interval(0, 1).is_empty and not interval(0, 1).is_point


def test_an_analyzer_knows_the_domain_and_forgets_what_it_knew() -> None:
    before = Analyzer()
    before.bind(I, 100, 200)
    before.bind(N, 1, 10)
    inside = within({I: interval(0, 7), J: SymInterval(Const(3), None)}, before)
    assert inside.bounds(I) == Interval(0, 7) and inside.bounds(J).low == 3 and inside.bounds(N) == Interval(1, 10)
    assert before.bounds(I) == Interval(100, 200)
    downwards = within({I: SymInterval(None, Const(4))}, before)
    assert downwards.bounds(I).high == 4 and downwards.bounds(I).low < -(10**9)


def _expression(draw: random.Random, depth: int) -> SymExpr:
    if depth == 0:
        return draw.choice((I, J, I, J, N, M, Const(draw.randint(-4, 9))))
    a, b = _expression(draw, depth - 1), _expression(draw, depth - 1)
    by = draw.choice((Const(2), Const(3), N, N + 1))
    return draw.choice(
        (
            lambda: a + b, lambda: a - b, lambda: a * draw.randint(-3, 3), lambda: a * N, lambda: a * b,
            lambda: floordiv(a, by), lambda: floormod(a, by), lambda: minimum(a, b), lambda: maximum(a, b),
            lambda: select(OPS["le"](a, b), a, b),
        )
    )()  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_no_value_lies_outside(seed: int) -> None:
    draw, finite = random.Random(seed), 0
    moving = {I: range(8), J: range(-3, 5)}
    for _ in range(120):
        expr = _expression(draw, draw.choice((1, 2, 2, 3)))
        low, high = values_of(expr, DOMAIN)
        finite += low is not None and high is not None
        for n, m in ((1, 1), (3, 5), (4, 2)):
            free = {"n": n, "m": m}
            ends = [None if end is None else end.evaluate(free) for end in (low, high)]
            for i, j in product(*moving.values()):
                value = expr.evaluate({**free, "i": i, "j": j})
                assert (ends[0] is None or ends[0] <= value) and (ends[1] is None or value <= ends[1]), (
                    f"{expr}: {low}, {high}"
                )
    assert finite > 60
