"""The analyzer's rules, proved by z3 for all integers: each on what it is for, and all on random expressions.

Divisors are numbers, also where a rule takes a symbol: z3 does not decide products of symbols.
"""

from __future__ import annotations

import random
from math import inf

import pytest
from strength import thinned

from tirax.dialects.sym import rules
from tirax.dialects.sym.analyzer import Analyzer
from tirax.dialects.sym.expr import Const, Op, Var, floordiv, floormod, i1
from tirax.dialects.sym.operators import OPS, logical_not
from tirax.proof.sizes.facts import Facts

z3 = pytest.importorskip("z3", reason="the extra proof: pip install 'tirax[proof]'")

X, Y, N, J = (Var(name) for name in "xynj")
LEAST, MOST = OPS["min"], OPS["max"]


def less(a, b):
    return OPS["lt"](a, b)


ROWS = {
    "_point": [(X - floordiv(X, d) * d - floormod(X, d) + 5, {}) for d in (1, 3, 8)],
    "_without_remainder": [(X * c - floormod(X, d) * c, {}) for c in (1, 3) for d in (2, 7)],
    "_joined_digits": [
        *[(floormod(floordiv(X, d), s) * d + floormod(X, d), {}) for d in (4, 3) for s in (2, 5)],
        *[(floordiv(X, d) * d * c + floormod(X, d) * c, {}) for d in (4, 6) for c in (1, 5)],
    ],
    "_joined_again": [
        (Op("floordiv", (X + Y * 4 + c, Const(4))) * 4 * k + floormod(X + c, 4) * k, {}) for c in (0, 1) for k in (1, 3)
    ],
    "_difference_of_quotients": [(floordiv(X + c, d) - floordiv(X, d), {}) for c in (1, 7, 30) for d in (4, 7)],
    "_difference_of_choices": [(k(X + 5, Y + 5) - k(Y, X), {}) for k in (LEAST, MOST)],
    "_into_choice": [
        (sign * k(N, X * 8 + 8) - sign * 8 * X, {}) for k in (LEAST, MOST) for sign in (1, -1)
    ],
    "_same_quotient": [
        (f(X + Y, d), {X: (lo, lo + 2), Y: (0, 1)}) for f in (floordiv, floormod) for d, lo in ((8, 8), (8, -8), (4, 0))
    ],
    "_known_remainder": [(floormod(X + c, d), {X: (0, inf, 12)}) for c, d in ((5, 4), (1, 6), (11, 12))],
    "_common_factor": [
        (f(X * a + J + c, d), {J: (0, 3)})
        for f in (floordiv, floormod)
        for a, c, d in ((8, 0, 32), (4, 4, 12), (8, 4, 32))
    ],
    "_small_rest": [(f(X * 45 + Y * 9, 2), {X: (0, 0), Y: (0, 0)}) for f in (floordiv, floormod)]
    + [(f(X * 45, 2), {X: (0, 1)}) for f in (floordiv, floormod)],
    "_multiples_of_symbol": [(f(X * N + J, N), {N: (n, n)}) for f in (floordiv, floormod) for n in (1, 2, 7, 16)],
    "_truncated_point": [(OPS[k](X, 9), {X: (0, 8)}) for k in ("truncdiv", "truncmod")],
    "_dominated": [(LEAST(LEAST(X, floordiv(X, 2)), 9), {X: (0, 9)}), (MOST(MOST(X, floordiv(X, 2)), -1), {X: (0, 9)})],
    "_choice_of_compared": [
        (OPS["select"](OPS[k](X, Y), *sides), {}) for k in ("lt", "le", "gt", "ge") for sides in ((X, Y), (Y, X))
    ],
    "_negation": [(OPS["not"](OPS[k](X, Y)), {}) for k in ("and", "or", "lt", "eq") if k not in ("and", "or")]
    + [(OPS["not"](OPS[k](less(X, Y), less(N, J))), {}) for k in ("and", "or")],
    "_decided": [(less(X + Y, 12), {X: (0, 7), Y: (0, 4)}), (OPS["ge"](X, Y + 8), {X: (0, 7), Y: (0, 4)})],
}  # fmt: skip


def known(ranges):
    """Return an analyzer and the same facts: (least, greatest, a divisor); names without are sizes, not negative."""
    analyzer, conditions = Analyzer(), []
    for var in (X, Y, N, J):
        low, high, step = (*ranges.get(var, (0, inf)), 1)[:3]
        if var in ranges:
            analyzer.bind(var, low, high, multiple_of=step)
        conditions += [] if low == -inf else [OPS["ge"](var, low)]
        conditions += [] if high == inf else [OPS["le"](var, high)]
        conditions += [] if step == 1 else [OPS["eq"](floormod(var, step), 0)]
    return analyzer, Facts(conditions)


def are_equal(facts, before, after):
    if before.dtype == i1:
        either = OPS["or"](OPS["and"](before, logical_not(after)), OPS["and"](after, logical_not(before)))
        return facts.excludes([either])
    return facts.excludes([OPS["ne"](before, after)])


def all_rules():
    return {rule.__name__: rule for row in rules.RULES.values() for rule in row}


def test_each_rule_has_a_row():
    assert set(all_rules()) == set(ROWS)


@pytest.mark.parametrize("name", list(ROWS))
def test_rules_hold_for_all_integers(name):
    applied = 0
    for e, ranges in ROWS[name]:
        analyzer, facts = known(ranges)
        result = all_rules()[name](analyzer, e)
        if result is not None:
            applied += 1
            assert are_equal(facts, e, result), f"{e} -> {result}"
    assert applied and applied >= len(ROWS[name]) / 2


def test_a_wrong_rule_is_not_proved():
    _, facts = known({X: (-inf, inf)})
    assert not are_equal(facts, floordiv(X + 1, 2), floordiv(X, 2))
    assert not are_equal(facts, OPS["truncdiv"](X, 2), floordiv(X, 2))
    assert are_equal(known({X: (0, inf)})[1], OPS["truncdiv"](X, 2), floordiv(X, 2))


KINDS = ("floordiv", "floormod", "min", "max", "select")


def random_expression(rng, depth):
    if depth == 0:
        return rng.choice((X, Y, N, J)) if rng.random() < 0.75 else rng.choice((X, Y)) * 0 + rng.randint(-9, 9)
    a = random_expression(rng, depth - 1)
    kind = rng.choice(("add", "sub", "scaled", *KINDS))
    if kind in ("floordiv", "floormod"):
        return OPS[kind](a, rng.choice((2, 3, 4, 8)))
    if kind == "scaled":
        return a * rng.choice((-1, 2, 3, 4, 8))
    b = random_expression(rng, rng.randint(0, depth - 1))
    if kind == "select":
        return OPS["select"](OPS[rng.choice(("lt", "le", "eq"))](a, b), a, b + 1)
    return a + b if kind == "add" else a - b if kind == "sub" else OPS[kind](a, b)


@thinned("seed", range(24), lambda seed: seed % 3)
def test_simplified_expressions_are_equal(seed):
    rng = random.Random(seed)
    for _ in range(8):
        e = random_expression(rng, 3)
        analyzer, facts = known({X: (0, 7), Y: (-inf, inf), J: (-4, 20)})
        assert are_equal(facts, e, analyzer.simplify(e)), f"{e} -> {analyzer.simplify(e)}"
