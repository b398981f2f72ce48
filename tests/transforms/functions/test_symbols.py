"""Names of functions inside and outside of the module, and struct info of parameters."""

import numpy as np
import pytest

from tirax.diagnostics import ShapeError, TiraxError
from tirax.interpreter import assert_same_meaning, interpret
from tirax.ir.functions.lookup import functions
from tirax.tvm_api import relax
from tirax.tvm_api.relax.transform import AttachGlobalSymbol, NormalizeGlobalVar, UpdateParamStructInfo
from tirax.tvm_api.script import from_source

PROGRAM = """
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def bar1(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                y[vi] = x[vi]

    @T.prim_func
    def f(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        T.func_attr({"global_symbol": "bar1"})
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                y[vi] = x[vi] + x[vi]

    @R.function(private=True)
    def bar(x: R.Tensor((4,), "float32")):
        y = R.call_tir(Module.bar1, (x,), R.Tensor((4,), "float32"))
        return y

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        R.func_attr({"global_symbol": "bar", "keep": 1})
        y = Module.bar(x)
        z = R.call_tir(Module.f, (y,), R.Tensor((4,), "float32"))
        w = R.call_dps_packed("f", (z,), R.Tensor((4,), "float32"))
        return w
"""


def test_normalize_global_var():
    before = from_source(PROGRAM, check_well_formed=False)
    after = NormalizeGlobalVar()(before)
    assert {n: f.private for n, f in functions(after.op).items()} == {
        "bar11": True, "bar1": False, "bar2": True, "bar": False,
    }  # fmt: skip
    text = after.script()
    assert "global_symbol" not in text
    assert '"keep": 1' in text
    for call in ("cls.bar2(x)", "R.call_tir(cls.bar11, (x,)", "R.call_tir(cls.bar1, (y,)", 'call_dps_packed("bar1"'):
        assert call in text
    x = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(interpret(after.op, "bar", [x]), interpret(before.op, "main", [x]))
    assert NormalizeGlobalVar()(after).script() == text


def test_two_of_one_name():
    twice = PROGRAM.replace('{"global_symbol": "bar1"}', '{"global_symbol": "bar"}')
    with pytest.raises(TiraxError, match=r"the same global symbol(.|\n)*note: 'bar' is wanted by @f and @main"):
        NormalizeGlobalVar()(from_source(twice, check_well_formed=False))


def test_attach_global_symbol():
    before = from_source(PROGRAM, check_well_formed=False)
    after = AttachGlobalSymbol()(before)
    assert {n: f.private for n, f in functions(after.op).items()} == dict.fromkeys(functions(before.op), False)
    assert "global_symbol" not in after.script()
    assert '"keep": 1' in after.script()
    assert_same_meaning(before.op, after.op)


def test_tensor_functions_get_the_prefix_of_a_system_library():
    before = from_source(PROGRAM, check_well_formed=False).with_attr("system_lib_prefix", "lib_")
    after = AttachGlobalSymbol()(before)
    prefixes = {n: "lib_" if f.name == "tir.func" else "" for n, f in functions(before.op).items()}
    assert list(functions(after.op)) == [prefix + n for n, prefix in prefixes.items()]
    assert_same_meaning(AttachGlobalSymbol()(from_source(PROGRAM, check_well_formed=False)).op, after.op)


SIZES = """
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, "k"), "float32"), w: R.Tensor(("k", "m"), "float32"), c: R.Tensor((), "bool")):
        k = T.int64()
        m = T.int64()
        with R.dataflow():
            t = R.matmul(x, w)
            s = (t, R.split(w, 2, axis=1))
            u = s[0]
            R.output(u)
        if c:
            r = R.exp(u)
        else:
            r = R.negative(u)
        @R.function
        def f(a: R.Tensor((2,), "float32")):
            b = R.sum(r)
            d = R.add(a, b)
            return d
        return r

    @R.function
    def other(x: R.Tensor(("n",), "float32")):
        y = R.exp(x)
        return y
"""


def test_update_param_struct_info():
    seen = []

    def update(var):
        seen.append(var.name_hint)
        return {"w": relax.TensorStructInfo((8, 6), "float32"), "x": relax.TensorStructInfo((2, 8), "float32")}.get(
            var.name_hint if var.struct_info.ndim == 2 else ""
        )

    before = from_source(SIZES)
    after = UpdateParamStructInfo(update)(before)
    assert seen == ["x", "w", "c", "x"]
    text = after["main"].script()
    assert "m" not in {word.strip(" =") for word in text.split()}
    for line in (
        'u: R.Tensor((2, 6), dtype="float32") = s[0]',
        'gv1: R.Tensor((2, 6), dtype="float32") = R.negative(u)',
        'r: R.Tensor((2, 6), dtype="float32") = gv1',
        'c: R.Tensor((), dtype="bool")) -> R.Tensor((2, 6), dtype="float32"):',
        "R.Tuple(R.Tensor((8, 3)",
    ):
        assert line in text
    assert after["other"].script() == before["other"].script()


def test_update_to_less_and_to_another_dtype():
    before = from_source(SIZES)
    after = UpdateParamStructInfo(
        lambda v: relax.TensorStructInfo(ndim=1, dtype="float16") if v.struct_info.ndim == 1 else None
    )(before)
    assert 'def other(x: R.Tensor(dtype="float16", ndim=1)) -> R.Tensor(dtype="float16", ndim=1):' in after.script()


def test_update_to_what_does_not_fit():
    wrong = UpdateParamStructInfo(lambda v: relax.TensorStructInfo((3, 3)) if v.name_hint == "w" else None)
    fixed = from_source(SIZES.replace('(2, "k")', "(2, 8)").replace('("k", "m")', '(8, "m")'))
    with pytest.raises(ShapeError, match=r"<string>:\d+(.|\n)*relax.matmul"):
        wrong(fixed)
