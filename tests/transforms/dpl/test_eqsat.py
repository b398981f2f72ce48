"""Equality saturation: what it finds where greedy rewriting gets stuck, by text, meaning and cost; and its limits."""

import random

import pytest
from strength import only_full
from xdsl.dialects.equivalence import ClassOp

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.dialects import relax as dialect
from tirax.interpreter import assert_same_meaning
from tirax.ir.passes.transform import new_context
from tirax.transforms.dpl.egraph import EGraph
from tirax.tvm_api import IRModule
from tirax.tvm_api import relax as rx
from tirax.tvm_api.relax.dpl import (
    DivergenceError,
    EqsatRewrite,
    EstimatedCost,
    PatternMatchingRewriter,
    is_const,
    is_op,
    is_tuple_get_item,
    saturated,
    wildcard,
)
from tirax.tvm_api.script import ir as I  # noqa: E741
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T

p, q, r = wildcard(), wildcard(), wildcard()
add, multiply, matmul = is_op("relax.add"), is_op("relax.multiply"), is_op("relax.matmul")
rewriter = PatternMatchingRewriter.from_pattern

to_right = rewriter(matmul(matmul(p, q), r), lambda _, m: R.matmul(m[p], R.matmul(m[q], m[r])))
to_left = rewriter(matmul(p, matmul(q, r)), lambda _, m: R.matmul(R.matmul(m[p], m[q]), m[r]))
same_right = rewriter(add(matmul(p, r), matmul(q, r)), lambda _, m: R.matmul(R.add(m[p], m[q]), m[r]))
same_left = rewriter(add(matmul(p, q), matmul(p, r)), lambda _, m: R.matmul(m[p], R.add(m[q], m[r])))
ALGEBRA = (to_right, to_left, same_right, same_left)

swap = rewriter(add(p, q), lambda _, m: R.add(m[q], m[p]))
regroup = rewriter(add(add(p, q), r), lambda _, m: R.add(m[p], R.add(m[q], m[r])))


@R.function
def column(a: R.Tensor((16, 16), "float32"), b: R.Tensor((16, 16), "float32"), x: R.Tensor((16, 1), "float32")):
    with R.dataflow():
        ab = R.matmul(a, b)
        abx = R.matmul(ab, x)
        ax = R.matmul(a, x)
        s = R.add(abx, ax)
        R.output(s)
    return s


@R.function
def row(a: R.Tensor((16, 16), "float32"), b: R.Tensor((16, 16), "float32"), x: R.Tensor((1, 16), "float32")):
    with R.dataflow():
        ba = R.matmul(b, a)
        xba = R.matmul(x, ba)
        xa = R.matmul(x, a)
        s = R.add(xba, xa)
        R.output(s)
    return s


def module(func) -> IRModule:
    return IRModule({"main": func})


def bindings(mod) -> list[str]:
    """The bindings of the dataflow block of a printed module, without struct info."""
    lines = [line.strip() for line in mod.script().splitlines()]
    plain = [line.replace(', out_dtype="void"', "").replace(', "float32")', ")") for line in lines if " = R." in line]
    return [f"{line.split(':', 1)[0]} = {line.split(' = ', 1)[1]}" for line in plain]


def rewritten(func, rules, **options) -> list[str]:
    """The bindings after saturation. What they mean is what the function means."""
    before = module(func)
    after = EqsatRewrite(rules, **options)(before)
    assert_same_meaning(before.op, after.op)
    return bindings(after)


def cost_of(mod) -> float:
    cost = EstimatedCost()
    block = mod["main"].body.blocks[0]
    return sum(cost(binding.value) for binding in block.bindings if not isinstance(binding.value, rx.Var))


def test_greedy_order_gets_stuck_and_saturation_does_not():
    stuck = (same_right | to_right | same_left)(module(column))
    assert bindings(stuck) == ["ab = R.matmul(a, b)", "lv1 = R.add(ab, a)", "s = R.matmul(lv1, x)"]
    assert rewritten(column, ALGEBRA) == ["lv = R.matmul(b, x)", "lv1 = R.add(lv, x)", "s = R.matmul(a, lv1)"]
    assert cost_of(EqsatRewrite(ALGEBRA)(module(column))) < cost_of(module(column)) < cost_of(stuck)


