"""Local functions become functions of the module."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import UnsupportedError
from tirax.dialects import relax as rx
from tirax.interpreter import assert_same_meaning, interpret, random_inputs
from tirax.ir.functions.lookup import functions, ops_of_type
from tirax.tvm_api import relax
from tirax.tvm_api.relax.transform import LambdaLift
from tirax.tvm_api.script import from_source

HEAD = "from tvm.script import ir as I, relax as R, tir as T\n\n@I.ir_module\nclass Module:\n"
PROGRAMS = {
    "uses nothing": """
    @R.function
    def main(x: R.Tensor((4, 5), "float32"), y: R.Tensor((4, 5), "float32")):
        @R.function
        def inner(a: R.Tensor((4, 5), "float32"), b: R.Tensor((4, 5), "float32")) -> R.Tensor((4, 5), "float32"):
            s = R.add(a, b)
            return s
        z = inner(x, y)
        return z
""",
    "uses values and sizes": """
    @R.function
    def main(x: R.Tensor(("n", 3), "float32"), y: R.Tensor(("m", 3), "float32"), v: R.Tensor(("k",), "float32")):
        n = T.int64()
        m = T.int64()
        k = T.int64()
        @R.function
        def f(a: R.Tensor((n, 3), "float32")) -> R.Tensor((n, 3), "float32"):
            z = R.sum(R.zeros(R.shape([m, k]), "float32"))
            s = R.add(a, x)
            t = R.add(s, z)
            return t
        p = f(x)
        q = f(p)
        return q
