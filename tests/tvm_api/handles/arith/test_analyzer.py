"""`tvm.arith`: the analyzer and sets by TVM's names, and what they say against brute force."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tirax.diagnostics import TiraxError
from tirax.dialects.sym.analyzer import Analyzer as SymAnalyzer
from tirax.dialects.sym.expr import Const, Var
from tirax.dialects.sym.int_set import SymInterval, values_of
from tirax.dialects.sym.operators import OPS, logical_and
from tirax.handles.tir.prim_expr import less
from tirax.tvm_api import arith, ir, te, tir
from tirax.tvm_api.handles.solver import clip_bounds, deduced_set

x, y, n, i, j, k = (tir.Var(name, "int32") for name in "xynijk")
QUICK = settings(max_examples=60, deadline=None, derandomize=True)


def same(expr, expected) -> bool:
    """Whether two views are the same expression."""
    return bool(te.const(0, "int32") + expr == te.const(0, "int32") + expected)


def test_bounds_and_residues():
    analyzer = arith.Analyzer()
    assert analyzer.const_int_bound(x + 1) == arith.ConstIntBound(-(2**31) + 1, 2**31)
    assert analyzer.const_int_bound(tir.Var("w", "int64")).max_value == arith.ConstIntBound.POS_INF
    analyzer.bind(x, ir.Range(0, 8))
    assert analyzer.const_int_bound(x * 4 + 1) == arith.ConstIntBound(1, 29)
    assert analyzer.modular_set(x * 4 + 1) == arith.ModularSet(4, 1)
    assert analyzer.const_int_bound_is_bound(x) and not analyzer.const_int_bound_is_bound(y)
    with pytest.raises(TiraxError, match="something else is known"):
        analyzer.bind(x, ir.Range(0, 9))
    analyzer.bind(x, ir.Range(0, 9), allow_override=True)
    assert analyzer.const_int_bound(x).max_value == 8
    analyzer.update(y, arith.ConstIntBound(0, arith.ConstIntBound.POS_INF))
    analyzer.update(y, arith.ModularSet(6, 2))
    assert analyzer.const_int_bound(y // 2 + x).min_value == 1
    assert analyzer.modular_set(y * 2 + 1) == arith.ModularSet(12, 5)
    assert analyzer.modular_set(te.const(5, "int32")) == arith.ModularSet(0, 5)


def test_variables_are_of_either_sign_and_sizes_are_not():
    analyzer, v, size = arith.Analyzer(), te.var("v"), te.size_var("v")
    assert not analyzer.can_prove(v >= 0) and analyzer.can_prove(size >= 0)
    assert not analyzer.can_prove(v * 2 >= -1) and analyzer.can_prove(size * 2 >= -1)
    assert isinstance(analyzer.simplify(tir.Select(v < 0, x, y)), tir.Select)
    assert same(analyzer.simplify(tir.Select(size < 0, x, y)), y)
    assert analyzer.const_int_bound(v).min_value == -(2**31) and analyzer.const_int_bound(size).min_value == 0
    assert not analyzer.can_prove_equal(te.var("v"), v)
    with analyzer.constraint_scope(v >= 0):
        assert analyzer.can_prove(v * 2 >= -1)


def test_simplified_forms():
    analyzer = arith.Analyzer()
    analyzer.bind(x, ir.Range(0, 8))
    analyzer.bind(y, x * 4)
    for form in (analyzer.simplify, analyzer.rewrite_simplify, analyzer.canonical_simplify):
        assert same(form(y + x), x * 5)
        assert form(x + 2 < 5).dtype == "bool" and str(form(x + 2 < 5)) == str(x < 3)
        assert int(form((n * 8 + x) // 8 - n)) == 0
        assert bool(form(x * 8 < 64))
    assert str(analyzer.simplify(te.any(n > 3, x * 2 < n * 2 - 5))) == str(te.any(less(3, n), less(x * 2 + 5, n * 2)))
    value = tir.Var("f", "float32") + 1.0
    assert analyzer.simplify(value) is value


def test_conditions_are_directed_and_joined_from_the_left():
    analyzer, m = arith.Analyzer(), te.size_var("m")
    assert str(analyzer.simplify(m != 0)) == "0 < m"
    assert str(analyzer.simplify(m % -4 != 0)) == "m % -4 < 0"
    assert str(analyzer.simplify(m % 4 * -2 + 6 != 0)) == "m % 4 < 3"
    assert str(analyzer.simplify(x != 0)) == "x != 0"
    condition = te.any(x > 3, te.any(te.all(y > x, te.all(m != 0, x > 1)), y > 9))
    simple = analyzer.simplify(condition)
    assert str(simple) == "3 < x or x < y and 0 < m and 1 < x or 9 < y"
    for values in itertools.product((-1, 1, 2, 3, 4), (0, 2, 9, 10), (0, 1)):
        known = arith.Analyzer()
        for v, value in zip((x, y, m), values, strict=True):
            known.bind(v, te.const(value, "int32"))
        assert bool(known.simplify(simple)) == bool(known.simplify(condition))


def test_conditions_hold_in_their_scope():
    analyzer = arith.Analyzer()
    with analyzer.constraint_scope(n % 8 == 0):
        assert analyzer.can_prove((n + 7) // 8 * 8 == n)
        assert analyzer.can_prove_equal(te.min(n, n // 8 * 8 + 3), n)
        with analyzer.constraint_scope(te.all(x < n, n < y)):
            assert analyzer.can_prove(x + 1 < y) and not analyzer.can_prove(x + 2 < y)
        assert not analyzer.can_prove(x < y)
    assert not analyzer.can_prove((n + 7) // 8 * 8 == n)
    copy = analyzer.clone()
    copy.bind(n, te.const(8, "int32"))
    assert copy.can_prove(n == 8) and not analyzer.can_prove(n == 8)
    assert copy.can_prove_less(n, 9) and copy.can_prove_greater_equal(n, 8)


def test_sets():
    analyzer = arith.Analyzer()
    interval = analyzer.int_set(x + y, {x: arith.IntervalSet(0, 10), y: arith.IntervalSet(1, 11)})
    assert (int(interval.min_value), int(interval.max_value)) == (1, 21)
    interval = analyzer.int_set(x // 3, {x: arith.IntervalSet(n, n + 5)})
    assert same(interval.min_value, n // 3) and same(interval.max_value, (n + 5) // 3)
    everything = arith.IntervalSet(arith.neg_inf(), arith.pos_inf())
    assert everything.is_everything() and everything.min_value.same_as(arith.neg_inf())
    assert arith.IntSet.single_point(x).is_single_point() and not arith.IntSet.single_point(x).is_nothing()
    assert arith.IntervalSet(0, 3).intersect(arith.IntervalSet(5, 9)).is_nothing()
    assert arith.IntervalSet(0, 3).union(arith.IntervalSet(5, 9)) == arith.IntervalSet(0, 9)
    assert analyzer.int_set(n * 2, {}) == arith.IntSet.single_point(n * 2)


SYMBOLS = tuple(Var(name) for name in "abn")
A, B, N = SYMBOLS


def linear(depth=2):
    leaf = st.sampled_from(SYMBOLS) | st.integers(-5, 9).map(Const)
    kinds = st.sampled_from(["add", "sub", "mul", "min", "max", "floordiv", "floormod"])

    def build(kind, left, right, d):
        if kind in ("floordiv", "floormod"):
            return OPS[kind](left, d)
        return {"add": left + right, "sub": left - right, "mul": left * d}.get(kind) or OPS[kind](left, right)

    return st.recursive(leaf, lambda c: st.builds(build, kinds, c, c, st.integers(1, 6)), max_leaves=6)


@QUICK
@given(linear(), st.integers(-3, 3), st.integers(0, 4))
def test_a_set_holds_all_values(e, low, width):
    """a from low, b from a to a + n: the ends of the second use the first, and n stays."""
    domain = {A: SymInterval(Const(low), Const(low + width)), B: SymInterval(A, A + N)}
    result = values_of(e, domain)
    used = {v for end in (result.low, result.high) if end is not None for v in end.free_vars()}
    assert used <= {N}
    for size, a in itertools.product((0, 1, 4), range(low, low + width + 1)):
        for b in range(a, a + size + 1):
            value = e.evaluate({"a": a, "b": b, "n": size})
            assert result.low is None or result.low.evaluate({"n": size}) <= value
            assert result.high is None or value <= result.high.evaluate({"n": size})


def test_a_set_says_more_than_that_extents_are_not_negative():
    """a is -1: the greater one of a + n and n is n."""
    interval = values_of(OPS["max"](B, N), {A: SymInterval(Const(-1), Const(-1)), B: SymInterval(A, A + N)})
    assert interval.high == N


def test_a_domain_takes_the_place_of_known_facts():
    known = SymAnalyzer()
    known.bind(A, 0, 8, multiple_of=8)
    known.assume(OPS["lt"](A, N))
    for e in (A, OPS["max"](A, N), OPS["floormod"](A, 8)):
        interval = values_of(e, {A: SymInterval(Const(1), Const(7))}, known)
        assert all(
            interval.low.evaluate({"n": size}) <= e.evaluate({"a": a, "n": size}) <= interval.high.evaluate({"n": size})
            for a in range(1, 8)
            for size in range(10)
        )


DOMAIN = {i: ir.Range(0, 8), j: ir.Range(0, 16)}


def bounds_of(result):
    return result and [(int(s.min_value), int(s.max_value)) for s in result]


@pytest.mark.parametrize(
    ("region", "predicate", "exact", "around"),
    [
        ([(i * 16 + j, 1)], True, [(0, 127)], [(0, 127)]),
        ([(i * 16 + j, 1)], i * 16 + j < 100, [(0, 99)], [(0, 99)]),
        ([(i, 1), (j * 2, 2)], True, [(0, 7), (0, 31)], [(0, 7), (0, 31)]),
        ([(i * 2, 1)], True, None, [(0, 14)]),
        ([(i * 2, 3)], True, [(0, 16)], [(0, 16)]),
        ([(i + j, 1)], True, [(0, 22)], [(0, 22)]),
        ([(i, 1), (i + j, 1)], True, None, [(0, 7), (0, 22)]),
        ([(7 - i, 1)], True, [(0, 7)], [(0, 7)]),
        ([(i * i, 1)], True, None, [(0, 49)]),
        ([((i + j) // 2, 1)], True, [(0, 11)], [(0, 11)]),
        ([((i + j * 2) // 3, 2)], True, None, [(0, 13)]),
        ([((i * 3) // 2, 1)], True, None, [(0, 10)]),
        ([(i + j, 1)], tir.all(i + j >= 3, i + j < 20), [(3, 19)], [(3, 19)]),
        ([(i + j, 1)], tir.all(i + j >= 3, i < 5), None, [(3, 19)]),
        ([(i + j, 1), (i, 1)], i + j >= 3, None, [(3, 22), (0, 7)]),
        ([(i, 1), (j, 1)], tir.all(i >= 3, 11 - j > 2), [(3, 7), (0, 8)], [(3, 7), (0, 8)]),
        ([(i + j, 2)], i + j < 20, None, [(0, 20)]),
        ([(i * 48 + j * 3, 1)], i * 16 + j < 63, None, [(0, 186)]),
    ],
)
def test_regions(region, predicate, exact, around):
    ranges = [ir.Range.from_min_extent(first, extent) for first, extent in region]
    assert bounds_of(arith.estimate_region_lower_bound(ranges, DOMAIN, predicate)) == exact
    assert bounds_of(arith.estimate_region_strict_bound(ranges, DOMAIN, predicate)) == exact
    assert bounds_of(arith.estimate_region_upper_bound(ranges, DOMAIN, predicate)) == around


def test_limits_of_an_index_may_be_symbolic():
    index = n * 8 + i
    actual = arith.estimate_region_lower_bound(
        [ir.Range.from_min_extent(index, 1)], {i: ir.Range(0, 10)}, tir.all(index >= 1, index < 224)
    )
    for size in range(-3, 32):
        known = arith.Analyzer()
        known.bind(n, tir.IntImm("int32", size))
        low, high = (int(known.simplify(e)) for e in (actual[0].min_value, actual[0].max_value))
        expected = [v for v in range(size * 8, size * 8 + 10) if 1 <= v < 224]
        assert list(range(low, high + 1)) == expected


def test_quasi_affine_maps():
    iter_map = arith.detect_iter_map([i // 2, i % 2 * 16 + j], DOMAIN)
    assert not iter_map.errors and not bool(iter_map.padding_predicate)
    (first,), (second,) = (index.args for index in iter_map.indices)
    assert int(first.extent) == 4 and int(second.extent) == 32
    back = arith.inverse_affine_iter_map(iter_map.indices, [x, y])
    assert same(back[i], x * 2 + y // 16) and same(back[j], y % 16)
    assert same(arith.normalize_iter_map_to_expr(iter_map.indices[1]), i % 2 * 16 + j)
    broken = arith.detect_iter_map([i, i], DOMAIN)
    assert not broken.indices and "not independent" in broken.errors[0]
    simplified = arith.iter_map_simplify([(i * 16 + j) // 8 * 8 + (i * 16 + j) % 8], DOMAIN)
    assert [str(e) for e in simplified] == ["i * 16 + j"]
    total = arith.normalize_to_iter_sum(i * 16 + j * 4 + n, DOMAIN)
    assert [int(a.scale) for a in total.args] == [16, 4] and total.base.same_as(n)
    assert total.args[0].source == arith.IterMark(i, 8) and int(total.args[0].lower_factor) == 1
    full = arith.IterSumExpr([arith.IterSplitExpr(arith.IterMark(i, 8), 2, 4, 3)], n)
    assert same(arith.normalize_iter_map_to_expr(full), i // 2 * 3 + n)
    product = arith.normalize_to_iter_sum(i * j + i * 4, DOMAIN)
    assert [int(a.scale) for a in product.args] == [4] and same(product.base, i * j)


def test_subspaces():
    (outer, inner), (outside, inside) = arith.subspace_divide([i * 16 + j + n], DOMAIN, [j], i < 5)
    assert same(arith.normalize_iter_map_to_expr(outer), i) and int(outer.extent) == 5
    assert same(arith.normalize_iter_map_to_expr(inner), j + n) and int(inner.extent) == 16
    assert bool(outside.extent) and bool(inside.extent)
    x_range, fused = (
        {i: ir.Range(0, 8), j: ir.Range(0, 16), k: ir.Range(0, 2), n: ir.Range(0, 4)},
        (i * 2 + k, j * 4 + n),
    )
    *_, (outside, inside) = arith.subspace_divide(fused, x_range, [j, n], te.all(fused[0] < 9, fused[1] < 50))
    assert str(outside.extent) == str(fused[0] < 9) and str(inside.extent) == str(fused[1] < 50)
    assert arith.subspace_divide([i * 16 + j], DOMAIN, [i]) == []
    assert arith.subspace_divide([i * 16 + j], DOMAIN, [j], i < j) == []


@pytest.mark.parametrize(
    ("indices", "level", "good"),
    [
        ([i // 3], "surjective", True),
        ([i // 3, i % 3], "surjective", False),
        ([i // 3, i % 3], "nocheck", True),
        ([(i + 1) // 3], "surjective", True),
        ([(i + j * 8 + 5) // 16], "surjective", True),
        ([i // 3], "bijective", False),
        ([i // 3, (i + 1) % 3], "nocheck", True),
        ([(i * 8 + j) // 3 % 4], "bijective", False),
    ],
)
def test_padded_maps(indices, level, good):
    iter_map = arith.detect_iter_map(indices, DOMAIN, True, level)
    assert bool(iter_map.indices) == good and bool(iter_map.errors) != good


def test_linear_forms():
    assert [str(e) for e in arith.detect_linear_equation(i * 4 + j * n + 7, [i, j])] == ["4", str(n), "7"]
    assert arith.detect_linear_equation(i * i, [i]) == []
    assert arith.detect_linear_equation(i // 2, [i]) == []
    unsigned = tir.Var("c", "uint32")
    factor, rest = arith.detect_linear_equation(128 - unsigned, [unsigned])
    assert (factor.value, factor.dtype, rest.value, rest.dtype) == (-1, "int32", 128, "uint32")
    assert (factor * unsigned).a.value == 2**32 - 1
    low, high = arith.detect_clip_bound(te.all(i < n, i > 4), [i])
    assert int(low) == 5 and same(high, n - 1)
    assert arith.detect_clip_bound(i + j < n, [i, j]) == []
    assert arith.detect_clip_bound(i < n, [i])[0] is None


@QUICK
@given(
    st.integers(-4, 4).filter(bool), st.integers(-9, 9), st.sampled_from(["lt", "le", "gt", "ge"]), st.integers(1, 4)
)
def test_limits_are_exact(slope, offset, kind, divisor):
    v = Var("v", Const(0).dtype)
    for e in (v * slope + offset, OPS["floordiv"](v, divisor) * slope + offset):
        condition = OPS[kind](e, 0)
        deduced = deduced_set(v, condition, {}, {})
        limits = clip_bounds(condition, [v])
        for value in range(-45, 46):
            inside = all(
                (low is None or low.constant <= value) and (high is None or value <= high.constant)
                for low, high in [(deduced.low, deduced.high), *(limits or [])]
            )
            assert inside == bool(condition.evaluate({"v": value}))


def test_deduced_sets():
    hints = {n: arith.IntervalSet(0, 100)}
    deduced = arith.deduce_bound(i, i + j < n, hints, {j: arith.IntervalSet(0, 5)})
    assert same(deduced.max_value, n - 6)
    assert same(arith.deduce_bound(i, i // 4 < n, hints, {}).max_value, n * 4 - 1)
    assert int(arith.deduce_bound(i, te.all(i * 2 > 5, i < 9), {}, {}).min_value) == 3
    assert arith.deduce_bound(i, i != 4, {}, {}).is_nothing()
    assert same(arith.deduce_bound(i, i * x >= n, {x: arith.IntervalSet(1, 4)}, {}).min_value, (n + x - 1) // x)


def test_the_analyzer_takes_symbolic_expressions_too():
    analyzer = SymAnalyzer()
    analyzer.assume(logical_and(OPS["ge"](A, 2), OPS["lt"](A, 5)))
    assert (analyzer.bounds(A).low, analyzer.bounds(A).high) == (2, 4)


CLASSES = {
    "a shift": (lambda x, y: (x * 4 + 2) >> 1, 2, 1),
    "bits below a power": (lambda x, y: (x * 16 + y * 4) & 31, 4, 0),
    "other bits": (lambda x, y: (x * 16 + y * 4) & 17, 1, 0),
    "a rounded quotient": (lambda x, y: tir.truncdiv(x * 4 + 1, 2), 1, 0),
    "a wider integer": (lambda x, y: (x * 6 + 3).astype("int64"), 6, 3),
    "what wraps around": (lambda x, y: (x * 6 + 3).astype("uint32"), 2, 1),
    "a name": (lambda x, y: tir.Let(x, y * 10, x + 1), 10, 1),
}


@pytest.mark.parametrize("name", CLASSES)
def test_classes_hold_all_values(name: str) -> None:
    make, step, base = CLASSES[name]
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    modular = arith.Analyzer().modular_set(make(x, y))
    assert (modular.coeff, modular.base) == (step, base)
    if name != "a name":
        for a in (-7, -1, 0, 1, 5, 100):
            value = make(tir.const(a, "int32"), tir.const(a * 3 + 1, "int32")).constant
            assert value is not None and (int(value) - base) % step == 0


def test_classes_meet() -> None:
    analyzer, x = arith.Analyzer(), tir.Var("x", "int32")
    with analyzer.constraint_scope(tir.truncmod(x, 4) == 1), analyzer.constraint_scope(tir.floormod(x, 6) == 3):
        modular = analyzer.modular_set(x)
        assert (modular.coeff, modular.base) == (12, 9)


def test_sets_of_truncated_divisions() -> None:
    """By a divisor of any positive value, of what is not negative: against the values themselves."""
    analyzer = arith.Analyzer()
    analyzer.update(y, arith.ConstIntBound(1, 100))
    over = {x: arith.IntervalSet(0, 10)}
    for op, value in ((tir.truncdiv, lambda a, b: a // b), (tir.truncmod, lambda a, b: a % b)):
        interval = analyzer.int_set(op(x, y), over)
        for b in range(1, 13):
            ends = (interval.min_value, interval.max_value)
            low, high = (tir.stmt_functor.substitute(e, {y: tir.IntImm("int32", b)}) for e in ends)
            values = {value(a, b) for a in range(11)}
            assert arith.Analyzer().simplify(low).value <= min(values)
            assert arith.Analyzer().simplify(high).value >= max(values)
    assert str(analyzer.int_set(tir.truncmod(x, y), over).max_value) == "y - 1"


def test_unions_that_are_intervals() -> None:
    union = arith.int_set.union_lower_bound
    full = union([arith.IntervalSet(arith.neg_inf(), 0), arith.IntervalSet(1, arith.pos_inf())])
    assert full.is_everything()
    separate = union([arith.IntervalSet(0, 3), arith.IntervalSet(9, 12), arith.IntervalSet(2, 5)])
    assert (separate.min_value.value, separate.max_value.value) == (0, 5)
    assert union([]).is_nothing()


def test_lanes_of_scalable_ramps_have_no_last() -> None:
    rising = arith.IntSet.vector(tir.Ramp(5, 2, tir.vscale() * 4))
    assert rising.min_value.value == 5 and rising.max_value.same_as(arith.pos_inf())
    falling = arith.IntSet.vector(tir.Ramp(5, -1, tir.vscale() * 4))
    assert falling.max_value.value == 5 and falling.min_value.same_as(arith.neg_inf())