def test_the_order_that_is_right_for_one_program_is_wrong_for_another():
    right_for_column = to_right | same_left | same_right
    assert len(bindings(right_for_column(module(column)))) == 3
    stuck, best = right_for_column(module(row)), EqsatRewrite(ALGEBRA)(module(row))
    assert cost_of(best) < cost_of(stuck)
    assert rewritten(row, ALGEBRA) == ["lv = R.matmul(x, b)", "lv1 = R.add(lv, x)", "s = R.matmul(lv1, a)"]
    with pytest.raises(DivergenceError):
        (to_right | to_left)(module(column))


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_rules_does_not_matter(seed):
    rules = list(ALGEBRA)
    random.Random(seed).shuffle(rules)
    assert rewritten(column, rules) == rewritten(column, ALGEBRA)


def test_a_symbolic_extent_is_what_is_assumed_of_it():
    @R.function
    def main(a: R.Tensor(("n", 16), "float32"), b: R.Tensor((16, 16), "float32"), c: R.Tensor((16, 16), "float32")):
        with R.dataflow():
            ab = R.matmul(a, b)
            abc = R.matmul(ab, c)
            R.output(abc)
        return abc

    few = EstimatedCost(bounds={"n": 1})
    assert rewritten(main, [to_right], cost=few) == ["ab = R.matmul(a, b)", "abc = R.matmul(ab, c)"]
    many = EstimatedCost(bounds={"n": 4096})
    assert rewritten(main, [to_right], cost=many) == ["lv = R.matmul(b, c)", "abc = R.matmul(a, lv)"]


@R.function
def sums(a: R.Tensor((8,), "float32"), b: R.Tensor((8,), "float32")):
    with R.dataflow():
        t0 = R.add(a, b)
        t1 = R.add(t0, b)
        t2 = R.add(t1, a)
        t3 = R.add(t2, R.const(1.0))
        t4 = R.add(t3, R.const(1.0))
        R.output(t4)
    return t4


@only_full
def test_commutativity_and_associativity_come_to_an_end():
    after = rewritten(sums, [swap, regroup])
    assert after == ["t0 = R.add(a, b)", "lv = R.add(t0, R.const(1.0))", "t4 = R.add(lv, lv)"]


def test_rules_that_never_end_end_at_the_limits():
    grow = rewriter(add(p, q), lambda _, m: R.add(R.add(m[p], R.const(0.0)), m[q]))
    graph = saturated(module(sums)["main"].op, [grow, swap, regroup], max_nodes=50)[0]
    assert 50 <= len(graph.members) <= 5 + 3 + 50 + 2
    assert len(rewritten(sums, [grow, swap, regroup], max_nodes=50)) <= 5
    (graph,) = saturated(module(sums)["main"].op, [swap], max_iterations=0)
    assert len(graph.members) == 5 + 2


def test_what_costs_as_much_stays_to_the_letter():
    assert EqsatRewrite([swap, regroup])(module(column)).script() == module(column).script()


def test_a_cost_of_the_users():
    either = rewriter(multiply(p, p), lambda _, m: R.square(m[p]))

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            y = R.multiply(x, x)
            R.output(y)
        return y

    def dear(name):
        return lambda expr: 10 if isinstance(expr, rx.Call) and expr.op.name == name else 1

    assert rewritten(main, either, cost=dear("relax.multiply")) == ["y = R.square(x)"]
    assert rewritten(main, either, cost=dear("relax.square")) == ["y = R.multiply(x, x)"]
    with pytest.raises(TiraxError, match="the cost of relax.multiply"):
        EqsatRewrite(either, cost=lambda _: -1)(module(main))


def test_congruence():
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.add(y, x)
            c = R.nn.relu(a)
            d = R.nn.relu(b)
            e = R.multiply(c, d)
            R.output(e)
        return e

    (graph,) = saturated(module(main)["main"].op, [swap])
    classes = {cls for op, cls in graph.members.items() if op.name == "relax.nn.relu"}
    assert len(classes) == 1 and [op.name for op in graph.members].count("relax.nn.relu") == 1
    assert rewritten(main, [swap]) == ["a = R.add(x, y)", "c = R.nn.relu(a)", "e = R.multiply(c, c)"]


