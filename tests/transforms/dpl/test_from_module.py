"""Rewriters written as two functions."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError, UnsupportedError
from tirax.interpreter import assert_same_meaning
from tirax.tvm_api.script import ir as I  # noqa: E741
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T


def same_meaning(before, after):
    after.op.verify()
    assert_same_meaning(*(tvm.IRModule({"main": f}).op for f in (before, after)))


@R.rewriter
class BroadcastBias:
    @R.function
    def pattern(x: R.Tensor(("M", "N"), "float32"), y: R.Tensor(("N",), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.nn.relu(a)
            R.output(b)
        return b

    @R.function
    def replacement(x: R.Tensor(("M", "N"), "float32"), y: R.Tensor(("N",), "float32")):
        M = T.int64()
        N = T.int64()
        with R.dataflow():
            row = R.reshape(y, R.shape([1, N]))
            sum = R.add(x, R.broadcast_to(row, R.shape([M, N])))
            b = R.nn.relu(sum)
            R.output(b)
        return b


@R.function
def biased(x: R.Tensor(("n", 16), "float32"), y: R.Tensor((16,), "float32"), z: R.Tensor(("n", 1), "float32")):
    with R.dataflow():
        a = R.add(x, y)
        out = R.nn.relu(a)
        q = R.add(x, z)
        other = R.nn.relu(q)
        R.output(out, other)
    return (out, other)


def test_symbolic_variables_stand_for_extents():
    after = BroadcastBias(biased)
    text = after.script()
    assert "row: R.Tensor((1, 16)" in text
    assert "R.broadcast_to(row, R.shape([n, 16]))" in text
    assert 'out: R.Tensor((n, 16), dtype="float32") = R.nn.relu(sum)' in text
    assert 'q: R.Tensor((n, 16), dtype="float32") = R.add(x, z)' in text  # (n, 1) is no (N,)
    same_meaning(biased, after)


def test_one_variable_is_one_extent():
    @R.rewriter
    class SquareToExp:
        @R.function
        def pattern(x: R.Tensor(("n", "n"), "float32")):
            return R.nn.relu(x)

        @R.function
        def replacement(x: R.Tensor(("n", "n"), "float32")):
            return R.exp(x)

    @R.function
    def before(x: R.Tensor((4, 4), "float32"), y: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            a = R.nn.relu(x)
            b = R.nn.relu(y)
            R.output(a, b)
        return (a, b)

    text = SquareToExp(before).script()
    assert 'a: R.Tensor((4, 4), dtype="float32") = R.exp(x)' in text
    assert "R.nn.relu(y)" in text


def test_attributes_must_agree():
    @R.rewriter
    class Softmax:
        @R.function
        def pattern(x: R.Tensor):
            return R.nn.softmax(x, axis=0)

        @R.function
        def replacement(x: R.Tensor):
            return R.nn.log_softmax(x, axis=0)

    @R.function
    def before(x: R.Tensor((4, 4), "float32")):
        a = R.nn.softmax(x, axis=0)
        b = R.nn.softmax(a, axis=1)
        return b

    text = Softmax(before).script()
    assert "R.nn.log_softmax(x, axis=0)" in text
    assert "R.nn.softmax(gv, axis=1)" in text


def test_constants_and_packed_calls():
    @R.rewriter
    class Gelu:
        @R.function
        def pattern(x: R.Tensor(("n",), "float32")):
            return R.multiply(x, R.const(2.0))

        @R.function
        def replacement(x: R.Tensor(("n",), "float32")):
            n = T.int64()
            r = R.call_dps_packed("env.twice", (x,), out_sinfo=R.Tensor((n,), "float32"))
            return r

    @R.function
    def before(x: R.Tensor((7,), "float32")):
        a = R.multiply(x, R.const(2.0))
        b = R.multiply(a, R.const(3.0))
        return b

    text = Gelu(before).script()
    assert 'r = R.call_dps_packed("env.twice", (x,), out_sinfo=R.Tensor((7,), dtype="float32"))' in text
    assert "R.multiply(r, R.const(3.0" in text


def test_two_results_are_two_bindings():
    @R.rewriter
    class Both:
        @R.function
        def pattern(a: R.Tensor((16,), "float32"), b: R.Tensor((16,), "float32")):
            return (R.maximum(a, b), R.minimum(a, b))

        @R.function
        def replacement(a: R.Tensor((16,), "float32"), b: R.Tensor((16,), "float32")):
            less = R.less(a, b)
            return (R.where(less, b, a), R.where(less, a, b))

    @R.function
    def before(x: R.Tensor((16,), "float32"), y: R.Tensor((16,), "float32")):
        with R.dataflow():
            s = R.maximum(x, y)
            d = R.minimum(x, y)
            p = R.subtract(s, d)
            R.output(p)
        return p

    after = Both(before)
    text = after.script()
    assert text.count("R.less") == 1
    assert 'gv: R.Tensor((16,), dtype="float32") = R.where(less, y, x)' in text
    assert 'gv1: R.Tensor((16,), dtype="float32") = R.where(less, x, y)' in text
    same_meaning(before, after)


def test_names_of_the_replacement_are_kept_in_each_branch():
    @R.rewriter
    class Relu:
        @R.function
        def pattern(x: R.Tensor(("n",), "float32")):
            return R.nn.relu(x)

        @R.function
        def replacement(x: R.Tensor(("n",), "float32")):
            zero = R.zeros_like(x)
            clipped = R.maximum(x, zero)
            return clipped

    @R.function
    def before(x: R.Tensor(("n",), "float32"), cond: R.Prim("bool")):
        if cond:
            y = R.nn.relu(x)
            z = R.negative(y)
        else:
            a = R.nn.relu(x)
            b = R.nn.relu(R.negative(a))
            z = R.add(a, b)
        return z

    after = Relu(before)
    text = after.script()
    names = [line.split(":")[0].strip() for line in text.splitlines() if "R.maximum" in line]
    assert names == ["clipped", "clipped", "clipped_1"]
    assert text.count("zero: ") == 2 and "zero_1: " in text
    same_meaning(before, after)


@R.rewriter
class Fused:
    @R.function
    def pattern(a: R.Tensor((16,), "float32"), b: R.Tensor((16,), "float32")):
        return (R.maximum(a, b), R.negative(a))

    @R.function
    def replacement(a: R.Tensor((16,), "float32"), b: R.Tensor((16,), "float32")):
        return R.split(R.concat((R.where(R.less(a, b), b, a), R.multiply(a, R.const(-1.0)))), 2)


def _fused_order(before):
    after = Fused(before)
    same_meaning(before, after)
    return [line.split(":")[0].strip() for line in after.script().splitlines() if " = " in line]


def test_fields_of_a_new_tuple_stand_where_the_bindings_were():
    @R.function
    def before(x: R.Tensor((16,), "float32"), y: R.Tensor((16,), "float32")):
        less = R.negative(x)
        between = R.exp(y)
        most = R.maximum(x, y)
        return (less, between, most)

    order = _fused_order(before)
    assert [n for n in order if not n.startswith(("gv", "lv"))] == ["less", "between", "most"]


def test_fields_of_what_needs_a_later_value_stand_together():
    @R.function
    def before(x: R.Tensor((16,), "float32"), y: R.Tensor((16,), "float32")):
        less = R.negative(x)
        between = R.exp(y)
        most = R.maximum(x, between)
        return (less, between, most)

    order = _fused_order(before)
    assert [n for n in order if not n.startswith(("gv", "lv"))] == ["between", "less", "most"]


def test_modules_and_composition():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4, 8), "float32"), b: R.Tensor((8,), "float32")) -> R.Tensor((4, 8), "float32"):
            with R.dataflow():
                a = R.add(x, b)
                r = R.nn.relu(a)
                R.output(r)
            return r

    after = (BroadcastBias | BroadcastBias)(Module)
    assert "R.broadcast_to" in after.script()
    assert_same_meaning(Module.op, after.op)


def test_what_is_no_rewriter():
    with pytest.raises(TiraxError, match="a rewriter is a module with the function 'replacement'"):

        @R.rewriter
        class NoReplacement:
            @R.function
            def pattern(x: R.Tensor):
                return R.exp(x)

    with pytest.raises(TiraxError, match="must have the same signature"):

        @R.rewriter
        class OtherParameters:
            @R.function
            def pattern(x: R.Tensor):
                return R.exp(x)

            @R.function
            def replacement(x: R.Tensor((4,), "float32")):
                return R.exp(x)

    with pytest.raises(UnsupportedError, match="relax.if may not stand in a rewriter"):

        @R.rewriter
        class Branch:
            @R.function
            def pattern(x: R.Tensor((), "bool")):
                if x:
                    y = R.const(1.0)
                else:
                    y = R.const(2.0)
                return y

            @R.function
            def replacement(x: R.Tensor((), "bool")):
                return R.const(1.0)


@R.rewriter
class DoubleByCall:
    @R.function
    def pattern(x: R.Tensor((16,), "float32")):
        return x + x

    @R.function
    def replacement(x: R.Tensor((16,), "float32")):
        return DoubleByCall.twice(x)

    @R.function(private=True)
    def twice(x: R.Tensor((16,), "float32")) -> R.Tensor((16,), "float32"):
        return x * R.const(2.0, "float32")

    @R.function(private=True)
    def unused(x: R.Tensor((16,), "float32")) -> R.Tensor((16,), "float32"):
        return x


@R.rewriter
class SquareByKernel:
    @R.function
    def pattern(x: R.Tensor((16,), "float32")):
        return x * x

    @R.function
    def replacement(x: R.Tensor((16,), "float32")):
        return R.call_tir(SquareByKernel.twice, [x], out_sinfo=R.Tensor((16,), "float32"))

    @T.prim_func(private=True)
    def twice(x: T.Buffer((16,), "float32"), y: T.Buffer((16,), "float32")):
        for i in range(16):
            y[i] = x[i] * x[i]


@I.ir_module
class DoubledAndSquared:
    @R.function
    def main(x: R.Tensor((16,), "float32")):
        y = x + x
        z = y * y
        return z


def test_private_functions_of_a_rewriter_come_into_the_module():
    """Under free names, and only those that are called: two rewriters may call theirs alike."""
    after = (DoubleByCall | SquareByKernel)(DoubledAndSquared)
    assert set(after.names) == {"main", "twice", "twice_1"}
    assert set(DoubleByCall(DoubledAndSquared).names) == {"main", "twice"}
    after.op.verify()
    assert_same_meaning(DoubledAndSquared.op, after.op)
    with pytest.raises(UnsupportedError, match="rewrite a module"):
        DoubleByCall(DoubledAndSquared["main"])


def test_functions_that_make_no_rewriter():
    """Python's kinds of errors are those of TVM."""
    with pytest.raises(KeyError, match="the function 'pattern'"):

        @R.rewriter
        class NoPattern:
            @R.function
            def replacement():
                return R.tuple()

    with pytest.raises(TypeError, match="the pattern of a rewriter is a Relax function"):

        @R.rewriter
        class Kernel:
            @T.prim_func
            def pattern():
                T.evaluate(0)

            @R.function
            def replacement():
                return R.tuple()

    with pytest.raises(ValueError, match="is publicly exposed: helper"):

        @R.rewriter
        class Public:
            @R.function
            def pattern(x: R.Tensor):
                return R.exp(x)

            @R.function
            def replacement(x: R.Tensor):
                return R.exp(x)

            @R.function
            def helper(x: R.Tensor):
                return x
