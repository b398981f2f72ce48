"""Quasi-affine maps by TVM's rules against brute force: what a map says of its indices holds for all iterators."""

from __future__ import annotations

import random
from itertools import product

import pytest

from tirax.tvm_api import arith, ir, tir

NAMES = "xyz"
VARS = {name: tir.Var(name, "int32") for name in NAMES}
WORDS = {"fd": tir.floordiv, "fm": tir.floormod, "all": tir.all}


def expression(rng: random.Random, depth: int) -> str:
    """A random index: sums, multiples, quotients and rests of the iterators."""
    kind = rng.random()
    if depth == 0 or kind < 0.15:
        return rng.choice(NAMES)
    inner = expression(rng, depth - 1)
    if kind < 0.5:
        return f"({inner} * {rng.choice([2, 3, 4, 6, 8])} + {expression(rng, depth - 1)})"
    if kind < 0.6:
        return f"({inner} + {rng.choice([1, 2, 5, 8])})"
    return f"{'fd' if kind < 0.8 else 'fm'}({inner}, {rng.choice([2, 3, 4, 6, 8])})"


def build(text: str):
    return eval(text, {**VARS, **WORDS})  # noqa: S307 — of the texts above


def value(e, point) -> int:
    """The value of an expression, by substitution."""
    return int(arith.Analyzer().simplify(tir.stmt_functor.substitute(e, {VARS[k]: v for k, v in point.items()})))


def number(text: str, point) -> int:
    words = {"fd": int.__floordiv__, "fm": int.__mod__, "all": lambda *a: all(a)}
    return int(eval(text, {**point, **words}))  # noqa: S307 — of the texts above


def cases(count: int):
    rng = random.Random(17)
    for _ in range(count):
        extents = {name: rng.choice([1, 2, 3, 4, 6, 8]) for name in NAMES}
        first = {name: rng.choice([0, 0, 0, 1, 3]) for name in NAMES}
        indices = [expression(rng, rng.choice([1, 2, 3])) for _ in range(rng.choice([1, 1, 2, 3]))]
        condition = rng.choice(["True", "True", f"{expression(rng, 1)} < {rng.choice([4, 6, 10])}"])
        yield indices, extents, first, condition, rng.choice(["bijective", "surjective", "nocheck"])


def points(extents, first):
    ranges = [range(first[name], first[name] + extents[name]) for name in NAMES]
    return [dict(zip(NAMES, values, strict=True)) for values in product(*ranges)]


def test_maps_have_the_values_of_their_indices():
    """Simplified indices have the same values, and what is said to be bijective is."""
    maps = 0
    for indices, extents, first, condition, level in cases(120):
        domains = {VARS[n]: ir.Range.from_min_extent(first[n], extents[n]) for n in NAMES}
        at = [p for p in points(extents, first) if number(condition, p)]
        built, predicate = [build(i) for i in indices], build(condition)
        some = random.Random(5).sample(at, min(6, len(at)))
        for text, simple in zip(indices, arith.iter_map_simplify(built, domains, predicate, level), strict=True):
            assert [value(simple, p) for p in some] == [number(text, p) for p in some], (text, extents, first)
        found = arith.detect_iter_map(built, domains, predicate, level)
        maps += bool(found.indices)
        if found.indices and level == "bijective":
            assert len({tuple(number(i, p) for i in indices) for p in at}) == len(at), (indices, extents, condition)
    assert maps > 25


@pytest.mark.parametrize("left", [0, 3, 8])
@pytest.mark.parametrize(("extent", "divisor"), [(5, 4), (10, 4), (7, 3), (6, 9)])
def test_padding_is_where_no_iterator_is(extent, divisor, left):
    """The padding predicate holds for what padded digits count besides the iterator, and for nothing else."""
    x = VARS["x"]
    indices = [tir.floordiv(x + left, divisor), tir.floormod(x + left, divisor)]
    found = arith.detect_iter_map(indices, {x: ir.Range(0, extent)}, True, "nocheck")
    assert found.indices
    counted = range(left // divisor * divisor - left, -(-(left + extent) // divisor) * divisor - left)
    padding = [p for p in counted if value(found.padding_predicate, {"x": p})]
    assert padding == [p for p in counted if not 0 <= p < extent]


@pytest.mark.parametrize(
    ("indices", "extents"),
    [
        (["fd(x, 6)", "fm(fd(x, 2), 3)", "fm(x, 2)"], {"x": 24}),
        (["fd(x * 6 + y, 8)", "fm(x * 6 + y, 8)"], {"x": 4, "y": 6}),
        (["y * 3 + z", "x + 5"], {"x": 5, "y": 4, "z": 3}),
        (["fm(x, 4) * 12 + y * 3 + fd(x, 4)"], {"x": 12, "y": 4}),
    ],
)
def test_the_inverse_undoes_a_bijective_map(indices, extents):
    domains = {VARS[n]: ir.Range(0, e) for n, e in extents.items()}
    found = arith.detect_iter_map([build(i) for i in indices], domains, True, "bijective")
    outputs = [tir.Var(f"o{k}", "int32") for k in range(len(indices))]
    inverse = arith.inverse_affine_iter_map(found.indices, outputs)
    for values in list(product(*map(range, extents.values())))[::5]:
        point = dict(zip(extents, values, strict=True))
        known = {o: number(i, point) for o, i in zip(outputs, indices, strict=True)}
        for name, v in point.items():
            back = tir.stmt_functor.substitute(inverse[VARS[name]], known)
            assert int(arith.Analyzer().simplify(back)) == v


def test_nodes_are_built_by_hand_and_compared_by_structure():
    x = VARS["x"]
    mark = arith.IterMark(x, 12)
    split = arith.IterSplitExpr(mark, 2, 3, 4)
    assert split == arith.IterSplitExpr(arith.IterMark(x, 12), 2, 3, 4) != arith.IterSplitExpr(mark, 2, 3, 5)
    assert str(arith.normalize_iter_map_to_expr(arith.IterSumExpr([split], 1))) == "x % 6 // 2 * 4 + 1"
    found = arith.detect_iter_map([tir.floormod(x, 4)], {x: ir.Range(0, 12)})
    (outer,) = found.indices[0].args
    ir.assert_structural_equal(outer, arith.IterSplitExpr(outer.source, 1, 4, 1))
    assert arith.detect_iter_map([x], {x: ir.Range(0, x)}).errors == [
        "Invalid iterators.  Iterators may not be expressions of each other."
    ]
    assert "parse predicate" in arith.detect_iter_map([x], {x: ir.Range(0, 4)}, tir.any(x < 2, x > 3)).errors[0]
