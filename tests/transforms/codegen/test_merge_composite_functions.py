"""Composite functions of one code generator become one function for it."""

import tirax.tvm_api as tvm
from tirax.interpreter import assert_same_meaning
from tirax.tvm_api.relax.dpl import is_op, wildcard
from tirax.tvm_api.relax.transform import FuseOpsByPattern, MergeCompositeFunctions
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R

DENSE = is_op("relax.nn.relu")(is_op("relax.add")(is_op("relax.matmul")(wildcard(), wildcard()), wildcard()))
RELU = is_op("relax.nn.relu")(wildcard())


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32"), b: R.Tensor((4,), "float32")):
        with R.dataflow():
            h = R.matmul(x, w)
            s = R.add(h, R.const([1.0, 2.0, 3.0, 4.0], "float32"))
            r = R.nn.relu(s)
            k = R.exp(r)
            h2 = R.matmul(k, w)
            s2 = R.add(h2, b)
            r2 = R.nn.relu(s2)
            q = R.nn.relu(r2)
            o = R.multiply(q, s2)
            R.output(o)
        return o


def merged(mod, *patterns):
    """The module after both passes, its meaning checked."""
    after = MergeCompositeFunctions()(FuseOpsByPattern(patterns)(mod))
    assert_same_meaning(mod.op, after.op)
    return after


def codegens(mod) -> dict[str, str]:
    return {n: mod[n].attrs["Codegen"] for n in mod.names if "Codegen" in mod[n].attrs}


def test_text_and_meaning(golden):
    after = merged(Module, ("lib.dense_relu", DENSE), ("lib.relu", RELU))
    golden("transforms/merge_composite_functions.txt", after.script())


def test_other_code_generators_are_not_merged():
    after = merged(Module, ("one.dense_relu", DENSE), ("two.relu", RELU))
    assert sorted(codegens(after).values()) == ["one", "one", "two"]


def unary(*names):
    return [(f"lib.{n}", is_op(f"relax.{n}")(wildcard())) for n in names]


def test_what_comes_back_through_another_call_stays_separate():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.sin(a)
                c = R.add(a, b)
                R.output(c)
            return c

    add = ("lib.add", is_op("relax.add")(wildcard(), wildcard()))
    assert len(codegens(merged(Before, *unary("exp"), add))) == 2
    assert len(codegens(merged(Before, *unary("exp", "sin"), add))) == 1


def test_a_later_join_does_not_close_a_circle():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.abs(y)
                u = R.negative(a)
                v = R.negative(b)
                c = R.add(a, v)
                d = R.multiply(b, u)
                e = R.subtract(c, d)
                R.output(e)
            return e

    # c may join a, and d may join b, but not both: each of the two would need what the other one gives.
    binary = [(f"lib.{n}", is_op(f"relax.{n}")(wildcard(), wildcard())) for n in ("add", "multiply")]
    after = merged(Before, *unary("exp", "abs"), *binary)
    assert len(codegens(after)) == 3


def test_fields_of_tuples_stay_with_their_call():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32")):
            with R.dataflow():
                s = R.split(x, 2, axis=1)
                a = s[0]
                b = s[1]
                c = R.exp(a)
                d = R.add(c, b)
                R.output(d)
            return d

    patterns = [("lib.split", is_op("relax.split")(wildcard())), *unary("exp")]
    after = merged(Before, *patterns, ("lib.add", is_op("relax.add")(wildcard(), wildcard())))
    assert len(codegens(after)) == 1
    assert "split" in next(iter(codegens(after)))


def test_without_composite_functions_nothing_changes():
    tvm.ir.assert_structural_equal(MergeCompositeFunctions()(Module), Module)