def test_a_class_that_uses_itself_and_an_input_as_the_result():
    one = rewriter(multiply(p, is_const()), lambda _, m: m[p])
    more = rewriter(multiply(p, q), lambda _, m: R.multiply(R.multiply(m[p], R.const(1.0)), m[q]))

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            y = R.multiply(x, R.const(1.0))
            z = R.nn.relu(y)
            R.output(y, z)
        return (y, z)

    after = rewritten(main, [one, more])
    assert "z = R.nn.relu(x)" in after and not any("multiply" in line for line in after)


def test_a_constant_as_the_result_is_a_leaf_of_its_users():
    c, d = is_const(), is_const()
    fold = rewriter(add(c, d), lambda _, m: rx.const(m[c].data.numpy() + m[d].data.numpy()))

    @R.function
    def main(x: R.Tensor((), "float32")):
        with R.dataflow():
            a = R.add(R.const(1.0), R.const(2.0))
            b = R.add(a, R.const(3.0))
            y = R.multiply(x, b)
            R.output(y)
        return y

    assert rewritten(main, [fold]) == ["y = R.multiply(x, R.const(6.0))"]


def test_several_results_and_attributes():
    parts = is_op("relax.split")(p)
    first = is_tuple_get_item(parts, 0)
    sliced = rewriter(first, lambda _, m: R.strided_slice(m[p], [1], [0], [2]))
    twice = rewriter(
        is_op("relax.permute_dims")(is_op("relax.permute_dims")(q).has_attr({"axes": [1, 0]})).has_attr(
            {"axes": [1, 0]}
        ),
        lambda _, m: m[q],
    )

    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            s = R.split(x, 2, axis=1)
            a = s[0]
            t = R.permute_dims(a, [1, 0])
            u = R.permute_dims(t, [1, 0])
            c = R.concat((u, a), axis=0)
            R.output(c)
        return c

    after = rewritten(main, [twice, sliced])
    assert not any("permute_dims" in line for line in after) and "R.concat((" in after[-1]