""",
    "one in another": """
    @R.function
    def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")):
        @R.function
        def outer(c: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            @R.function
            def inner(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
                s = R.add(a, c)
                t = R.multiply(s, y)
                return t
            r = inner(x)
            return r
        u = outer(x)
        v = outer(y)
        w = R.add(u, v)
        return w
""",
    "calls itself": """
    @R.function
    def main(x: R.Tensor(("n",), "float32"), k: R.Tensor((), "bool")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        limit = R.astype(R.astype(k, "int32"), "float32")
        @R.function
        def f(i: R.Tensor((), "float32"), s: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            more = R.less_equal(i, limit)
            if more:
                t = R.add(s, x)
                r = f(R.add(i, R.const(1.0, "float32")), t)
            else:
                r = s
            return r
        y = f(R.const(0.0, "float32"), x)
        return y
""",
    "casts inside": """
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(ndim=1, dtype="float32")):
        n = T.int64()
        @R.function
        def f(a: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor(ndim=1, dtype="float32"):
            q = T.int64()
            b = R.match_cast(a, R.Tensor((q,), "float32"))
            c = R.add(R.ones(R.shape([q]), "float32"), b)
            return c
        z = f(y)
        w = f(x)
        return (z, w)
""",
}


def lifted(case):
    before = from_source(HEAD + PROGRAMS[case])
    return before, LambdaLift()(before)


@pytest.mark.parametrize("case", PROGRAMS)
def test_the_meaning_stays(case):
    before, after = lifted(case)
    assert not list(ops_of_type(after.op, rx.ClosureOp))
    assert_same_meaning(before.op, after.op)
    func = functions(before.op)["main"]
    inputs = random_inputs(func, {"n": 3, "m": 2, "k": 4})
    vm = relax.VirtualMachine(relax.build(after, target="llvm"), tvm.cpu())
    match, expected = vm["main"](*map(tvm.nd.array, inputs)), interpret(before.op, "main", inputs)
    for one, other in zip(*((v if isinstance(v, tuple) else (v,)) for v in (match, expected)), strict=True):
        np.testing.assert_allclose(np.asarray(one.numpy() if hasattr(one, "numpy") else one), other, rtol=1e-5)


def test_names_and_parameters():
    _, after = lifted("uses nothing")
    assert 'z: R.Tensor((4, 5), dtype="float32") = cls.main_inner(x, y)' in after.script()
    assert after["main_inner"].private
    _, after = lifted("uses values and sizes")
    assert [p.name_hint for p in after["main_f"].params] == ["a", "x", "shape_vars"]
    assert "cls.main_f(x, x, R.shape([m, k]))" in after.script()
    _, after = lifted("one in another")
    assert set(functions(after.op)) == {"main", "main_outer", "main_inner"}
    assert [p.name_hint for p in after["main_inner"].params] == ["a", "c", "y"]
    _, after = lifted("casts inside")
    assert [p.name_hint for p in after["main_f"].params] == ["a"]


def test_a_taken_name():
    text = PROGRAMS["uses nothing"] + PROGRAMS["uses nothing"].replace("def main(", "def main_inner(")
    after = LambdaLift()(from_source(HEAD + text))
    assert set(functions(after.op)) == {"main", "main_inner", "main_inner1", "main_inner_inner"}


VALUES = """
    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
        f = Module.outer(x)
        g = Module.plain()
        r = f(y)
        s = g(r)
        return s

    @R.function(private=True)
    def outer(c: R.Tensor((2,), "float32")):
        @R.function
        def inner(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            s = R.add(a, c)
            return s
        return inner

    @R.function(private=True)
    def plain() -> R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32")):
        @R.function
        def twice(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            s = R.add(a, a)
            return s
        return twice
"""


def test_functions_as_values():
    before = from_source(HEAD + VALUES)
    after = LambdaLift()(before)
    assert_same_meaning(before.op, after.op)
    assert after["outer"].script() == before["outer"].script()
    assert "cls.plain_twice" in after.script()
    assert len(list(ops_of_type(after.op, rx.ClosureOp))) == 1


CAPTURING = """
        @R.function
        def inner(q: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            return R.add(q, x)
"""
CALLS = {
    "outside of its block": CAPTURING + "        a = R.add(x, x)\n{choice}",
    "inside and outside": CAPTURING + "        a = inner(x)\n{choice}",
    "by other names": CAPTURING + "        g = inner\n        a = g(x)\n        h = g\n        a = h(a)\n{choice}",
    "by another local function": CAPTURING
    + """
        @R.function
        def outer(q: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            r = inner(q)
            return R.multiply(r, x)
        a = outer(x)
{choice}""",
    "with a value of its block": """
        y = R.add(x, x)
        @R.function
        def inner(q: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            return R.add(q, y)
        a = R.multiply(y, y)
{choice}""",
}
CHOICE = """
        if c:
            d = inner(a)
        else:
            d = a
        return d
"""
PASSES = {
    "none": [],
    "dataflow": [relax.transform.ConvertToDataflow()],
    "dataflow and lifted": [relax.transform.ConvertToDataflow(), LambdaLift()],
    "short dataflow": [relax.transform.ConvertToDataflow(min_size=1), relax.transform.CanonicalizeBindings()],
}


@pytest.mark.parametrize("case", CALLS)
def test_a_local_function_may_leave_its_dataflow_block(case):
    head = HEAD + '    @R.function\n    def main(c: R.Tensor((), "bool"), x: R.Tensor((3,), "float32")):\n'
    module = from_source(head + CALLS[case].format(choice=CHOICE))
    x = np.arange(3, dtype="float32")
    for passes in PASSES.values():
        changed = module
        for change in passes:
            changed = change(changed)
        run = relax.VirtualMachine(relax.build(changed, "llvm"), tvm.cpu())["main"]
        for c in (np.array(True), np.array(False)):
            want = interpret(module, "main", [c, x])
            np.testing.assert_array_equal(run(tvm.nd.array(c), tvm.nd.array(x)).numpy(), want)


def test_a_capturing_function_that_is_a_value_says_what_to_do():
    head = HEAD + '    @R.function\n    def main(x: R.Tensor((3,), "float32")):\n'
    module = from_source(head + CAPTURING + "        return inner\n")
    with pytest.raises(UnsupportedError, match="call the local function by its name"):
        relax.build(module, "llvm")
