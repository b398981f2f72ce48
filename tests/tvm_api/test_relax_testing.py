"""`tvm.relax.testing`: layers, packed functions, passes for tests."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import ShapeError, TiraxError
from tirax.tvm_api import relax, topi
from tirax.tvm_api.relax.analysis import well_formed
from tirax.tvm_api.relax.testing import nn, transform, vm


def build_model():
    bb = relax.BlockBuilder()
    with bb.function("main"):
        model = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2, bias=False), nn.LogSoftmax())
        data = nn.Placeholder(("n", 8), name="data")
        with bb.dataflow():
            out = bb.emit_output(model(data))
        bb.emit_func_output(out, [data, *model.parameters()])
    return bb.get(), model


def test_a_model_of_layers():
    mod, model = build_model()
    assert [p.name_hint for p in model.parameters()] == ["linear_weight", "linear_bias", "linear_weight1"]
    assert [p.name_hint for p in mod["main"].params] == ["data", "linear_weight", "linear_bias", "linear_weight1"]
    assert well_formed(mod)
    params = nn.init_params(mod)
    assert [p.shape for p in params] == [(8, 4), (4,), (4, 2)]
    x = np.random.default_rng(0).random((3, 8)).astype("float32")
    result = relax.VirtualMachine(relax.build(mod))["main"](tvm.nd.array(x), *params).numpy()
    w, b, v = (p.numpy() for p in params)
    logits = np.maximum(x @ w + b, 0) @ v
    expected = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    tvm.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_tensor_expressions_are_emitted():
    bb = relax.BlockBuilder()
    with bb.function("main"):
        x = nn.Placeholder((4,), name="x")
        y = nn.emit_te(topi.add, x, x)
        bb.emit_func_output(nn.emit(y * y, "z"), x)
    assert "add" in bb.get().names and "z: R.Tensor((4,)" in bb.get().script()


class Doubled(nn.Module):
    define_subroutine = True

    def forward(self, value):
        return value + value


class Scaled(nn.Module):
    define_subroutine = True

    def __init__(self):
        self.scale = nn.Parameter((3,), name="scale")
        self.doubled = Doubled()

    def forward(self, value, other):
        return self.doubled(value * self.scale) - other


def test_layers_as_functions():
    bb = relax.BlockBuilder()
    first, second = Scaled(), Scaled()
    x = nn.Placeholder((tvm.tir.Var("n", "int64"), 3), name="x")
    with bb.function("main", [x, *first.parameters(), *second.parameters()]):
        bb.emit_func_output(nn.emit(second(first(x, x), other=x)))
    mod = bb.get()
    assert sorted(mod.names) == ["doubled", "doubled1", "main", "scaled", "scaled1"]
    assert [p.name_hint for p in mod["scaled1"].params] == ["value", "other", "scale"]
    assert mod["scaled"].private and well_formed(mod)
    vm = relax.VirtualMachine(relax.build(mod))
    a, b = (np.random.default_rng(i).random(3).astype("float32") for i in (1, 2))
    for n in (0, 1, 4):
        x = np.random.default_rng(n).random((n, 3)).astype("float32")
        tvm.testing.assert_allclose(vm["main"](x, a, b).numpy(), (x * a * 2 - x) * b * 2 - x, rtol=1e-5, atol=1e-6)


def test_layers_as_functions_take_values():
    bb = relax.BlockBuilder()
    x = nn.Placeholder((4,), name="x")
    with bb.function("main", [x]):
        with pytest.raises(TiraxError, match="argument value of a subroutine is no value"):
            Doubled()(3)
        bb.emit_func_output(x)


def test_what_layers_refuse():
    with pytest.raises(TiraxError, match="no function to build in"):
        nn.emit(relax.const(1.0))
    with pytest.raises(ShapeError, match="shape of a parameter is known"):
        nn.Parameter(("n",))
    with pytest.raises(TiraxError, match="defines no forward"):
        nn.Module()(relax.const(1.0))
    x = relax.Var("x", relax.TensorStructInfo(("n",), "float32"))
    with pytest.raises(ShapeError, match="no parameter has a shape"):
        nn.init_params(tvm.IRModule({"main": relax.Function([x], x)}))


def test_packed_functions():
    source = """
@R.function(pure=False)
def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 4), "float32"):
    a: R.Tensor((2, 2), "float32") = R.call_packed("test.vm.add", x, x, sinfo_args=R.Tensor((2, 2), "float32"))
    b: R.Tensor((2, 2), "float32") = R.call_packed("test.vm.mul", a, x, sinfo_args=R.Tensor((2, 2), "float32"))
    c = R.call_dps_packed("test.vm.identity", (b,), out_sinfo=R.Tensor((2, 2), "float32"))
    d = R.call_dps_packed("test.vm.tile", (c,), out_sinfo=R.Tensor((2, 4), "float32"))
    return d
"""
    x = np.arange(4, dtype="float32").reshape(2, 2)
    mod = tvm.IRModule({"main": tvm.script.from_source(source)})
    result = relax.VirtualMachine(relax.build(mod))["main"](tvm.nd.array(x))
    tvm.testing.assert_allclose(result.numpy(), np.tile(2 * x * x, (1, 2)))


def test_packed_functions_by_name():
    x = tvm.nd.array(np.array([0, 2], "int64"))
    assert vm.move(x) is x and vm.check_if_defined(x) and not vm.check_if_defined(None) and vm.add_scalar(1, 2) == 3
    assert tvm.get_global_func("test.vm.equal_zero")(x).numpy().tolist() == [True, False]
    subtracted = tvm.get_global_func("test.vm.subtract_one")(x).numpy()
    assert subtracted.tolist() == [-1, 1] and subtracted.dtype == "int64"


def test_saved_functions():
    mod, _ = build_model()
    machine = relax.VirtualMachine(relax.build(mod))
    inputs = [tvm.nd.array(np.ones((3, 8), "float32")), *nn.init_params(mod)]
    tvm.testing.assert_allclose(vm.check_saved_func(machine, "main", *inputs).numpy(), machine["main"](*inputs).numpy())


def test_a_mutator_that_changes_nothing():
    mod, _ = build_model()
    assert transform.ApplyEmptyCppMutator()(mod).script() == mod.script()


def test_layers_are_names_of_the_module_around_them():
    assert tvm.relax.testing.Linear is tvm.relax.testing.nn.Linear
    assert tvm.relax.testing.emit_te is tvm.relax.testing.nn.emit_te
