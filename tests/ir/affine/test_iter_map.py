"""Quasi-affine maps, against brute force: what is said to be bijective is, its inverse inverts it."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tirax.dialects.sym.expr import OPS, Const, SymExpr, Var, floordiv, floormod
from tirax.ir.affine.iter_map import IterMapLevel, NotAffineError, detect_iter_map, iter_map_simplify, to_expr

I, J, K = (Var(name) for name in "ijk")
N, M = Var("n"), Var("m")


def ranges(**extents):
    return {Var(name): (Const(0), e if isinstance(e, SymExpr) else Const(e)) for name, e in extents.items()}


def points(inputs):
    names = [v.name for v in inputs]
    extents = [range(e.constant) for _, e in inputs.values()]
    return [dict(zip(names, values, strict=True)) for values in product(*extents)]


GOOD = {
    "plain": ([I, J], {"i": 4, "j": 6}),
    "fused": ([I * 6 + J], {"i": 4, "j": 6}),
    "split": ([floordiv(I, 4), floormod(I, 4)], {"i": 12}),
    "three digits": ([floormod(I, 3), floormod(floordiv(I, 3), 2), floordiv(I, 6)], {"i": 24}),
    "fused and split elsewhere": ([floordiv(I * 6 + J, 8), floormod(I * 6 + J, 8)], {"i": 4, "j": 6}),
    "two of three": ([I * 3 + K, J], {"i": 4, "j": 5, "k": 3}),
    "with an offset": ([I + 7], {"i": 5}),
    "a divided sum": ([floordiv(I * 4 + J, 2), floormod(J, 2)], {"i": 3, "j": 4}),
    "symbolic": ([I * M + J], {"i": N, "j": M}),
    "symbolic split": ([floordiv(I * M + J, M), floormod(I * M + J, M)], {"i": N, "j": M}),
    "unit": ([I + J], {"i": 4, "j": 1}),
}


@pytest.mark.parametrize("name", GOOD)
def test_bijective(name: str) -> None:
    indices, extents = GOOD[name]
    inputs = ranges(**extents)
    found = detect_iter_map(indices, inputs, level=IterMapLevel.BIJECTIVE)
    outputs = [Var(f"o{k}") for k in range(len(indices))]
    inverse = found.inverse(outputs)
    sizes = {"n": 3, "m": 4}
    concrete = {v: (a, Const(e.evaluate(sizes))) for v, (a, e) in inputs.items()}
    seen = set()
    for point in points(concrete):
        values = [e.evaluate({**point, **sizes}) for e in indices]
        seen.add(tuple(values))
        at = {f"o{k}": v for k, v in enumerate(values)} | sizes
        assert {v.name: e.evaluate(at) for v, e in inverse.items()}.items() <= point.items()
    assert len(seen) == len(points(concrete))


BAD = {
    "twice": ([I, I], {"i": 4}),
    "gap": ([I * 8 + J], {"i": 4, "j": 6}),
    "overlap": ([I * 4 + J], {"i": 4, "j": 6}),
    "does not divide": ([floordiv(I, 5)], {"i": 12}),
    "digits overlap": ([floormod(I, 4), floordiv(I, 2)], {"i": 12}),
    "a product": ([I * J], {"i": 4, "j": 6}),
    "not all": ([I], {"i": 4, "j": 6}),
    "a comparison": ([OPS["min"](I, J)], {"i": 4, "j": 6}),
}


@pytest.mark.parametrize("name", BAD)
def test_not_bijective(name: str) -> None:
    indices, extents = BAD[name]
    with pytest.raises(NotAffineError):
        detect_iter_map(indices, ranges(**extents), level=IterMapLevel.BIJECTIVE)


def test_surjective_needs_not_all() -> None:
    detect_iter_map([I], ranges(i=4, j=6))
    detect_iter_map([floordiv(I, 4)], ranges(i=12))


def test_a_predicate_cuts_a_fusion() -> None:
    e = I * 10 + J
    inputs = ranges(i=13, j=10)
    found = detect_iter_map([floordiv(e, 8), floormod(e, 8)], inputs, [OPS["lt"](e, 128)], IterMapLevel.BIJECTIVE)
    assert len(found.indices) == 2
    with pytest.raises(NotAffineError):
        detect_iter_map([floordiv(e, 8), floormod(e, 8)], inputs, level=IterMapLevel.BIJECTIVE)


def test_simplify() -> None:
    inputs = ranges(i=4, j=8)
    assert iter_map_simplify([floordiv(I * 8 + J, 8), floormod(I * 8 + J, 8)], inputs) == [I, J]
    assert iter_map_simplify([I * J], inputs) == [I * J]


@st.composite
def maps(draw):
    """Splits and fusions of iterators at random: always bijective."""
    inputs = {Var(name): draw(st.sampled_from([2, 3, 4, 6, 8, 12])) for name in "ijk"[: draw(st.integers(1, 3))]}
    digits: list[tuple[SymExpr, int]] = list(inputs.items())
    for _ in range(draw(st.integers(0, 4))):
        k = draw(st.integers(0, len(digits) - 1))
        if draw(st.booleans()) and len(digits) > 1:
            (a, x), (b, y) = digits.pop(k), digits.pop(draw(st.integers(0, len(digits) - 1)))
            digits.append((a * y + b, x * y))
        else:
            e, extent = digits[k]
            factor = draw(st.sampled_from([f for f in range(1, extent + 1) if extent % f == 0]))
            digits[k : k + 1] = [(floordiv(e, factor), extent // factor), (floormod(e, factor), factor)]
    return {v: (Const(0), Const(e)) for v, e in inputs.items()}, draw(st.permutations(digits))


@settings(max_examples=150, derandomize=True, deadline=None, database=None)
@given(maps())
def test_random_maps(made) -> None:
    inputs, digits = made
    indices = [e for e, _ in digits]
    found = detect_iter_map(indices, inputs, level=IterMapLevel.BIJECTIVE)
    outputs = [Var(f"o{k}") for k in range(len(indices))]
    inverse = found.inverse(outputs)
    simple = [to_expr(s) for s in found.indices]
    for point in points(inputs):
        values = [e.evaluate(point) for e in indices]
        assert [e.evaluate(point) for e in simple] == values
        at = {f"o{k}": v for k, v in enumerate(values)}
        assert all(e.evaluate(at) == point[v.name] for v, e in inverse.items())


@st.composite
def expressions(draw):
    """Sums, products with constants and divisions at random: perhaps affine."""
    inputs = {Var(name): (Const(0), Const(draw(st.sampled_from([1, 2, 3, 4, 6])))) for name in "ij"}

    def expr(depth: int) -> SymExpr:
        kind = draw(st.sampled_from(["var", "var", "add", "mul", "div", "mod"])) if depth else "var"
        if kind == "var":
            return draw(st.sampled_from(list(inputs)))
        if kind == "add":
            return expr(depth - 1) + expr(depth - 1)
        inner, constant = expr(depth - 1), draw(st.sampled_from([2, 3, 4, 6]))
        if kind == "mul":
            return inner * constant
        return floordiv(inner, constant) if kind == "div" else floormod(inner, constant)

    return inputs, [expr(3) for _ in range(draw(st.integers(1, 2)))]


@settings(max_examples=300, derandomize=True, deadline=None, database=None)
@given(expressions())
def test_what_is_called_bijective_is(made) -> None:
    inputs, indices = made
    try:
        found = detect_iter_map(indices, inputs, level=IterMapLevel.BIJECTIVE)
    except NotAffineError:
        return
    every = points(inputs)
    values = {tuple(e.evaluate(p) for e in indices) for p in every}
    assert len(values) == len(every)
    assert all([to_expr(s).evaluate(p) for s in found.indices] == [e.evaluate(p) for e in indices] for p in every)


def test_splits_of_one_digit_are_joined() -> None:
    inputs = ranges(i=4, j=8)
    assert iter_map_simplify([I * 3 + J + I * 5], inputs) == [I * 8 + J]
    found = detect_iter_map([I * 3 + J + I * 5], inputs, level=IterMapLevel.BIJECTIVE)
    assert to_expr(found.indices[0]) == I * 8 + J
    found = detect_iter_map([floormod(I, 4) + I], inputs, level=IterMapLevel.NO_CHECK)
    assert to_expr(found.indices[0]) == I * 2
    found = detect_iter_map([floormod(I, 4) - I + J], inputs, level=IterMapLevel.NO_CHECK)
    assert to_expr(found.indices[0]) == J


@pytest.mark.parametrize("e", [OPS["max"](I, 2), I * J + 1, OPS["select"](OPS["lt"](I, 2), I, J), floordiv(J, I + 1)])
def test_what_is_no_sum_of_splits_is_told(e: SymExpr) -> None:
    with pytest.raises(NotAffineError):
        detect_iter_map([e], ranges(i=4, j=8), level=IterMapLevel.NO_CHECK)
