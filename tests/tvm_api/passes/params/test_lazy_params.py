"""Weights as one tuple, loaded on demand, results stored as they come: by text, by meaning, natively."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.interpreter import assert_same_meaning, interpret, random_inputs, symbolic_sizes
from tirax.interpreter.compare import same_values
from tirax.ir.functions.lookup import functions
from tirax.tvm_api import relax
from tirax.tvm_api.relax.transform import (
    BundleModelParams,
    LazyGetInput,
    LazySetOutput,
    LazyTransformParams,
    LiftTransformParams,
)
from tirax.tvm_api.script import from_source

PROGRAM = """
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, "m"), "float32"), u: R.Tensor((3,), "float32"), b: R.Tensor(("m",), "float32")):
        n = T.int64()
        m = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            z = R.zeros(R.shape([m]), "float32")
            t = R.add(w, w)
            e = R.exp(b)
            o = R.matmul(x, t)
            p = R.add(o, e)
            q = R.add(p, z)
            r = R.add(q, b)
            R.output(r, t)
        return (r, t, r)
"""  # noqa: E501

BRANCHES = """
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool"), k: R.Tensor((), "float32")):
        n = T.int64()
        if c:
            z = R.exp(x)
        else:
            s = R.add(x, x)
            z = R.ones(R.shape([n]), "float32")
        y = R.add(x, z)
        return (y, R.shape([n]), x, (y, x), R.const(1.0))

    @R.function(private=True)
    def other(x: R.Tensor((2,), "float32")):
        y = R.exp(x)
        return (y,)
"""


def lines(text):
    return [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def body(mod, name="main"):
    actual = lines(mod[name].script())
    return actual[next(i for i, line in enumerate(actual) if line.startswith("def")) :]


def all_inputs(module):
    for sizes in symbolic_sizes(functions(module.op)["main"]):
        yield random_inputs(functions(module.op)["main"], sizes, 1)


def test_bundle():
    before = from_source(PROGRAM)
    after = BundleModelParams()(before)
    text = "\n".join(body(after))
    assert [p.name_hint for p in after["main"].params] == ["x", "model_params"]
    for line in ("w: {} = model_params[0]", "w1: {} = model_params[0]", "b: {} = model_params[2]"):
        assert (
            line.format('R.Tensor((4, m), dtype="float32")' if "w" in line else 'R.Tensor((m,), dtype="float32")')
            in text
        )
    assert "model_params[1]" not in text
    for x, *weights in all_inputs(before):
        assert same_values(
            interpret(after.op, "main", [x, tuple(weights)]), interpret(before.op, "main", [x, *weights])
        )
    assert [p.name_hint for p in BundleModelParams("ws")(before)["main"].params] == ["x", "ws"]
    other = from_source(BRANCHES)
    assert BundleModelParams()(other).script() == other.script()


def test_lazy_get_text():
    after = LazyGetInput()(from_source(PROGRAM))
    assert body(after)[:12] == lines("""
def main(x: R.Tensor(("n", 4), dtype="float32"), fget_param: R.Callable((R.Prim("int64"), R.Object), R.Object, True)) -> R.Tuple(R.Tensor(dtype="float32", ndim=2), R.Tensor(dtype="float32", ndim=2), R.Tensor(dtype="float32", ndim=2)):
    n = T.int64()
    R.func_attr({"num_input": 2})
    m = T.int64()
    with R.dataflow():
        w_untyped: R.Object = fget_param(R.prim_value(0), R.str("w"))
        w: R.Tensor((4, m), dtype="float32") = R.match_cast(w_untyped, R.Tensor((4, m), dtype="float32"))
        z: R.Tensor((m,), dtype="float32") = R.zeros(R.shape([m]), dtype="float32")
        t: R.Tensor((4, m), dtype="float32") = R.add(w, w)
        b_untyped: R.Object = fget_param(R.prim_value(2), R.str("b"))
        b: R.Tensor((m,), dtype="float32") = R.match_cast(b_untyped, R.Tensor((m,), dtype="float32"))
        e: R.Tensor((m,), dtype="float32") = R.exp(b)
