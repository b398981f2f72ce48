"""`rewrite_bindings`: several bindings of a dataflow block at once."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.interpreter import assert_same_meaning
from tirax.tvm_api import relax as rx
from tirax.tvm_api.relax.dpl import DivergenceError, PatternContext, is_op, rewrite_bindings, wildcard
from tirax.tvm_api.script import relax as R


@R.function
def products(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32"), v: R.Tensor((4, 4), "float32")):
    with R.dataflow():
        a = R.matmul(x, w)
        k = R.nn.relu(a)
        u = R.exp(v)
        b = R.matmul(x, u)
        o = R.add(k, b)
        R.output(o)
    return o


def same_meaning(before, after):
    after.op.verify()
    assert_same_meaning(*(tvm.IRModule({"main": f}).op for f in (before, after)))


def parallel_products():
    with PatternContext() as ctx:
        x, w, v = wildcard(), wildcard(), wildcard()
        one = is_op("relax.matmul")(x, w)
        two = is_op("relax.matmul")(x, v)
    return ctx, x, w, v, one, two


def test_products_of_one_input_become_one():
    ctx, x, w, v, one, two = parallel_products()

    def rewriter(m, bindings):
        assert [b.name_hint for b in bindings] == ["a", "k", "u", "b", "o"]
        both = rx.op.split(rx.op.matmul(m[x], rx.op.concat([m[w], m[v]], axis=1)), 2, axis=1)
        return {m[one]: rx.TupleGetItem(both, 0), m[two]: rx.TupleGetItem(both, 1)}

    after = rewrite_bindings(ctx, rewriter, products)
    lines = [line.strip().split(":")[0] for line in after.script().splitlines()]
    # u was behind a, and stands before it now: the first product needs it.
    assert lines[lines.index("with R.dataflow()") + 1 :][:8] == ["u", "lv", "lv1", "lv2", "a", "k", "b", "o"]
    same_meaning(products, after)


def test_blocks_are_matched_again_until_nothing_matches():
    @R.function
    def before(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.nn.relu(R.nn.relu(R.nn.relu(x)))
            R.output(a)
        return a

    with PatternContext() as ctx:
        inner = is_op("relax.nn.relu")(wildcard(), add_constraint=False)
        outer = is_op("relax.nn.relu")(inner)

    after = rewrite_bindings(ctx, lambda m, _: {m[outer]: m[inner]}, before)
    assert after.script().count("R.nn.relu") == 1
    same_meaning(before, after)


def test_no_match_changes_nothing():
    with PatternContext() as ctx:
        is_op("relax.sin")(wildcard())
    after = rewrite_bindings(ctx, lambda m, _: pytest.fail("matched"), products)
    tvm.ir.assert_structural_equal(after, products)


def test_the_same_values_change_nothing():
    ctx, *_, one, two = parallel_products()
    after = rewrite_bindings(ctx, lambda m, _: {m[one]: m[one], m[two]: m[two]}, products)
    tvm.ir.assert_structural_equal(after, products)


def test_what_depends_on_itself_is_refused():
    ctx, *_, one, _ = parallel_products()
    by_name = {}

    def rewriter(m, bindings):
        by_name.update({b.name_hint: b for b in bindings})
        return {m[one]: rx.op.exp(by_name["k"])}

    with pytest.raises(TiraxError, match="the new value of 'a' is computed from itself"):
        rewrite_bindings(ctx, rewriter, products)


def test_a_variable_from_outside_is_refused():
    ctx, x, *_ = parallel_products()
    with pytest.raises(TiraxError, match="'x' is not bound in the dataflow block that matched"):
        rewrite_bindings(ctx, lambda m, _: {m[x]: rx.op.exp(m[x])}, products)


def test_rewriting_that_goes_on_for_ever():
    with PatternContext() as ctx:
        x = wildcard()
        relu = is_op("relax.nn.relu")(x)
    with pytest.raises(DivergenceError, match="does not come to an end"):
        rewrite_bindings(ctx, lambda m, _: {m[relu]: rx.op.nn.relu(rx.op.negative(m[x]))}, products)
