"""Linear equations: the solution has exactly the solutions of the system, by all values of small boxes."""

from __future__ import annotations

import random

import pytest

from tirax.tvm_api import arith, ir, te, testing, tir
from tirax.tvm_api.handles.linear_systems import bezout


@pytest.mark.parametrize("a", [-12, -5, -1, 1, 4, 9, 30])
def test_bezout(a):
    for b in range(-12, 13):
        g, x, y = bezout(a, b)
        assert a * x + b * y == g
        assert a % g == 0 and b % g == 0


@pytest.mark.parametrize("seed", range(12))
def test_solutions_are_those_of_the_equations(seed):
    rng = random.Random(seed)
    count = rng.choice([1, 2, 3])
    variables = [te.var(f"x{k}") for k in range(count)]

    def side():
        return sum((v * rng.randint(-3, 3) for v in variables), tir.const(rng.randint(-4, 4), "int32"))

    relations = [rng.choice([tir.EQ, tir.EQ, tir.LE, tir.GT])(side(), side()) for _ in range(rng.choice([1, 2, 3]))]
    ranges = {v: ir.Range(-4, 5) for v in variables}
    testing.check_int_constraints_trans_consistency(arith.solve_linear_equations(relations, variables, ranges))
    if count > 1:
        solution = arith.solve_linear_equations(relations, variables[:-1], ranges)
        testing.check_int_constraints_trans_consistency(solution, {variables[-1]: ir.Range(-4, 5)})


def test_forms_of_solutions():
    x, y, z, n = te.var("x"), te.var("y"), te.var("z"), te.var("n")
    unique = arith.solve_linear_equations([tir.EQ(x * 2 + y, 8), tir.EQ(x - y, 1)], [x, y])
    assert not unique.dst.variables and [str(unique.src_to_dst[v]) for v in (x, y)] == ["3", "2"]
    never = arith.solve_linear_equations([tir.EQ(x * 2 + y * 4, 7)], [x, y])
    assert [bool(r) for r in never.dst.relations] == [False] and not never.src_to_dst
    symbolic = arith.solve_linear_equations([tir.EQ(x * 2 + y * 4, n)], [x, y])
    assert [str(r) for r in symbolic.dst.relations] == ["n % 2 == 0"] and len(symbolic.dst.variables) == 1
    product = arith.solve_linear_equations([tir.EQ(x * y, 4), tir.EQ(x + z, 1)], [x, z])
    assert str(product.dst.relations[0]).count("* y == 4") == 1
    system = arith.IntConstraints([x], {x: ir.Range(0, 4)}, [tir.EQ(x, 2)])
    assert str(arith.solve_linear_equations(system).src_to_dst[x]) == "2"
    assert str(system) == "IntConstraints([x], {x: Range(0, 4)}, [x == 2])"
    unsolved = arith.solve_linear_equations([tir.EQ(x + y, 20)])
    assert not unsolved.src.variables and ir.structural_equal(unsolved.src, unsolved.dst)


def test_conditions_are_checked_for_all_values():
    x, y = te.var("x"), te.var("y")
    box = {x: ir.Range(0, 10), y: ir.Range(0, 10)}
    testing.check_bool_expr_is_true(x > y * 2, box, x * 2 > y * 4)
    with pytest.raises(AssertionError, match=r"Counterexample: x = 0, y = 0"):
        testing.check_bool_expr_is_true(x > y, box)
    wrong = arith.IntConstraintsTransform(
        arith.IntConstraints([x], {x: ir.Range(0, 4)}, []),
        arith.IntConstraints([y], {y: ir.Range(0, 3)}, []),
        {x: y},
        {y: x},
    )
    with pytest.raises(AssertionError, match="x = 3"):
        testing.check_int_constraints_trans_consistency(wrong)


@pytest.mark.parametrize("seed", range(10))
def test_inequalities_have_the_same_solutions(seed):
    """As ranges they are implied by and imply the given ones; deskewed they are a bijection."""
    rng = random.Random(100 + seed)
    count = rng.choice([1, 2, 3])
    variables = [te.var(f"x{k}") for k in range(count)]

    def side():
        return sum((v * rng.randint(-2, 2) for v in variables), tir.const(rng.randint(-4, 4), "int32"))

    relations = [rng.choice([tir.EQ, tir.LE, tir.LT, tir.GE, tir.GT])(side(), side()) for _ in range(count)]
    ranges = {v: ir.Range(-4, 5) for v in variables}
    as_ranges = arith.solve_linear_inequalities(relations, variables, ranges)
    given = tir.all(tir.const(True, "bool"), *relations)
    if [r.constant for r in as_ranges.relations] == [False]:
        testing.check_bool_expr_is_true(tir.Not(given), ranges)
    else:
        found = list(as_ranges.relations)
        for v, r in as_ranges.ranges.items():
            found += [v >= r.min, v < r.min + r.extent]
        testing.check_bool_expr_is_true(tir.all(tir.const(True, "bool"), *found), ranges, given)
        testing.check_bool_expr_is_true(given, ranges, tir.all(tir.const(True, "bool"), *found))
    moved = arith.solve_linear_inequalities(relations, variables, ranges, deskew_range=True)
    constant = all(int(r.min) == 0 and r.extent.constant is not None for r in moved.dst.ranges.values())
    if moved.dst.variables and constant and len(moved.dst.ranges) == len(moved.dst.variables):
        testing.check_int_constraints_trans_consistency(moved)


def test_forms_of_inequalities():
    x, y = te.var("x"), te.var("y")
    triangle = arith.solve_linear_inequalities([x + y < 10, x >= 0, y >= 2], [x, y], {})
    assert {str(v): str(r) for v, r in triangle.ranges.items()} == {"x": "Range(0, 10 - y)", "y": "Range(2, 10)"}
    assert not triangle.relations
    moved = arith.solve_linear_inequalities([x + y < 10, x >= 0, y >= 2], [x, y], {}, deskew_range=True)
    assert [str(v) for v in moved.dst.variables] == ["x_shifted", "y_shifted"]
    assert str(moved.src_to_dst[y]) == "y_shifted + 2"
    never = arith.solve_linear_inequalities([x > 5, x < 3], [x], {})
    assert [r.constant for r in never.relations] == [False]
    product = arith.solve_linear_inequalities([x * x < 9, x >= y], [x], {})
    assert str(product.relations[0]) in ("x >= y", "y <= x") and len(product.relations) == 2
    group = arith.IntGroupBounds(2, [3], [], [9, x])
    assert str(group) == "IntGroupBounds(coef=2, lower=[3], equal=[], upper=[9, x])"
    assert str(group.find_best_range()) == "Range(2, 5)"
    assert str(arith.IntGroupBounds.from_range(ir.Range(2, 5))) == (
        "IntGroupBounds(coef=1, lower=[2], equal=[], upper=[4])"
    )