""")  # noqa: E501


def run_lazily(module, inputs, weights, getter=True, setter=True):
    """What a function gives that asks for `weights` and hands its results over; and what it asked for."""
    requests, arguments = [], {}

    def fget_param(index, name):
        requests.append((int(index), name))
        return weights[int(index)]

    def fset_output(index, value):
        arguments[int(index)] = value
        return ()

    result = interpret(
        module.op, "main", [*inputs, *([fget_param] if getter else []), *([fset_output] if setter else [])]
    )
    return (tuple(arguments[i] for i in range(len(arguments))) if setter else result), requests


def test_lazy_get_meaning():
    before = from_source(PROGRAM)
    after = LazyGetInput()(before)
    for x, *weights in all_inputs(before):
        actual, requests = run_lazily(after, [x], weights, setter=False)
        assert same_values(actual, interpret(before.op, "main", [x, *weights]))
        assert requests == [(0, "w"), (2, "b")]


def test_lazy_in_branches():
    before = from_source(BRANCHES)
    after = LazySetOutput()(LazyGetInput()(before))
    assert after["other"].script() == before["other"].script()
    for x, _, k in all_inputs(before):
        for c in (np.array(True), np.array(False)):
            result, requests = run_lazily(after, [], [x, c, k])
            assert same_values(result, interpret(before.op, "main", [x, c, k]))
            assert requests == [(1, "c"), (0, "x"), (0, "x")]


def test_lazy_set_text():
    after = LazySetOutput()(from_source(PROGRAM))
    actual = body(after)
    assert 'fset_output: R.Callable((R.Prim("int64"), R.Object), R.Tuple, False), w' in actual[0]
    assert actual[3:] == lines("""
    R.func_attr({"num_input": 2})
    z: R.Tensor((m,), dtype="float32") = R.zeros(R.shape([m]), dtype="float32")
    t: R.Tensor((4, m), dtype="float32") = R.add(w, w)
    fset_output(R.prim_value(1), t)
    e: R.Tensor((m,), dtype="float32") = R.exp(b)
    o: R.Tensor((n, m), dtype="float32") = R.matmul(x, t, out_dtype="void")
    p: R.Tensor((n, m), dtype="float32") = R.add(o, e)
    q: R.Tensor((n, m), dtype="float32") = R.add(p, z)
    r: R.Tensor((n, m), dtype="float32") = R.add(q, b)
    fset_output(R.prim_value(0), r)
    fset_output(R.prim_value(2), r)
    return R.tuple()
""")
    assert not after["main"].is_pure


@pytest.mark.parametrize("build", [False, True], ids=["interpreted", "native"])
def test_lazy_both(build):
    before = from_source(PROGRAM)
    after = LazySetOutput()(LazyGetInput()(before))
    for x, *weights in all_inputs(before):
        expected = interpret(before.op, "main", [x, *weights])
        if not build:
            assert same_values(run_lazily(after, [x], weights)[0], expected)
            continue
        vm = relax.VirtualMachine(relax.build(after, target="llvm"), tvm.cpu())
        inputs = {}

        def fget_param(index, _name, values=weights):
            return tvm.nd.array(values[index])

        def fset_output(index, value, actual=inputs):
            actual[index] = value.numpy()
            return ()  # what R.Tuple() is; the runtime takes no None for it

        vm["main"](tvm.nd.array(x), fget_param, fset_output)
        assert same_values(tuple(inputs[i] for i in range(3)), expected)


def lazy_transform(module, name, weights, **packed):
    stored = {}

    def get_item(*args):
        return weights[int(args[-1])]

    def set_item(*args):
        stored[int(args[-2])] = args[-1]

    return interpret(module.op, name, list(packed), packed={"get_item": get_item, "set_item": set_item}), stored


def test_lazy_transform_text():
    after = LazyTransformParams()(LiftTransformParams()(from_source(PROGRAM)))
    assert body(after, "main_transform_params") == lines("""
