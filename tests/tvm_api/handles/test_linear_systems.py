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
