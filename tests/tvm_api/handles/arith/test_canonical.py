"""`canonical_simplify`: what comes out is equal for all values of the variables, and short."""

import itertools
import random

import pytest
from strength import thinned

from tirax.handles.equality import structural_equal
from tirax.handles.tir import expr_kinds as k
from tirax.handles.tir.buffers import decl_buffer
from tirax.handles.tir.domains import Range
from tirax.handles.tir.prim_expr import const, floordiv, floormod, if_then_else, logical_and, maximum, minimum
from tirax.handles.tir.prim_expr import truncdiv as tdiv
from tirax.handles.tir.prim_expr import truncmod as tmod
from tirax.handles.tir.variables import SizeVar, Var
from tirax.tvm_api.handles.arith.analyzer import Analyzer

BINARY = {
    k.Add: lambda a, b: a + b, k.Sub: lambda a, b: a - b, k.Mul: lambda a, b: a * b,
    k.FloorDiv: lambda a, b: a // b, k.FloorMod: lambda a, b: a % b,
    k.Div: lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    k.LT: lambda a, b: a < b, k.LE: lambda a, b: a <= b, k.EQ: lambda a, b: a == b, k.NE: lambda a, b: a != b,
    k.GT: lambda a, b: a > b, k.GE: lambda a, b: a >= b,
    k.And: lambda a, b: a and b, k.Or: lambda a, b: a or b, k.Min: min, k.Max: max,
}  # fmt: skip
BINARY[k.Mod] = lambda a, b: a - BINARY[k.Div](a, b) * b


def wrapped(value, dtype):
    if dtype == "bool":
        return bool(value)
    bits = int(dtype.removeprefix("int"))
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def evaluate(expr, values):
    """The value of an expression, computed here."""
    if isinstance(expr, k.IntImm):
        return expr.value
    if isinstance(expr, k.Cast):
        return wrapped(evaluate(expr.value, values), expr.dtype)
    if isinstance(expr, k.Select):
        return evaluate(expr.true_value if evaluate(expr.condition, values) else expr.false_value, values)
    if isinstance(expr, k.Not):
        return not evaluate(expr.a, values)
    for kind, compute in BINARY.items():
        if isinstance(expr, kind):
            return wrapped(compute(evaluate(expr.a, values), evaluate(expr.b, values)), expr.dtype)
    return values[str(expr)]


def divisor(rng):
    return rng.choice([1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 12, 16, -2, -3])