def main_transform_params() -> R.Tuple:
    R.func_attr({"num_input": 0})
    m = T.int64()
    lv: R.Object = R.call_packed("get_item", R.prim_value(0), sinfo_args=(R.Object,))
    gv: R.Tensor((4, m), dtype="float32") = R.match_cast(lv, R.Tensor((4, m), dtype="float32"))
    w: R.Tensor((4, m), dtype="float32") = gv
    lv1: R.Object = R.call_packed("get_item", R.prim_value(0), sinfo_args=(R.Object,))
    gv1: R.Tensor((4, m), dtype="float32") = R.match_cast(lv1, R.Tensor((4, m), dtype="float32"))
    w1: R.Tensor((4, m), dtype="float32") = gv1
    t: R.Tensor((4, m), dtype="float32") = R.add(w, w1)
    R.vm.kill_object(w)
    R.vm.kill_object(w1)
    _2: R.Object = R.call_packed("set_item", R.prim_value(1), t, sinfo_args=(R.Object,))
    lv2: R.Object = R.call_packed("get_item", R.prim_value(2), sinfo_args=(R.Object,))
    gv2: R.Tensor((m,), dtype="float32") = R.match_cast(lv2, R.Tensor((m,), dtype="float32"))
    b: R.Tensor((m,), dtype="float32") = gv2
    e: R.Tensor((m,), dtype="float32") = R.exp(b)
    R.vm.kill_object(b)
    _4: R.Object = R.call_packed("set_item", R.prim_value(2), e, sinfo_args=(R.Object,))
    lv3: R.Object = R.call_packed("get_item", R.prim_value(2), sinfo_args=(R.Object,))
    gv3: R.Tensor((m,), dtype="float32") = R.match_cast(lv3, R.Tensor((m,), dtype="float32"))
    b1: R.Tensor((m,), dtype="float32") = gv3
    _5: R.Object = R.call_packed("set_item", R.prim_value(0), b1, sinfo_args=(R.Object,))
    R.vm.kill_object(b1)
    output_tuple: R.Tuple = R.tuple()
    return output_tuple
""")
    assert "pure=False" in after["main_transform_params"].script()


def test_lazy_transform_meaning():
    before = LiftTransformParams()(from_source(PROGRAM))
    after = LazyTransformParams()(before)
    assert_same_meaning(before.op, after.op, functions=["main"])
    only_get = LazyTransformParams(fset_item=None)(before)
    assert "kill_object" not in only_get.script()
    for _, *weights in all_inputs(from_source(PROGRAM)):
        expected = interpret(before.op, "main_transform_params", [tuple(weights)])
        _, stored = lazy_transform(after, "main_transform_params", weights)
        assert same_values(tuple(stored[i] for i in range(len(stored))), expected)
        actual, stored = lazy_transform(only_get, "main_transform_params", weights)
        assert same_values(actual, expected)
        assert not stored


def test_lazy_transform_native():
    before = LiftTransformParams()(from_source(PROGRAM))
    after = LazyTransformParams("tests.params.get", "tests.params.set")(before)
    weights = random_inputs(functions(from_source(PROGRAM).op)["main"], {"n": 2, "m": 5})[1:]
    stored = {}
    tvm.register_func("tests.params.get", lambda i: tvm.nd.array(weights[i]), override=True)
    tvm.register_func("tests.params.set", lambda i, v: stored.update({i: v.numpy()}), override=True)
    relax.VirtualMachine(relax.build(after, target="llvm"), tvm.cpu())["main_transform_params"]()
    expected = interpret(before.op, "main_transform_params", [tuple(weights)])
    assert same_values(tuple(stored[i] for i in range(3)), expected)


def test_lazy_transform_of_what_is_no_tensor():
    before = from_source("""
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def transform_params(p: R.Tuple(R.Tensor((4,), "float32"), R.Shape(["k"]), R.Tensor(("k",), "float32"))):
        k = T.int64()
        v = p[2]
        w = p[0]
        z = R.zeros(R.shape([k]), "float32")
        y = R.add(v, z)
        return (w, y)
""")
    loader = relax.Var("loader", relax.ObjectStructInfo())
    after = LazyTransformParams(
        extra_get_item_params=[loader], extra_set_item_params=[relax.Var("to", relax.ObjectStructInfo())]
    )(before)
    assert [p.name_hint for p in after["transform_params"].params] == ["loader", "to", "symbolic_var_holder"]
    assert 'R.call_packed("get_item", loader, R.prim_value(2)' in after.script()
    assert 'R.call_packed("set_item", to, R.prim_value(1), y' in after.script()
    assert LazyTransformParams()(before)["transform_params"].params[0].struct_info.values is not None


def test_errors():
    with pytest.raises(TiraxError, match="only storing lazily is not supported"):
        LazyTransformParams(fget_item=None)
    with pytest.raises(TiraxError, match="an extra parameter is a variable"):
        LazyTransformParams(extra_get_item_params=["x"])(LiftTransformParams()(from_source(PROGRAM)))
