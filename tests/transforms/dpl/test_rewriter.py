"""Rewriting: what becomes of programs, by text and by meaning, and what is refused."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import ShapeError, TiraxError
from tirax.interpreter import assert_same_meaning
from tirax.transforms.dpl.matcher import Matcher
from tirax.tvm_api import relax as rx
from tirax.tvm_api.relax.dpl import (
    DivergenceError,
    PatternMatchingRewriter,
    is_const,
    is_op,
    is_tuple,
    is_tuple_get_item,
    rewrite_call,
    wildcard,
)
from tirax.tvm_api.script import ir as I  # noqa: E741
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T


def body(func) -> list[str]:
    """The bindings of a printed function, without their struct info."""
    lines = func.script().split("def ", 1)[1].splitlines()[1:]
    bindings = [line.strip() for line in lines if " = " in line or "return" in line or "output" in line]
    return [_plain(line) for line in bindings if not line.endswith("T.int64()")]


def _plain(line: str) -> str:
    name, colon, rest = line.partition(": R.")
    return f"{name} = {rest.split(' = ', 1)[1]}" if colon else line


def same_meaning(before, after):
    before.op.verify()
    after.op.verify()
    assert_same_meaning(*(tvm.IRModule({"main": f}).op for f in (before, after)))


@R.function
def chain(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", 4), "float32")):
    with R.dataflow():
        a = R.add(x, y)
        b = R.nn.relu(a)
        c = R.nn.gelu(b)
        R.output(b, c)
    return (b, c)


def test_what_is_still_used_stays():
    x = wildcard()
    pattern = is_op("relax.nn.gelu")(is_op("relax.nn.relu")(x))
    after = rewrite_call(pattern, lambda _, m: R.nn.silu(m[x]), chain)
    assert body(after) == ["a = R.add(x, y)", "b = R.nn.relu(a)", "c = R.nn.silu(a)", "R.output(b, c)", "return (b, c)"]
    assert body(chain)[2] == "c = R.nn.gelu(b)"  # the original is as it was


def test_none_and_the_expression_itself_change_nothing():
    seen = []

    def keep(expr, _):
        seen.append(expr.op.name)
        return None if len(seen) == 1 else expr

    after = rewrite_call(wildcard(), lambda e, m: keep(e, m) if isinstance(e, rx.Call) else e, chain)
    tvm.ir.assert_structural_equal(after, chain)
    assert seen == ["relax.add", "relax.nn.relu", "relax.nn.gelu"]


def test_an_equal_expression_is_no_change():
    x, y = wildcard(), wildcard()
    calls = []

    def again(_, m):
        calls.append(m)
        return R.add(m[x], m[y])

    after = rewrite_call(is_op("relax.add")(x, y), again, chain)
    tvm.ir.assert_structural_equal(after, chain)
    assert len(calls) == 1


def test_the_expression_itself_may_be_used_in_the_new_one():
    done = []

    def once(expr, _):
        done.append(expr)
        return rx.op.abs(expr) if len(done) == 1 else expr

    after = rewrite_call(is_op("relax.nn.relu")(wildcard()), once, chain)
    assert body(after)[1:4] == ["lv = R.nn.relu(a)", "b = R.abs(lv)", "c = R.nn.gelu(b)"]
    same_meaning(chain, after)  # abs changes nothing after relu


def test_a_variable_as_result():
    x = wildcard()
    after = rewrite_call(is_op("relax.nn.relu")(x), lambda _, m: m[x], chain)
    assert body(after)[:2] == ["a = R.add(x, y)", "c = R.nn.gelu(a)"]


def test_a_constant_as_result_is_placed_at_its_use():
    @R.function
    def before(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.subtract(x, x)
            b = R.add(a, x)
            R.output(b)
        return b

    x = wildcard()
    after = rewrite_call(is_op("relax.subtract")(x, x), lambda _, m: rx.const([0.0] * 4, "float32"), before)
    assert "R.subtract" not in after.script()
    same_meaning(before, after)


def test_a_constant_that_a_dataflow_block_gives_is_bound():
    @R.function
    def before(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.subtract(x, x)
            R.output(a)
        return a

    x = wildcard()
    after = rewrite_call(is_op("relax.subtract")(x, x), lambda _, m: rx.const([0.0] * 4, "float32"), before)
    assert body(after)[0].startswith("a = metadata")
    same_meaning(before, after)


def test_tuples_and_their_fields():
    @R.function
    def before(x: R.Tensor((4, 6), "float32")):
        with R.dataflow():
            s = R.split(x, 2, axis=1)
            a = s[0]
            b = s[1]
            c = R.concat((a, b), axis=1)
            R.output(c)
        return c

    s = wildcard()
    pattern = is_op("relax.concat")(is_tuple([is_tuple_get_item(s, 0), is_tuple_get_item(s, 1)]))
    after = rewrite_call(pattern, lambda _, m: m[s].args[0], before)
    assert body(after) == ["c = x", "R.output(c)", "return c"]
    same_meaning(before, after)

    result = rewrite_call(is_op("relax.split")(s), lambda _, m: rx.Tuple([m[s], m[s]]), before)
    assert body(result)[0] == "c = R.concat((x, x), axis=1)"


def test_other_shapes_are_inferred_again():
    @R.function
    def before(x: R.Tensor((4, 6), "float32")) -> R.Tensor((4, 6), "float32"):
        with R.dataflow():
            a = R.nn.relu(x)
            b = R.exp(a)
            R.output(b)
        return b

    x = wildcard()
    after = rewrite_call(is_op("relax.nn.relu")(x), lambda _, m: R.permute_dims(m[x]), before)
    after.op.verify()
    assert after.ret_struct_info == R.Tensor((6, 4), "float32")


def test_a_wrong_shape_is_refused():
    @R.function
    def before(x: R.Tensor((4, 6), "float32")):
        with R.dataflow():
            a = R.nn.relu(x)
            b = R.add(a, x)
            R.output(b)
        return b

    x = wildcard()
    with pytest.raises(ShapeError, match="add"):
        rewrite_call(is_op("relax.nn.relu")(x), lambda _, m: R.permute_dims(m[x]), before)
    with pytest.raises(TiraxError, match="not an expression"):
        rewrite_call(is_op("relax.nn.relu")(x), lambda _, m: object(), before)


def test_a_binding_that_was_rewritten_is_not_looked_through_in_the_same_round():
    seen = []
    x = wildcard()
    relu, gelu = is_op("relax.nn.relu")(x), is_op("relax.nn.gelu")(x)

    def rewriter(expr, m):
        seen.append(type(m[x]).__name__)
        return R.nn.silu(m[x])

    rewrite_call(relu, rewriter, chain)
    assert seen == ["Call"]
    seen.clear()
    both = PatternMatchingRewriter.from_pattern(is_op("relax.nn.relu")(x), rewriter)
    both |= PatternMatchingRewriter.from_pattern(gelu, rewriter)
    both(chain)
    assert seen == ["Call", "Var"]  # b is a variable to gelu: it was rewritten before


def test_an_or_tries_its_left_side_everywhere_first():
    seen = []
    x = wildcard()
    either = is_op("relax.nn.gelu")(x) | is_op("relax.nn.relu")(x)

    def rewriter(expr, m):
        seen.append(expr.op.name)
        assert m[either] is expr
        return expr

    rewrite_call(either, rewriter, chain)
    assert seen == ["relax.nn.gelu", "relax.nn.relu"]


def test_rewriting_that_goes_on_for_ever():
    x = wildcard()
    with pytest.raises(DivergenceError, match="does not come to an end") as error:
        rewrite_call(is_op("relax.nn.relu")(x), lambda e, m: R.nn.relu(R.negative(m[x])), chain)
    assert "more is rewritten in each round" in str(error.value)
    assert "@chain" in str(error.value)

    a, b = wildcard(), wildcard()
    with pytest.raises(DivergenceError, match="after 2 rounds it is what it was before"):
        rewrite_call(is_op("relax.add")(a, b), lambda e, m: R.add(m[b], m[a]), chain)


def test_discarded_expressions_leave_no_uses():
    x = wildcard()

    def rewriter(expr, m):
        R.exp(R.negative(m[x]))
        return R.nn.silu(m[x])

    after = rewrite_call(is_op("relax.nn.gelu")(is_op("relax.nn.relu")(x)), rewriter, chain)
    assert len(body(after)) == 5


def test_names_are_new():
    @R.function
    def before(lv: R.Tensor((4,), "float32"), lv1: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.nn.relu(lv)
            b = R.add(a, lv1)
            R.output(b)
        return b

    x = wildcard()
    after = rewrite_call(is_op("relax.nn.relu")(x), lambda _, m: R.maximum(R.abs(m[x]), R.sign(m[x])), before)
    assert body(after)[:3] == ["lv2 = R.abs(lv)", "lv3 = R.sign(lv)", "a = R.maximum(lv2, lv3)"]


def test_outside_of_dataflow_blocks_and_in_branches():
    @R.function
    def before(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")):
        a = R.add(x, x)
        if c:
            b = R.add(a, a)
            r = R.exp(b)
        else:
            r = R.add(a, x)
        return r

    x = wildcard()
    after = rewrite_call(is_op("relax.add")(x, x), lambda _, m: R.multiply(m[x], R.const(2, "float32")), before)
    assert after.script().count("R.multiply") == 2
    same_meaning(before, after)


def test_matching_does_not_reach_over_impure_calls():
    @R.function(pure=False)
    def before(x: R.Tensor((4,), "float32")):
        a = R.exp(x)
        p = R.call_packed("env.print", a, sinfo_args=R.Object)
        b = R.log(a)
        return b

    x = wildcard()
    pattern = is_op("relax.log")(is_op("relax.exp")(x))
    after = rewrite_call(pattern, lambda _, m: m[x], before)
    tvm.ir.assert_structural_equal(after, before)


def test_local_functions_are_rewritten_too():
    @R.function
    def before(x: R.Tensor((4,), "float32")):
        @R.function
        def inner(y: R.Tensor((4,), "float32")):
            z = R.add(y, y)
            return z

        a = inner(x)
        return a

    x = wildcard()
    after = rewrite_call(is_op("relax.add")(x, x), lambda _, m: R.multiply(m[x], R.const(2, "float32")), before)
    assert 'z: R.Tensor((4,), dtype="float32") = R.multiply(y, R.const(2.0' in after.script()


@I.ir_module
class TwoFunctions:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            a = R.add(x, x)
            R.output(a)
        return a

    @R.function
    def other(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            a = R.nn.relu(x)
            b = R.nn.relu(a)
            R.output(b)
        return b


def test_modules_and_composition():
    x, y = wildcard(), wildcard()
    twice = PatternMatchingRewriter.from_pattern(is_op("relax.add")(x, x), lambda _, m: m[x] * 2.0)
    relu = is_op("relax.nn.relu")
    once = PatternMatchingRewriter.from_pattern(relu(relu(y)), lambda _, m: R.nn.relu(m[y]))
    after = (twice | once)(TwoFunctions)
    assert "R.add" in TwoFunctions.script()
    assert "R.add" not in after.script()
    assert after.script().count("R.nn.relu") == 1
    assert [rule.pattern.op.expr.name for rule in (twice | once).rules()] == ["relax.add", "relax.nn.relu"]
    assert_same_meaning(TwoFunctions.op, after.op)
    assert_same_meaning(TwoFunctions.op, (twice | once)(TwoFunctions.op))


@R.function
def products(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32"), v: R.Tensor((4, 4), "float32")):
    with R.dataflow():
        a = R.matmul(x, w)
        k = R.exp(x)
        b = R.matmul(x, v)
        c = R.add(a, k)
        d = R.add(b, c)
        R.output(d)
    return d


def combine(inputs):
    x, w, v = wildcard(), wildcard(), wildcard()
    pattern = is_tuple([is_op("relax.matmul")(x, w), is_op("relax.matmul")(x, v)])

    def rewriter(expr, m):
        assert [f.op.name for f in expr.fields] == ["relax.matmul", "relax.matmul"]
        return inputs(m[x], m[w], m[v])

    return PatternMatchingRewriter.from_pattern(pattern, rewriter)


def test_bindings_that_no_tuple_holds_together():
    after = combine(lambda x, w, v: R.split(R.matmul(x, R.concat([w, v], axis=1)), 2, axis=1))(products)
    assert body(after) == [
        "lv = R.concat((w, v), axis=1)",
        'lv1 = R.matmul(x, lv, out_dtype="void")',
        "lv2 = R.split(lv1, indices_or_sections=2, axis=1)",
        "a = lv2[0]",
        "k = R.exp(x)",
        "b = lv2[1]",
        "c = R.add(a, k)",
        "d = R.add(b, c)",
        "R.output(d)",
        "return d",
    ]
    same_meaning(products, after)


def test_a_tuple_as_result_of_a_tuple():
    @R.function
    def before(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.multiply(x, y)
            t = (a, b)
            R.output(t)
        return t

    x, y = wildcard(), wildcard()
    pattern = is_tuple([is_op("relax.add")(x, y), is_op("relax.multiply")(x, y)])
    swap = PatternMatchingRewriter.from_pattern(pattern, lambda _, m: rx.Tuple([m[x] - m[y], m[x] / m[y]]))
    assert body(swap(before))[:3] == ["a = R.subtract(x, y)", "b = R.divide(x, y)", "t = a, b"]
    with pytest.raises(TiraxError, match="the rewriter of a tuple gives a tuple"):
        PatternMatchingRewriter.from_pattern(pattern, lambda _, m: rx.Tuple([m[x]]))(before)


def test_an_element_that_is_used_early_is_no_match():
    @R.function
    def before(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32"), v: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            k = R.exp(a)
            b = R.matmul(x, v)
            d = R.add(b, k)
            R.output(d)
        return d

    after = combine(lambda x, w, v: pytest.fail("matched"))(before)
    tvm.ir.assert_structural_equal(after, before)


def test_four_bindings_are_no_tuple():
    x = wildcard()
    four = is_tuple([is_op(f"relax.{name}")(x) for name in ("exp", "sin", "cos", "tanh")])

    @R.function
    def before(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.sin(x)
            c = R.cos(x)
            d = R.tanh(x)
            e = R.add(R.add(a, b), R.add(c, d))
            R.output(e)
        return e

    PatternMatchingRewriter.from_pattern(four, lambda e, m: pytest.fail("matched"))(before)
    three = is_tuple([is_op(f"relax.{name}")(x) for name in ("exp", "sin", "cos")])
    seen = []
    PatternMatchingRewriter.from_pattern(three, lambda e, m: seen.append(e))(before)
    assert len(seen) == 1


def test_match_cast_is_not_looked_through():
    @R.function
    def before(x: R.Tensor(ndim=1, dtype="float32")):
        n = T.int64()
        with R.dataflow():
            a = R.match_cast(x, R.Tensor(("n",), "float32"))
            b = R.exp(a)
            R.output(b)
        return b

    x = wildcard()
    results = []
    rewrite_call(is_op("relax.exp")(x), lambda e, m: results.append(m[x]), before)
    assert [type(f).__name__ for f in results] == ["DataflowVar"]


def test_many_rounds_are_as_many_as_needed():
    @R.function
    def before(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.add(x, R.const(1.0))
            b = R.add(a, R.const(1.0))
            c = R.add(b, R.const(1.0))
            d = R.add(c, R.const(1.0))
            e = R.add(d, R.const(1.0))
            R.output(e)
        return e

    x, p, q = wildcard(), is_const(), is_const()
    fold = is_op("relax.add")(is_op("relax.add")(x, p), q)
    after = rewrite_call(fold, lambda _, m: m[x] + rx.const(m[p].data.numpy() + m[q].data.numpy()), before)
    assert body(after)[0] == 'e = R.add(x, R.const(5.0, "float32"))'
    same_meaning(before, after)


def test_patterns_are_tried_only_at_ops_that_they_can_match(monkeypatch):
    requests = []
    original = Matcher.first
    monkeypatch.setattr(
        Matcher, "first", lambda self, pattern, expr: requests.append(expr) or original(self, pattern, expr)
    )
    rewrite_call(is_op("relax.nn.gelu")(wildcard()) | is_op("relax.exp")(wildcard()), lambda e, m: e, chain)
    assert [expr.op.name for expr in requests] == ["relax.nn.gelu"]
