"""Conditions as conjunctions of disjunctions: the forms, and that they mean the same."""

import itertools
import random

import pytest

from tirax.handles.tir import expr_kinds as k
from tirax.handles.tir.prim_expr import logical_and, logical_not, logical_or
from tirax.handles.tir.variables import Var
from tirax.tvm_api.handles.arith.analyzer import Analyzer
from tirax.tvm_api.handles.arith.junctions import conjunction
from tirax.tvm_api.handles.arith.rewrite import RewriteSimplifier
from tirax.tvm_api.handles.arith.simplifier import Extension
from tirax.tvm_api.handles.arith.terms import expression_of, raw, term_of

a, b, c, d = (Var(name, "bool") for name in "abcd")
i, j, n = (Var(name, "int32") for name in "ijn")


def spread(condition):
    analyzer = Analyzer()
    analyzer.enabled_extensions = Extension.ConvertBooleanToAndOfOrs
    return analyzer.rewrite_simplify(condition)


CASES = {
    "distributed": (logical_or(a, logical_and(b, c)), "(a or b) and (a or c)"),
    "what is there twice": (logical_and(logical_or(a, b), logical_or(b, logical_and(a, c))), "(a or b) and (b or c)"),
    "parts apart": (logical_and(n == 20, logical_and(logical_or(a, b), n != 30)), "(a or b) and n == 20"),
    "within a disjunction": (logical_or(n == 20, a, n != 30), "a or n != 30"),
    "what clauses share": (logical_and(logical_or(a, n == 20), logical_or(n != 30, a)), "n == 20 or a"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_forms(case):
    assert str(spread(case[0])) == case[1]
    assert str(Analyzer().rewrite_simplify(case[0])) != case[1]


def holds(term, values):
    if term.op in ("and", "or"):
        return (all if term.op == "and" else any)(holds(t, values) for t in term.args)
    if term.op == "not":
        return not holds(term.args[0], values)
    return bool(term.value) if term.op == "const" else values[term]


def test_random_conditions_mean_the_same():
    leaves = [term_of(v.ssa) for v in (a, b, c, d)]

    def condition(rng, depth):
        if depth == 0 or rng.random() < 0.2:
            leaf = rng.choice(leaves)
            return raw("not", leaf) if rng.random() < 0.4 else leaf
        return raw(rng.choice(["and", "or"]), condition(rng, depth - 1), condition(rng, depth - 1))

    simplifier = RewriteSimplifier(Analyzer())
    for seed in range(300):
        before = condition(random.Random(seed), 4)
        after = conjunction(before, simplifier.simplified, lambda known, t: simplifier.simplified(t))
        for values in itertools.product([False, True], repeat=4) if after is not None else ():
            table = dict(zip(leaves, values, strict=True))
            assert holds(before, table) == holds(after, table), str(expression_of(before))


def test_what_would_grow_stays():
    pairs = [logical_and(Var(f"x{m}", "bool"), Var(f"y{m}", "bool")) for m in range(12)]
    full = logical_or(*pairs)
    assert str(spread(full)) == str(full)


def test_comparisons_come_to_known_facts():
    analyzer = Analyzer()
    for text, requests, narrower in [
        (i <= j, j <= i, "j == i"), (i <= j, i != j, "i < j"), (i != j, i <= j, "i < j"), (i <= 0, i >= 0, "i == 0"),
    ]:  # fmt: skip
        with analyzer.constraint_scope(text):
            assert str(analyzer.rewrite_simplify(requests)) == narrower
        assert isinstance(analyzer.rewrite_simplify(requests), k.LE | k.NE)


def test_lanes_of_scalable_vectors_are_at_least_one():
    from tirax.handles.tir.intrinsics import vscale
    from tirax.handles.tir.prim_expr import maximum, minimum

    analyzer = Analyzer()
    assert analyzer.rewrite_simplify(minimum(i + vscale() * 4, i)).same_as(i)
    assert analyzer.const_int_bound(vscale() * 4).min_value == 4
    with analyzer.constraint_scope(i < j):
        assert str(analyzer.rewrite_simplify(maximum(vscale() * i, vscale() * j))) == "T.vscale() * j"


def test_negations():
    assert str(spread(logical_not(logical_and(a, b)))) == "not a or not b"


def test_what_counts_lanes_is_compared_for_each_number_that_a_target_may_have():
    from tirax.handles.tir.intrinsics import vscale
    from tirax.handles.tir.prim_expr import minimum
    from tirax.target import Target

    least = minimum(i + vscale() * 4 - 4 % (vscale() * 4), i)
    assert all(4 * k - 4 % (4 * k) >= 0 for k in range(1, 17))
    assert "min" in str(Analyzer().rewrite_simplify(least))
    with Target("llvm -mtriple=aarch64-linux-gnu -mattr=+sve"):
        assert Analyzer().rewrite_simplify(least).same_as(i)
        both = minimum(i + vscale() * 8 - 9, i)  # less for one lane of four, more for many
        assert "min" in str(Analyzer().rewrite_simplify(both))
        assert str(Analyzer().rewrite_simplify(minimum(i + vscale() * 4, i + vscale() * 8))) == "T.vscale() * 4 + i"
