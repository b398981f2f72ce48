"""The analyzer against brute force: what it says holds at every point of the ranges, and it says what it must."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir import Block

from tirax.dialects.sym.analyzer import Analyzer, Interval, Residue, is_nonnegative
from tirax.dialects.sym.expr import Const, SymExpr, Var, floordiv, floormod, i64
from tirax.dialects.sym.operators import (
    OPS,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    select,
    truncdiv,
    truncmod,
)

from .programs import conditions, i, j, m, n, numbers, points

k, x, y = Var("k"), Var("x"), Var("y")
POINTS = points(n=(1, 2, 5), m=(0, 4, 8), i=range(8), j=(-3, 0, 2))
CLOSE = settings(max_examples=100, deadline=None, derandomize=True)


def bound():
    """An analyzer of the ranges of `POINTS`."""
    analyzer = Analyzer()
    analyzer.bind(n, 1, 5)
    analyzer.bind(m, 0, 8, multiple_of=4)
    analyzer.bind(i, 0, 7)
    analyzer.bind(j, -3, 2)
    return analyzer


def check(analyzer, tree, at_points):
    interval, residue = analyzer.bounds(tree.expr), analyzer.residue(tree.expr)
    small = analyzer.simplify(tree.expr)
    for at in at_points:
        value = int(tree.function(at))
        assert interval.low <= value <= interval.high, (at, interval)
        assert (value == residue.base) if residue.step == 0 else (value - residue.base) % residue.step == 0, at
        assert small.evaluate(at) == value, (at, small)


@CLOSE
@given(numbers)
def test_bounds_residues_and_simplified_forms_hold(tree):
    check(bound(), tree, POINTS)


@CLOSE
@given(numbers, conditions(numbers))
def test_they_hold_under_a_condition(tree, condition):
    analyzer = bound()
    inside = [at for at in POINTS if condition.function(at)]
    with analyzer.constraint_scope(condition.expr):
        check(analyzer, tree, inside)
    check(analyzer, tree, POINTS)


@CLOSE
@given(conditions(numbers), conditions(numbers))
def test_what_is_proven_is_true(condition, assumption):
    analyzer = bound()
    analyzer.assume(assumption.expr)
    if analyzer.can_prove(condition.expr):
        assert all(condition.function(at) for at in POINTS if assumption.function(at))
    if analyzer.can_prove(logical_not(condition.expr)):
        assert not any(condition.function(at) for at in POINTS if assumption.function(at))


@CLOSE
@given(numbers, st.integers(1, 4), st.integers(1, 4))
def test_ranges_with_symbolic_ends(tree, outer, inner):
    """i below n, j from i to below i + m: both ends depend on other variables."""
    analyzer = Analyzer()
    analyzer.bind_range(i, Const(0), n)
    analyzer.bind_range(j, i, m)
    inside = [at for at in points(n=(outer,), m=(inner,), i=range(outer), j=range(8)) if 0 <= at["j"] - at["i"] < inner]
    check(analyzer, tree, inside)


def proves(analyzer: Analyzer, condition: SymExpr) -> bool:
    return analyzer.can_prove(condition) and not analyzer.can_prove(logical_not(condition))


lt, le, gt, ge, eq, ne = (OPS[kind] for kind in ("lt", "le", "gt", "ge", "eq", "ne"))


def under(analyzer: Analyzer, *conditions: SymExpr) -> Analyzer:
    for condition in conditions:
        analyzer.assume(condition)
    return analyzer


def ranged(**extents: SymExpr | int) -> Analyzer:
    analyzer = Analyzer()
    for name, extent in extents.items():
        analyzer.bind_range(Var(name), Const(0), extent if isinstance(extent, SymExpr) else Const(extent))
    return analyzer


SCHEDULES = {
    "fused loops stay inside": (ranged(i=m, j=n), lt(i * n + j, m * n)),
    "fused loops of constants": (ranged(i=4, j=6), lt(i * 6 + j, 24)),
    "the outer part of a fused loop": (ranged(k=m * n), lt(floordiv(k, n), m)),
    "the inner part of a fused loop": (ranged(k=m * n), lt(floormod(k, n), n)),
    "a tile stays inside": (ranged(i=floordiv(n + 7, 8), j=minimum(8, n - i * 8)), lt(i * 8 + j, n)),
    "tiles cover": (ranged(), ge(floordiv(n + 7, 8) * 8, n)),
    "tiles cover no more than needed": (ranged(), lt(floordiv(n + 7, 8) * 8, n + 8)),
    "the last tile begins inside": (ranged(i=floordiv(n + 7, 8)), lt(i * 8, n)),
    "split by three factors": (ranged(i=4, j=4, k=4), lt(i * 16 + j * 4 + k, 64)),
    "a tile of a tile": (ranged(i=floordiv(n + 31, 32), j=4, k=8), lt(i * 32 + j * 8 + k, floordiv(n + 31, 32) * 32)),
    "what is computed at a tile": (ranged(i=8), le(minimum(n, i * 8 + 8) - i * 8, 8)),
    "a window of a tile": (ranged(i=8, j=4, k=3), lt(i * 4 + j + k, 34)),
    "the rest of a division": (ranged(), le(n - floordiv(n, 8) * 8, 7)),
    "an index of a flattened buffer": (ranged(i=n, j=m), ge(n * m - i * m - j, 1)),
    "three dimensions flattened": (ranged(i=n, j=m, k=x), lt((i * m + j) * x + k, n * m * x)),
    "reversed": (ranged(i=n), ge(n - 1 - i, 0)),
    "a triangle": (ranged(i=n, j=i + 1), lt(j, n)),
    "a guarded index divided": (under(ranged(i=3, j=24), lt(i * 24 + j, 64)), lt(floordiv(i * 24 + j, 8), 8)),
    "a guarded index divided by an extent": (
        under(ranged(k=floordiv(n * m + 31, 32), j=32), lt(k * 32 + j, n * m)),
        lt(floordiv(k * 32 + j, m), n),
    ),
    "a guarded index modulo an extent": (
        under(ranged(k=floordiv(n * m + 31, 32), j=32), lt(k * 32 + j, n * m)),
        lt(floormod(k * 32 + j, m), m),
    ),
    "the last tile of a fused loop begins inside": (ranged(k=floordiv(n * m + 31, 32)), le(k * 32, n * m - 1)),
    "tiles of tiles are tiles": (ranged(), eq(floordiv(floordiv(n + 3, 4) + 1, 2), floordiv(n + 7, 8))),
    "tiles of both sizes": (ranged(), le(floordiv(n + 3, 4), floordiv(n + 7, 8) * 2)),
    "the extent of a tile": (ranged(i=floordiv(n + 7, 8)), ge(minimum(n, i * 8 + 8) - i * 8, 1)),
    "a tile inside of a tile": (
        ranged(i=floordiv(n + 31, 32), j=4),
        le(minimum(n, i * 32 + j * 8 + 8), minimum(n, i * 32 + 32)),
    ),
    "digits of a fused index": (ranged(i=8, j=8), eq(floormod(floordiv(i * 8 + j, 4), 2), floordiv(j, 4))),
    "the loop without the rest": (ranged(i=floordiv(n, 8), j=8), lt(i * 8 + j, n)),
    "the rest that there is": (under(ranged(), gt(floormod(n, 8), 0)), lt(floordiv(n, 8) * 8, n)),
    "rows in a swizzled order": (ranged(i=8, j=8), lt(floormod(i + j, 8) + i * 8, 64)),
    "a rolling window": (ranged(i=n, k=3), lt(floormod(i + k, 3), 3)),
    "clamped at both ends": (ranged(i=n), lt(minimum(maximum(i - 1, 0), n - 1), n)),
    "padding on the left": (ranged(i=n), ge(select(ge(i, 1), i - 1, i), 0)),
    "order is kept by division": (under(ranged(), lt(x, y)), le(floordiv(x, 8), floordiv(y, 8))),
    "a multiple has no smaller rest": (ranged(i=n), ne(i * 8 + 3, m * 4)),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_what_schedules_need_is_proven(name):
    analyzer, condition = SCHEDULES[name]
    assert proves(analyzer, condition)


SIMPLE = {
    "(x + 7) // 8 - x // 8": ({}, floordiv(x + 7, 8) - floordiv(x, 8), floordiv(floormod(x, 8) + 7, 8)),
    "min(n, i * 8 + 8) - i * 8": ({}, minimum(n, i * 8 + 8) - i * 8, minimum(n - i * 8, 8)),
    "x - x % 8": ({}, x - floormod(x, 8), floordiv(x, 8) * 8),
    "(i * 8 + j) // 32": ({"i": 64, "j": 8}, floordiv(i * 8 + j, 32), floordiv(i, 4)),
    "(i * 45 + j) // 4": ({"i": 3, "j": 2}, floordiv(i * 45 + j, 4), i * 11),
    "(i * 45 + j) % 4": ({"i": 3, "j": 2}, floormod(i * 45 + j, 4), i + j),
    "(i * 8 + j) % 32": ({"i": 64, "j": 8}, floormod(i * 8 + j, 32), floormod(i, 4) * 8 + j),
    "(i * n + j) // n": ({"i": m, "j": n}, floordiv(i * n + j, n), i),
    "(i * n + j) % n": ({"i": m, "j": n}, floormod(i * n + j, n), j),
    "digits join": ({}, floormod(floordiv(x, 4), 2) * 4 + floormod(x, 4), floormod(x, 8)),
    "high digits join": ({}, floordiv(x, 8) * 8 + floormod(floordiv(x, 4), 2) * 4, floordiv(x, 4) * 4),
    "all digits join": (
        {},
        floordiv(x, 8) * 8 + floormod(floordiv(x, 4), 2) * 4 + floormod(x, 4),
        x,
    ),
    "digits join, multiples apart": ({}, floordiv(x + y * 14, 7) * 7 + floormod(x, 7), x + y * 14),
    "digits of sums join": (
        {},
        floordiv(x * 49 + y * 28 + floordiv(k, 8), 14) * 112
        + floormod(x * 7 + floordiv(k, 8), 14) * 8
        + floormod(k, 8),
        x * 392 + y * 224 + k,
    ),
    "other digits do not": (
        {},
        floordiv(x * 3, 7) * 7 + floormod(x, 7),
        floordiv(x * 3, 7) * 7 + floormod(x, 7),
    ),
    "minima that keep their distance": ({}, minimum(x * 8 + 9, y) - minimum(y - 3, x * 8 + 6), Const(3)),
    "maxima that keep their distance": ({}, maximum(n, 4) * 2 - maximum(1, n - 3) * 2 + x, x + 6),
    "minima that do not": ({}, minimum(x + 1, y) - minimum(x, y), minimum(x + 1, y) - minimum(x, y)),
    "(i + 16) // 8": ({"i": 8}, floordiv(i + 16, 8), Const(2)),
    "(i + 16) % 8": ({"i": 8}, floormod(i + 16, 8), i),
    "min(i, i // 2, 9)": ({"i": 10}, minimum(minimum(i, floordiv(i, 2)), 9), floordiv(i, 2)),
    "max(min(i, 4), 4)": ({}, maximum(minimum(i, 4), 4), Const(4)),
    "select(i < 4, i // 4, j)": ({"i": 8}, select(lt(i, 4), floordiv(i, 4), j), select(lt(i, 4), 0, j)),
    "select(i < j, i, j)": ({}, select(lt(i, j), i, j), minimum(i, j)),
    "i < 4 and i < 8": ({}, logical_and(lt(i, 4), lt(i, 8)), lt(i, 4)),
    "i < 4 or i >= 2": ({}, logical_or(lt(i, 4), ge(i, 2)), Const(1, OPS["eq"](1, 1).dtype)),
    "not (i < 4)": ({}, logical_not(lt(i, 4)), ge(i, 4)),
    "truncdiv(i, 8)": ({"i": 8}, truncdiv(i, 8), Const(0)),
    "truncmod(i, 8)": ({"i": 8}, truncmod(i, 8), i),
    "the extent of a tile": (
        {"i": floordiv(n, 8)},
        minimum(n, i * 8 + 8) - i * 8,
        Const(8),
    ),
    "the guard of a divisible split": ({"i": floordiv(n, 8), "j": 8}, lt(i * 8 + j, n), Const(1, lt(1, 2).dtype)),
}


@pytest.mark.parametrize("name", SIMPLE)
def test_simplified_forms(name):
    extents, form, simple = SIMPLE[name]
    simplified = ranged(**extents).simplify(form)
    assert simplified == simple, simplified


RANDOM = random.Random(5)


def shifted(kind, a, b, distance):
    """A choice and the same of both sides moved, which are written in any order."""
    sides = [a + distance, b + distance]
    RANDOM.shuffle(sides)
    return kind(*sides) * 2 - kind(a, b) * 2


@pytest.mark.parametrize(
    "form",
    [
        *(
            floordiv(x * a + y * b + c, d) * d + floormod(x * (a + d * e) + y * b + (c - d), d) + shift
            for a, b, c, d, e, shift in (
                [RANDOM.randint(-9, 9) for _ in range(3)] + [RANDOM.randint(2, 9)] + [RANDOM.randint(-2, 2), j]
                for _ in range(30)
            )
        ),
        *(
            shifted(kind, x * RANDOM.randint(-3, 3) + 1, y * RANDOM.randint(1, 3) + j, distance)
            for kind in (minimum, maximum)
            for distance in range(-3, 4)
        ),
    ],
    ids=str,
)
def test_what_sums_become_has_their_values(form):
    small = Analyzer().simplify(form)
    for at in points(x=range(-7, 8), y=(-5, -1, 0, 2, 3), j=(-2, 0, 3)):
        assert small.evaluate(at) == form.evaluate(at), (at, small)


def test_what_does_not_follow_is_not_proven():
    analyzer = ranged(i=n, j=8)
    for condition in (lt(i * 8 + j, n), le(n, i + 1), eq(floormod(n, 8), 0), lt(floordiv(n + 7, 8) * 8, n + 7)):
        assert not analyzer.can_prove(condition)
        assert not analyzer.can_prove(logical_not(condition))


def test_conditions_follow_from_each_other():
    a, b, c, d = (Var(name) for name in "abcd")
    analyzer = Analyzer()
    for v in (a, b, c, d):
        analyzer.bind(v, -float("inf"))
    with analyzer.constraint_scope(logical_and(lt(a, b), logical_and(le(b, c), lt(c, d)))):
        assert proves(analyzer, lt(a, d))
        assert proves(analyzer, le(a + 2, d))
        assert not analyzer.can_prove(le(a + 3, d))
        assert proves(analyzer, lt(a * 3, d * 3 - 3))
    assert not analyzer.can_prove(lt(a, d))


def test_congruences():
    analyzer = Analyzer()
    with analyzer.constraint_scope(eq(floormod(n, 8), 3)):
        assert analyzer.residue(n) == Residue(8, 3)
        assert proves(analyzer, eq(floormod(n + 1, 4), 0))
        assert analyzer.can_prove_equal(floordiv(n, 8) * 8 + 3, n)
    with analyzer.constraint_scope(eq(floormod(n + m, 8), 0)):
        assert proves(analyzer, eq(floormod(n * 3 + m * 3 + 2, 8), 2))
        assert analyzer.can_prove_equal(floordiv(n + m, 8) * 8, n + m)
    assert analyzer.residue(n) == Residue(1, 0)


def test_values_take_the_place_of_variables():
    analyzer = Analyzer()
    analyzer.bind_value(n, m * 8)
    assert analyzer.simplify(floordiv(n, 8)) == m
    assert analyzer.residue(n + 1) == Residue(8, 1)
    with analyzer.constraint_scope(eq(k, 12)):
        assert analyzer.bounds(k + 1) == Interval(13, 13)
    assert analyzer.bounds(k) == Interval(0, float("inf"))


def test_a_long_sum_is_no_burden():
    """Terms that all depend on each other: what is tried has an end."""
    names = [Var(f"v{p}") for p in range(100)]
    total: SymExpr = Const(0)
    for v in names:
        total = total + floordiv(v + 3, 4) * 4 - v + minimum(v, 9)
    analyzer = Analyzer()
    assert analyzer.bounds(total).low >= 0
    assert analyzer.simplify(total).evaluate({v.name: p for p, v in enumerate(names)}) == total.evaluate(
        {v.name: p for p, v in enumerate(names)}
    )
    with analyzer.constraint_scope(ge(sum(names[1:], start=names[0]), 5)):
        assert not analyzer.can_prove(lt(total, 3))


def test_nested_conditions_are_no_burden():
    e: SymExpr = x
    for depth in range(8):
        e = select(lt(e, depth + 40), e + 1, minimum(e, 90 - depth))
    assert Analyzer().simplify(e).evaluate({"x": 5}) == e.evaluate({"x": 5})


def test_what_extents_give_is_known_not_to_be_negative():
    n, m, value = Var("n"), Var("m"), Var(Block(arg_types=[i64]).args[0])
    for e in (Const(0), n, n * m + 2, n // 4 % m, OPS["max"](n - 4, 0), OPS["min"](n, m // 2), OPS["lt"](n - m, 2)):
        assert is_nonnegative(e), e
        assert not is_nonnegative(e - 3), e
    for e in (value, n - m, n * -1, OPS["min"](n, m - 1), OPS["truncmod"](n - 8, 4)):
        assert not is_nonnegative(e), e
    assert not is_nonnegative(n + m, signed={"m"}) and is_nonnegative(n + m, signed={"k"})