def test_what_is_opaque_stays_in_place():
    @R.function
    def main(x: R.Tensor("float32", ndim=1), y: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.multiply(y, R.const(1.0))
            c = R.match_cast(x, R.Tensor(("k",), "float32"))
            b = R.multiply(c, R.const(1.0))
            d = R.nn.relu(b)
            R.output(a, d)
        return (a, d)

    one = rewriter(multiply(p, is_const()), lambda _, m: m[p])
    after = EqsatRewrite(one)(module(main))
    assert "R.match_cast" in after.script() and "R.nn.relu(c)" in after.script() and "multiply" not in after.script()


def test_another_struct_info_is_not_equal():
    wrong = rewriter(add(p, q), lambda _, m: R.sum(m[p]))
    assert rewritten(sums, wrong) == bindings(module(sums))


def test_a_pattern_that_rejects_tries_the_full_class():
    relu = is_op("relax.nn.relu")
    flip = rewriter(is_op("relax.negative")(is_op("relax.negative")(p)), lambda _, m: m[p])
    clip = rewriter(is_op("relax.abs")(~relu(wildcard())), lambda expr, m: R.const([9.0, 9.0]))

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            a = R.nn.relu(x)
            b = R.negative(a)
            c = R.negative(b)
            d = R.abs(c)
            R.output(d)
        return d

    (graph,) = saturated(module(main)["main"].op, [flip])
    assert len({cls for op, cls in graph.members.items() if op.name in ("relax.nn.relu", "relax.negative")}) == 2
    assert "9.0" in str(saturated(module(main)["main"].op, [clip])[0].op)
    assert rewritten(main, [flip]) == ["a = R.nn.relu(x)", "d = R.abs(a)"]


def test_the_saturated_block_is_well_formed_and_the_function_stays():
    func = module(column)["main"].op
    text = str(func)
    (graph,) = saturated(func, ALGEBRA)
    graph.op.verify()
    assert str(graph.op) == str(saturated(func, ALGEBRA)[0].op)
    assert str(func) == text and "equivalence.class %s, " in str(graph.op)
    assert isinstance(graph, EGraph) and all(isinstance(cls, ClassOp) for cls in graph.members.values())


def test_nothing_is_left_in_what_is_not_changed():
    dear = rewriter(matmul(p, q), lambda _, m: R.multiply(R.matmul(m[p], m[q]), R.const(1.0)))
    op = module(column).op
    EqsatRewrite(dear).apply(new_context(), op)
    (func,) = (f for f in op.body.block.ops if isinstance(f, dialect.FuncOp))
    assert all(use.operation.parent is not None for arg in func.body.block.args for use in arg.uses)


def test_what_is_no_rule_or_cannot_stand_in_a_block():
    with pytest.raises(TiraxError, match="not a rule"):
        EqsatRewrite([3])
    effect = rewriter(add(p, q), lambda _, m: R.call_packed("f", m[p], sinfo_args=R.Tensor((8,), "float32")))
    with pytest.raises(TiraxError, match="cannot stand in a dataflow expression"):
        EqsatRewrite(effect)(module(sums))


@pytest.mark.parametrize("seed", range(6))
def test_random_sums_and_products_mean_the_same(seed):
    choose = random.Random(seed)
    lines, names = [], ["a", "b"]
    for i in range(8):
        op, x, y = choose.choice(["add", "multiply"]), choose.choice(names), choose.choice(names)
        lines.append(f"            t{i} = R.{op}({x}, {y})")
        names.append(f"t{i}")
    text = "\n".join(
        [
            "# from tvm.script import relax as R",
            "# from tvm.script import ir as I",
            "@I.ir_module",
            "class Module:",
            "    @R.function",
            '    def main(a: R.Tensor((4,), "float32"), b: R.Tensor((4,), "float32")):',
            "        with R.dataflow():",
            *lines,
            "            R.output(t6, t7)",
            "        return (t6, t7)",
        ]
    )
    before = tvm.script.from_source(text)
    factor = rewriter(add(multiply(p, q), multiply(p, r)), lambda _, m: R.multiply(m[p], R.add(m[q], m[r])))
    spread = rewriter(multiply(p, add(q, r)), lambda _, m: R.add(R.multiply(m[p], m[q]), R.multiply(m[p], m[r])))
    after = EqsatRewrite([swap, regroup, factor, spread], max_nodes=150)(before)
    assert_same_meaning(before.op, after.op)
    assert cost_of(after) <= cost_of(before)


def test_calls_of_functions_are_expressions_like_others():
    @I.ir_module
    class Module:
        @T.prim_func(private=True)
        def double(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
            for i in range(4):
                with T.block("b"):
                    vi = T.axis.spatial(4, i)
                    b[vi] = a[vi] * T.float32(2.0)

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            cls = Module
            with R.dataflow():
                y = R.add(x, x)
                a = R.call_tir(cls.double, (y,), out_sinfo=R.Tensor((4,), "float32"))
                z = R.multiply(x, R.const(2.0))
                b = R.call_tir(cls.double, (z,), out_sinfo=R.Tensor((4,), "float32"))
                c = R.add(a, b)
                R.output(c)
            return c

    double = rewriter(multiply(p, is_const()), lambda _, m: R.add(m[p], m[p]))
    after = EqsatRewrite([double, swap])(Module)
    assert_same_meaning(Module.op, after.op)
    assert after.script().count("R.call_tir(") == 1 and "R.add(a, a)" in after.script()


def test_a_rewriter_that_makes_what_it_does_not_return_leaves_nothing():
    def wasteful(expr, m):
        R.nn.relu(expr)
        return None

    (graph,) = saturated(module(column)["main"].op, [*ALGEBRA, rewriter(matmul(p, q), wasteful)])
    graph.op.verify()
    for cls in dict.fromkeys(graph.members.values()):
        cls.verify_()


def test_congruence_all_the_way_up():
    """Chains of two unequal starts, which a rule joins: every level of the one is a level of the other."""
    lines = [f"            {n}{i + 1} = R.{op}({n}{i})" for i, op in enumerate(["exp", "abs"] * 6) for n in "ab"]
    text = "\n".join(
        [
            "# from tvm.script import relax as R",
            "# from tvm.script import ir as I",
            "@I.ir_module",
            "class Module:",
            "    @R.function",
            '    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):',
            "        with R.dataflow():",
            "            a0 = R.add(x, y)",
            "            b0 = R.add(y, x)",
            *lines,
            "            z = R.subtract(a12, b12)",
            "            R.output(z)",
            "        return z",
        ]
    )
    (graph,) = saturated(tvm.script.from_source(text)["main"].op, [swap])
    assert len([op for op in graph.members if op.name in ("relax.exp", "relax.abs")]) == 12
    assert bindings(EqsatRewrite(swap)(tvm.script.from_source(text)))[-1] == "z = R.subtract(a12, a12)"


@pytest.mark.parametrize(
    ("make", "moved", "flops"),
    [
        (lambda x, w: R.add(x, x), 2 * 4 * 8 * 4, 4 * 8),
        (lambda x, w: R.matmul(x, w), 4 * (4 * 8 + 8 * 2 + 4 * 2), 2 * 4 * 8 * 2),
        (lambda x, w: R.sum(x), 4 * (4 * 8 + 1), 4 * 8),
        (lambda x, w: R.split(x, 2, axis=0), 2 * 4 * 4 * 8, 4 * 8),
        (lambda x, w: rx.const(1.0), 0, 0),
        (lambda x, w: rx.Tuple([x, w]), 0, 0),
    ],
)
def test_the_cost_by_default(make, moved, flops):
    x, w = (rx.Var(n, R.Tensor(s, "float32")) for n, s in (("x", ("n", 8)), ("w", (8, 2))))
    assert EstimatedCost(bounds={"n": 4})(make(x, w)) == moved + flops / 8.0
    assert EstimatedCost(assumed_extent=4, flops_per_byte=1.0)(make(x, w)) == moved + flops


def test_one_pattern_twice_is_one_class():
    x = wildcard()
    zero = rewriter(is_op("relax.subtract")(x, x), lambda _, m: R.zeros_like(m[x]))

    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.add(y, x)
            c = R.subtract(a, b)
            d = R.nn.relu(c)
            R.output(d)
        return d

    assert bindings(zero(module(main)))[2] == "c = R.subtract(a, b)"
    # zeros_like(add(x, y)) is all that is left of the sums
    assert [line.split("(")[0].split("R.")[1] for line in rewritten(main, [swap, zero])] == [
        "add",
        "zeros_like",
        "nn.relu",
    ]


def test_what_is_shared_does_not_cost_more():
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            h = R.nn.relu(x)
            y = R.abs(h)
            R.output(h, y)
        return (h, y)

    costs = {"relax.nn.relu": 10, "relax.abs": 1, "relax.maximum": 5}
    other = rewriter(is_op("relax.abs")(is_op("relax.nn.relu")(p)), lambda _, m: R.maximum(m[p], R.const(0.0)))
    after = rewritten(main, [other], cost=lambda expr: costs[expr.op.name])
    assert after == ["h = R.nn.relu(x)", "y = R.abs(h)"]


def test_a_rejected_member_anywhere_in_the_class_rejects():
    relu, negative = is_op("relax.nn.relu"), is_op("relax.negative")
    flip = rewriter(negative(negative(p)), lambda _, m: m[p])
    later = rewriter(is_op("relax.ceil")(p), lambda _, m: R.abs(m[p]))
    clip = rewriter(is_op("relax.abs")(~relu(wildcard())), lambda _, m: R.const([9.0, 9.0]))

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            a = R.nn.relu(x)
            b = R.negative(a)
            c = R.negative(b)
            d = R.ceil(c)
            R.output(d)
        return d

    func = module(main)["main"].op
    assert "9.0" not in str(saturated(func, [flip, later, clip])[0].op)
    assert "9.0" in str(saturated(func, [later, clip])[0].op)
