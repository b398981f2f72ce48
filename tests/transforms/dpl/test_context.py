"""Constraints between patterns, matched in a dataflow block."""

import pytest

from tirax.diagnostics import TiraxError
from tirax.tvm_api.relax.dpl import PatternContext, PatternSeq, is_const, is_op, is_var, wildcard
from tirax.tvm_api.script import relax as R


@R.function(private=True)
def func(x: R.Tensor((4, 4), "float32"), y: R.Tensor((4, 4), "float32")):
    with R.dataflow():
        a = R.add(x, x)
        b = R.nn.relu(a)
        c = R.multiply(b, R.const(2.0))
        d = R.matmul(b, y)
        e = R.matmul(b, c)
        R.output(d, e)
    return (d, e)


DFB = func.body.blocks[0]


def op(name, *args):
    """A call that adds no constraints."""
    return is_op(f"relax.{name}")(*args, varg_default_wildcard=True, add_constraint=False)


def matched(build):
    """The variables of what `build()` returns, matched in the function."""
    with PatternContext() as ctx:
        parts = build()
    matched = ctx.match_dfb(DFB)
    return None if matched is None else [matched[p].name_hint for p in parts]


def test_used_by():
    def build():
        relu, mul = op("nn.relu"), op("multiply")
        relu ^ mul
        return relu, mul

    assert matched(build) == ["b", "c"]


@pytest.mark.parametrize(("index", "expected"), [(0, None), (1, ["c", "e"]), (-1, ["c", "e"]), (7, None)])
def test_used_as_an_argument(index, expected):
    def build():
        mul, matmul = op("multiply"), op("matmul")
        mul.used_by(matmul, index)
        return mul, matmul

    assert matched(build) == expected


def test_only_used_by():
    def only(first, second):
        def build():
            p, q = op(first), op(second)
            p >> q
            return p, q

        return build

    assert matched(only("add", "nn.relu")) == ["a", "b"]
    assert matched(only("multiply", "matmul")) == ["c", "e"]
    assert matched(only("nn.relu", "multiply")) is None  # two products use it, too


def test_no_edge_no_match():
    def build():
        add, mul = op("add"), op("multiply")
        add ^ mul
        return add, mul

    assert matched(build) is None


def test_sequences():
    def build():
        seq = op("add") ^ op("nn.relu") ^ op("multiply") ^ op("matmul")
        assert len(seq) == 4
        return [seq[i] for i in range(4)]

    assert matched(build) == ["a", "b", "c", "e"]

    def inputs():
        seq = PatternSeq([op("add"), op("nn.relu")], only_use=True)
        return seq.patterns

    assert matched(inputs) == ["a", "b"]


def test_fork_and_distinct_variables():
    def build():
        relu, one, two = op("nn.relu"), op("matmul"), op("matmul")
        relu.fork_to(one, two)
        return relu, one, two

    assert matched(build) == ["b", "d", "e"]

    def three():
        relu, products = op("nn.relu"), [op("matmul") for _ in range(3)]
        relu.fork_to(*products)
        return products

    assert matched(three) is None  # a variable stands for one pattern only


def test_calls_add_their_arguments_in_a_context():
    def build():
        shared, w, v = wildcard(), wildcard(), wildcard()
        one = is_op("relax.matmul")(shared, w)
        two = is_op("relax.matmul")(shared, v)
        return shared, w, v, one, two

    assert matched(build) == ["b", "y", "c", "d", "e"]


def test_constants_are_no_variables():
    def build():
        x = wildcard()
        return x, is_op("relax.multiply")(x, is_const())

    assert matched(build) == ["b", "c"]


def test_backtracking_over_candidates():
    def build():
        # The first matmul that relu reaches is d; only e has the product as its second argument.
        relu, product, matmul = op("nn.relu"), op("multiply"), op("matmul")
        relu ^ matmul
        product ^ matmul
        return relu, product, matmul

    assert matched(build) == ["b", "c", "e"]


def test_parameters_take_part():
    def build():
        y = is_var("y")
        return y, is_op("relax.matmul")(wildcard(), y)

    assert matched(build) == ["y", "d"]


def test_same_shape():
    @R.function(private=True)
    def shapes(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 8), "float32"), v: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.matmul(x, v)
            R.output(a, b)
        return (a, b)

    with PatternContext() as ctx:
        lhs, rhs = wildcard(), wildcard()
        out = is_op("relax.matmul")(lhs, rhs)
        lhs.same_shape_as(rhs)
    assert ctx.match_dfb(shapes.body.blocks[0])[out].name_hint == "b"
    with PatternContext() as ctx:
        lhs, rhs = wildcard(), wildcard()
        out = is_op("relax.matmul")(lhs, rhs)
        out.same_shape_as(rhs)
        rhs.has_shape([4, 8])
    assert ctx.match_dfb(shapes.body.blocks[0])[out].name_hint == "a"


def test_dup_of_a_sequence_has_constraints_of_its_own():
    @R.function(private=True)
    def twice(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.negative(a)
            c = R.exp(b)
            d = R.negative(c)
            R.output(d)
        return d

    with PatternContext() as ctx:
        one = op("exp") >> op("negative")
        two = one.dup()
        one ^ two
    matched = ctx.match_dfb(twice.body.blocks[0])
    assert [matched[p].name_hint for p in (*one.patterns, *two.patterns)] == ["a", "b", "c", "d"]


def test_contexts_nest():
    with PatternContext() as outer:
        add = op("add")
        relu = op("nn.relu")
        add ^ relu
        assert PatternContext.current() is outer
        with PatternContext(incremental=True) as inner:
            exp = op("exp")
            relu ^ exp
        with PatternContext() as fresh:
            pass
    assert outer.match_dfb(DFB)[relu].name_hint == "b"
    assert inner.match_dfb(DFB) is None
    assert fresh.match_dfb(DFB) is None
    with pytest.raises(TiraxError, match="there is no PatternContext here"):
        PatternContext.current()
    with pytest.raises(TiraxError, match="stands inside of another"):
        PatternContext(incremental=True)
