"""The table of scalar operations, row by row, against numpy and brute force; folds of symbolic expressions."""

import itertools
import math

import numpy as np
import pytest

from tirax.dialects.sym.bounds import EVERYTHING, Interval
from tirax.dialects.sym.expr import Algebra, Const, Op, Var, i32, i64
from tirax.dialects.sym.operations import COMPARISONS, CONDITIONS, DIVISIONS, NEGATED, OPERATIONS
from tirax.dialects.sym.operators import OPS
from tirax.dialects.sym.rebuild import Rebuild

NUMPY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "floordiv": np.floor_divide,
    "floormod": np.mod,
    "truncdiv": lambda a, b: np.trunc(a / b),
    "truncmod": np.fmod,
    "min": np.minimum,
    "max": np.maximum,
    "select": np.where,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "div": np.true_divide,
    "shift_left": np.left_shift,
    "shift_right": np.right_shift,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_not": np.invert,
    "neg": np.negative,
    "pos": np.positive,
    "pow": lambda a, b: a**b if b >= 0 else float(a) ** b if a else math.nan,
}
POINTS = range(-4, 5)
ENDS = [(low, high) for low in POINTS for high in POINTS if low <= high]


def operands(row, points=POINTS):
    """What the row has a value for."""
    for args in itertools.product(points, repeat=row.arity):
        divides_by_zero = args[-1] == 0 and (row.name in DIVISIONS or row.name == "div")
        shifts_back = args[-1] < 0 and row.name.startswith("shift")
        if not divides_by_zero and not shifts_back and not (args[0] == 0 and row.name == "pow"):
            yield args


@pytest.mark.parametrize("row", [r for r in OPERATIONS.values() if r.name != "matmul"], ids=lambda r: r.name)
def test_a_row_computes_what_numpy_does(row):
    for args in operands(row):
        expected = NUMPY[row.name](*map(np.int64, args))
        assert row.evaluate(*args) == expected, args
        assert isinstance(row.evaluate(*args), bool) == row.is_condition


@pytest.mark.parametrize("name", ["truncdiv", "truncmod"])
def test_truncated_divisions_of_floats_are_those_of_c(name):
    function = {"truncdiv": lambda a, b: a / b, "truncmod": math.fmod}[name]
    for a, b in itertools.product((-7.5, -1.0, 0.0, 2.5), (-2.0, 0.5, 3.0)):
        assert OPERATIONS[name].evaluate(a, b) == function(a, b)


@pytest.mark.parametrize("row", OPERATIONS.values(), ids=lambda r: r.name)
def test_an_interval_holds_all_values(row):
    ends = ENDS if row.arity < 3 else [e for e in ENDS if e[1] - e[0] < 2]
    for parts in itertools.product(ends, repeat=row.arity):
        around = row.bounds(*(Interval(*part) for part in parts))
        if around == EVERYTHING:
            continue
        for args in itertools.product(*(range(low, high + 1) for low, high in parts)):
            if row.name in DIVISIONS and args[1] == 0:
                continue
            assert around.low <= row.evaluate(*args) <= around.high, (parts, args)


@pytest.mark.parametrize("name", [n for n in OPS if n not in CONDITIONS])
def test_an_interval_of_points_or_of_half_the_numbers_is_no_larger_than_needed(name):
    row = OPERATIONS[name]
    for args in operands(row):
        points = [Interval(a, a) for a in args]
        assert row.bounds(*points).low <= row.evaluate(*args) <= row.bounds(*points).high
    half = Interval(0, math.inf)
    assert row.bounds(*[half] * row.arity).low == 0


@pytest.mark.parametrize("kind", COMPARISONS)
def test_a_comparison_its_negation_and_its_mirror(kind):
    row = OPERATIONS[kind]
    for a, b in itertools.product(POINTS, repeat=2):
        assert row.evaluate(a, b) != OPERATIONS[NEGATED[kind]].evaluate(a, b)
        assert row.evaluate(a, b) == OPERATIONS[row.mirrored].evaluate(b, a)
        assert row.commutative == (row.mirrored == kind)
    for low, high in ENDS:
        values = [row.evaluate(d, 0) for d in range(low, high + 1)]
        assert COMPARISONS[kind](Interval(low, high)) == (all(values), not any(values))


@pytest.mark.parametrize("row", [r for r in OPERATIONS.values() if r.commutative], ids=lambda r: r.name)
def test_commutative_rows_are(row):
    for a, b in itertools.product(POINTS, repeat=2):
        assert row.evaluate(a, b) == row.evaluate(b, a)


def test_each_operation_of_symbolic_expressions_has_a_row():
    assert set(OPS) <= set(OPERATIONS)
    for kind in OPS:
        args = [Var(f"v{i}") for i in range(OPERATIONS[kind].arity)]
        result = OPS[kind](*args)
        assert isinstance(result, Op) and result.kind == kind


n, m = Var("n"), Var("m")


class Count(Algebra[int]):
    """How many leaves an expression has, factors and offsets that are written among them."""

    def const(self, e):
        return 1

    def var(self, e):
        return 1

    def add(self, a, b):
        return a + b

    mul = add

    def apply(self, kind, args):
        return sum(args)


def test_a_fold_visits_all_parts_and_written_factors():
    assert Const(3).fold(Count()) == n.fold(Count()) == 1
    assert (n * m).fold(Count()) == 2
    assert (n * 4 + m + 1).fold(Count()) == 4
    assert (OPS["min"](n, m * 2) // 8).fold(Count()) == 4


def test_rebuilding_keeps_an_expression_and_is_canonical_again():
    class Doubled(Rebuild):
        def var(self, e):
            return e * 2

    e = OPS["select"](OPS["lt"](n, m), (n + m * n) // 4, n % 2)
    assert e.fold(Rebuild()) == e
    assert (n // 2 + n % 2).fold(Doubled()) == n
    assert Var("k", i32).fold(Rebuild()).dtype == i32 and (n * m).fold(Doubled()).dtype == i64


def test_an_algebra_may_remember_parts():
    class Once(Count):
        def __init__(self):
            self.memo = {}

        def of(self, e):
            if e not in self.memo:
                self.memo[e] = e.fold(self)
            return self.memo[e]

    e, once = n + m, Once()
    for _ in range(60):
        e = OPS["max"](e // 3, e // 5)
    assert once.of(e) > 2**60 and len(once.memo) < 400