def integer(rng, variables, depth):
    """An expression that does not overflow for small values of its variables."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice([*variables, const(rng.randint(-9, 9), "int32")])
    kind = rng.choice(["+", "+", "-", "-", "* c", "* c", "//", "%", "tdiv", "tmod", "cast"])
    a = integer(rng, variables, depth - 1)
    if kind in ("+", "-"):
        b = integer(rng, variables, depth - 1)
        return a + b if kind == "+" else a - b
    if kind == "* c":
        return a * rng.choice([-4, -2, -1, 2, 3, 4, 8])
    if kind == "cast":
        return a.astype("int64").astype("int32")
    return {"//": floordiv, "%": floormod, "tdiv": tdiv, "tmod": tmod}[kind](a, divisor(rng))


def expression(rng, variables, depth):
    if rng.random() < 0.7:
        return integer(rng, variables, depth)
    a, b = integer(rng, variables, depth - 1), integer(rng, variables, depth - 1)
    if rng.random() < 0.3:
        return k.Select(rng.choice([k.LT, k.LE, k.EQ, k.NE])(integer(rng, variables, 1), rng.randint(-9, 9)), a, b)
    return rng.choice([k.LT, k.LE, k.EQ, k.NE, k.GT, k.GE])(a, b)


@thinned("seed", range(12), 1)
def test_random_expressions_keep_their_values(seed):
    rng, shorter = random.Random(seed), 0
    for _ in range(60):
        analyzer = Analyzer()
        variables, domains = [], []
        for name in "xyz"[: rng.randrange(1, 4)]:
            low, extent = rng.choice([(0, 9), (0, 16), (-7, 12), (-20, 5), (3, 6), (0, 1)])
            variables.append(Var(name, "int32"))
            domains.append(range(low, low + extent))
            if rng.random() < 0.7:
                analyzer.bind(variables[-1], Range(low, low + extent))
        before = expression(rng, variables, rng.randrange(2, 6))
        after = analyzer.canonical_simplify(before)
        again = analyzer.canonical_simplify(after)
        assert after.dtype == before.dtype
        shorter += len(str(after)) < len(str(before))
        points = list(itertools.product(*domains))
        for point in rng.sample(points, min(len(points), 50)):
            values = {v.name: p for v, p in zip(variables, point, strict=True)}
            expected = evaluate(before, values)
            assert evaluate(after, values) == expected, (str(before), str(after), values)
            assert evaluate(again, values) == expected, (str(after), str(again), values)
    assert shorter > 15


X, Y, Z = (Var(name, "int32") for name in "xyz")
N = SizeVar("n", "int32")
DIGITS = [
    floormod(floordiv(X, 2) * -1, 2),
    floormod(floormod(X, 2) * -1, 4),
    floormod(floormod(X, -2), 4),
    floordiv(floormod(X, 6), 4) * 4 + floormod(X, 4),
    tdiv(tmod(X, 7), 3) * 3 + tmod(X, 3),
    floordiv(floormod(X, 12), 4) * 4 + floormod(X, 4),
    tmod(tdiv(X, 2) * -1, 2),
    tmod(tmod(X, -6), 3),
    floordiv(floormod(X, -6), 4),
    floormod(X, 4) - floordiv(X, 2) * 2,
]
"""Digits that are cut short, or counted down."""


@pytest.mark.parametrize("before", DIGITS, ids=str)
def test_digits_of_every_sign(before):
    after = Analyzer().canonical_simplify(before)
    for value in range(-40, 41):
        assert evaluate(after, {"x": value}) == evaluate(before, {"x": value}), (str(after), value)


@thinned("seed", range(6), 1)
def test_quotients_and_rests_of_one_variable(seed):
    """All ways to take two or three digits of one variable, which random expressions seldom hit."""
    rng = random.Random(seed)
    kinds = [floordiv, floormod, tdiv, tmod]
    for _ in range(50):
        parts = []
        for _ in range(rng.randrange(1, 4)):
            part = X
            for _ in range(rng.randrange(1, 4)):
                part = rng.choice(kinds)(part * rng.choice([1, 1, -1, 2, 4]), rng.choice([2, 3, 4, 6, 8, 12, -2, -4]))
            parts.append(part * rng.choice([1, 1, 2, 3, 4, 6, -1, -4]))
        before = sum(parts[1:], parts[0])
        before = rng.choice([before, rng.choice(kinds)(before, rng.choice([2, 3, 4, 6]))])
        after = Analyzer().canonical_simplify(before)
        for value in range(-26, 27):
            assert evaluate(after, {"x": value}) == evaluate(before, {"x": value}), (str(before), str(after), value)


FORMS = [
    (X * 3 - X * 4 + 1, 1 - X),
    (tdiv(X + Y + X + Y * 3, 2), Y * 2 + X),
    (floormod(X + X + Y * 3, 2), floormod(Y * 3, 2)),
    (floordiv(X, 6) * 6 + floormod(floordiv(X, 3), 2) * 3 + floormod(X, 3), X),
    (tdiv(X, 6) * 6 + tmod(tdiv(X, 3), 2) * 3 + tmod(X, 3), X),
    (floordiv(floordiv(floormod(X, 16), 2) * 2, 6), floordiv(floormod(X, 16), 6)),
    (floormod(floormod(X * 4 + Y - 466036, 24528) - 24512, 16), floormod(X * 4 + Y + 12, 16)),
    (floormod(floormod(X * 4, 16), 8), floormod(X, 2) * 4),
    (tdiv(X * 48 + 17, 16), tdiv(X * 48 + 17, 16)),
    (floordiv(X * 48 + 17, 16), X * 3 + 1),
    (X - 2 < 3, X < 5),
    (X * 8 + N * 4 < N * 4 + 17, X * 8 < 17),
    (floormod(X * 32 * X, X * Z), floormod(X * 32, Z) * X),
    (tdiv(X * (Y * 2) * 3, Y * 3 * Z), tdiv(X * 2, Z)),
    (const(-(2**31), "int32") - X == 0, const(-(2**31), "int32") == X),
    (const(-(2**31), "int32") + X == 0, const(False, "bool")),
    ((X + Y + 1).astype("int64") - X.astype("int64"), Y.astype("int64") + const(1, "int64")),
]


@pytest.mark.parametrize(("before", "after"), FORMS, ids=lambda e: str(e))
def test_normal_forms(before, after):
    simplified = Analyzer().canonical_simplify(before)
    assert structural_equal(simplified, after) or structural_equal(simplified, Analyzer().rewrite_simplify(after)), str(
        simplified
    )


def test_what_is_small_is_left_out_of_comparisons():
    analyzer = Analyzer()
    analyzer.bind(Y, Range(0, 8))
    analyzer.bind(Z, Range(0, 2))
    for before in (X * 8 + Y < 16, X * 8 + Z * 4 < 16, X * 16 + Y * 2 + Z < 32):
        assert structural_equal(analyzer.canonical_simplify(before), X < 2)
    unsafe = X * 8 + Y - Z < 16  # for x = 2, y = 0, z = 1 it holds, and x < 2 does not
    assert structural_equal(analyzer.canonical_simplify(unsafe), unsafe)


def test_narrow_integers_are_converted_part_by_part_where_nothing_is_lost():
    wide, other = Var("i", "int64"), Var("j", "int64")
    full = (wide + other + const(1, "int64")).astype("int32") - wide.astype("int32")
    assert structural_equal(Analyzer().canonical_simplify(full), full)
    analyzer = Analyzer()
    for variable in (wide, other):
        analyzer.bind(variable, Range(const(0, "int64"), const(10, "int64")))
    assert structural_equal(analyzer.canonical_simplify(full), other.astype("int32") + 1)


def test_constants_beyond_the_type_stay_as_they_are_written():
    before = (X * 2**20) * 2**20
    after = Analyzer().canonical_simplify(before)
    for value in (-3, 0, 1, 4097):
        assert evaluate(after, {"x": value}) == evaluate(before, {"x": value})


def test_branches_are_simplified_under_their_condition():
    condition = if_then_else(X * 4 + Y >= 8, floormod(X * 4 + Y, 4) + X - X, Y)
    simplified = Analyzer().canonical_simplify(condition)
    assert structural_equal(simplified, if_then_else(k.LE(const(8, "int32"), X * 4 + Y), floormod(Y, 4), Y))


def test_a_truncated_rest_of_what_is_not_negative_has_a_small_constant():
    analyzer = Analyzer()
    with analyzer.constraint_scope(X * 4 + Y >= 466036):
        simplified = analyzer.canonical_simplify(tmod(X * 4 + Y - 466036, 24528))
        assert structural_equal(simplified, tmod(X * 4 + Y - 4, 24528))  # 466036 is 19 * 24528 + 4
    unknown = tmod(X * 4 + Y - 466036, 24528)  # of X = 0, Y = 5 it is negative, and that with -4 is not
    assert structural_equal(Analyzer().canonical_simplify(unknown), unknown)


def test_the_sides_of_a_selection_are_simplified_under_its_condition():
    both = logical_and(X >= -1, Y >= 0)
    cases = [
        (k.Select(both, tmod(X + Y + 100, 3), tmod(X + 100, 3)), "T.truncmod(x + y + 1, 3), T.truncmod(x + 100, 3)"),
        (k.Select(X >= 10, if_then_else(tdiv(X, 3) > 2, X, 0), 0), "T.Select(10 <= x, x, 0)"),
        (k.Select(X >= 10, if_then_else(tdiv(X, 3) < 2, X, 0), 0), "0"),
        (k.Select(X > 3, 5, k.Max(X, const(4))), "T.Select(3 < x, 5, 4)"),
    ]
    for before, text in cases:
        after = Analyzer().canonical_simplify(before)
        assert text in str(after)
        for x, y in itertools.product(range(-5, 14), range(-3, 5)):
            assert evaluate(after, {"x": x, "y": y}) == evaluate_lazily(before, {"x": x, "y": y})


def evaluate_lazily(expr, values):
    """As `evaluate`, of an expression that is a branch, or has one."""
    if isinstance(expr, k.Select):
        return evaluate_lazily(expr.true_value if evaluate(expr.condition, values) else expr.false_value, values)
    if isinstance(expr, k.Call):
        condition, *sides = expr.args
        return evaluate(sides[0] if evaluate(condition, values) else sides[1], values)
    return evaluate(expr, values)


def test_what_a_selection_evaluates_though_it_is_not_taken_stays_safe():
    buffer = decl_buffer((8,), "int32", "A")
    for side in (buffer[minimum(X, 7)], floordiv(Y, maximum(X, 1)), Y % maximum(X, 1)):
        before = k.Select(logical_and(X >= 1, X < 8), side, 0)
        after = Analyzer().rewrite_simplify(before)
        assert "T.max(x, 1)" in str(after) or "T.min(x, 7)" in str(after)


def test_a_rest_of_digits_is_taken_where_it_is_shorter():
    analyzer = Analyzer()
    digits = tmod(X, 24528)
    with analyzer.constraint_scope(digits >= 24512):
        assert str(analyzer.canonical_simplify(tmod(digits - 24512, 16))) == "T.truncmod(x, 16)"
    for x in range(24512, 24528):
        assert (x % 24528 - 24512) % 16 == x % 16
    with analyzer.constraint_scope(logical_and(X >= 20, X < 36)):
        assert str(analyzer.canonical_simplify(tmod(X - 20, 16))) == "x - 20"


def test_comparisons_keep_the_form_of_sums():
    analyzer = Analyzer()
    analyzer.bind(Y, Range(0, 1024))
    assert str(analyzer.canonical_simplify(X * 1024 + Y < Z * 7168)) == "x - z * 7 < 0"
    assert str(analyzer.canonical_simplify(k.LT(X * 4, 466036 - Z))) == "x * 4 + z < 466036"
    assert str(analyzer.canonical_simplify(k.LE(X, Z - 1))) == "x < z"
    assert str(analyzer.canonical_simplify(k.LT(Z, X + Y - 3))) == "z + 3 < x + y"
