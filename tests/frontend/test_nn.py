"""Models of modules: parameters, export, what the exported functions compute."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import NameLookupError, ShapeError, TiraxError
from tirax.frontend import nn
from tirax.ir.verification.verify import verify_module
from tirax.tvm_api import relax


def export(module, **inputs):
    mod, params = module.export_tvm({"forward": inputs})
    verify_module(mod.op)
    return mod, params


def run(mod, *args):
    vm = relax.VirtualMachine(relax.build(mod, target="llvm"), tvm.cpu())
    return vm["forward"](*(tvm.nd.array(a) for a in args))


class Block(nn.Module):
    def __init__(self):
        self.norm = nn.LayerNorm(8)
        self.layers = nn.ModuleList([nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8, bias=False)])
        self.heads = nn.ModuleDict({"a": nn.Linear(8, 2)})
        self.identity = nn.Identity()

    def forward(self, x):
        x = self.identity(x + self.layers(self.norm(x)))
        return self.heads["a"](x), x


def test_parameters_have_the_names_of_their_places():
    block = Block()
    expected = ["norm.weight", "norm.bias", "layers.0.weight", "layers.0.bias", "layers.2.weight", "heads.a.weight"]
    assert list(block.state_dict()) == [*expected, "heads.a.bias"]
    assert len(list(block.parameters())) == 7 and len(list(block.modules())) == 9
    block.to("float16")
    assert {p.dtype for p in block.parameters()} == {"float16"}


def test_a_model_computes_what_numpy_does():
    mod, params = export(Block(), x=nn.spec.Tensor(("n", 8), "float32"))
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 8), dtype=np.float32)
    values = {name: rng.standard_normal(p.shape, dtype=np.float32) for name, p in params}
    head, hidden = run(mod, x, *values.values())
    normed = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    normed = normed * values["norm.weight"] + values["norm.bias"]
    inner = np.maximum(normed @ values["layers.0.weight"].T + values["layers.0.bias"], 0)
    expected = x + inner @ values["layers.2.weight"].T
    np.testing.assert_allclose(np.asarray(hidden), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(
        np.asarray(head), expected @ values["heads.a.weight"].T + values["heads.a.bias"], rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize(
    ("layer", "reference"),
    [
        (nn.ReLU(), lambda x: np.maximum(x, 0)),
        (nn.SiLU(), lambda x: x / (1 + np.exp(-x))),
        (nn.Identity(), lambda x: x),
    ],
)
def test_activations(layer, reference):
    mod, _ = export(layer, x=nn.spec.Tensor((2, 3), "float32"))
    x = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_allclose(run(mod, x).numpy(), reference(x), rtol=1e-5, atol=1e-6)


def test_rms_norm():
    mod, _ = export(nn.RMSNorm(8, -1, bias=False), x=nn.spec.Tensor(("n", 8), "float32"))
    x, w = np.random.default_rng(0).standard_normal((2, 3, 8)).astype("float32")[0], np.full(8, 2, "float32")
    expected = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * 2
    np.testing.assert_allclose(run(mod, x, w).numpy(), expected, rtol=1e-5)


def test_embedding():
    table = np.arange(20, dtype="float32").reshape(5, 4)
    for indices in (np.array([1, 4], "int32"), np.array([[0, 1], [2, 3]], "int32")):
        mod, _ = export(nn.Embedding(5, 4), x=nn.spec.Tensor(indices.shape, "int32"))
        np.testing.assert_array_equal(run(mod, indices, table).numpy(), table[indices])


def test_operators_and_their_names():
    class Ops(nn.Module):
        def forward(self, x, n):
            a = nn.op.softmax(x.permute_dims(1, 0).reshape(2, -1), axis=-1)
            b, c = nn.op.split(a, 2, axis=1)
            d = nn.op.concat([b * 2.0, -c], dim=0, name="joined")
            return (d - 1.0).astype("float16") @ nn.op.reshape(d, (-1, 4)).astype("float16")

    mod, _ = export(Ops(), x=nn.spec.Tensor((4, 4), "float32"), n=int)
    text = mod.script()
    for name in ("permute_dims", "reshape", "softmax", "split", "split_0", "mul", "neg", "joined", "astype"):
        assert f"            {name}: " in text
    assert 'R.func_attr({"num_input": 2})' in text and 'n: R.Shape(["n' in text
    with pytest.raises(AttributeError, match="did you mean 'softmax'"):
        nn.op.sofmax


def test_how_parameters_are_passed():
    spec = {"forward": {"x": nn.spec.Tensor((2, 3), "float32"), "$": {"param_mode": "packed", "effect_mode": "none"}}}
    x = np.ones((2, 3), "float32")
    linear = nn.Linear(3, 4)
    mod, _ = linear.export_tvm(spec)
    assert [p.name_hint for p in mod["forward"].params] == ["x", "packed_params"]
    verify_module(mod.op)
    spec["forward"]["$"] = {"param_mode": "none"}
    with pytest.raises(TiraxError, match="weight has no contents"):
        linear.export_tvm(spec)
    linear.load_state_dict({"weight": np.ones((4, 3)), "bias": np.zeros(4)})
    mod, _ = linear.export_tvm(spec)
    np.testing.assert_array_equal(run(mod, x).numpy(), np.full((2, 4), 3))


def test_several_methods():
    class Two(nn.Module):
        def __init__(self):
            self.linear = nn.Linear(3, 3)

        def first(self, x):
            return self.linear(x)

        def second(self, x):
            return nn.op.relu(x)

    x = {"x": nn.spec.Tensor(("n", 3), "float32")}
    mod, _ = Two().export_tvm({"first": x, "second": x})
    assert mod.names == ["first", "second"]
    with pytest.raises(TiraxError, match="no method 'third'"):
        Two().export_tvm({"third": x})


def test_external_functions():
    class External(nn.Module):
        def forward(self, x):
            return nn.op.extern("env.double", [x], x)

    mod, _ = export(External(), x=nn.spec.Tensor((2,), "float32"))
    assert 'R.call_dps_packed("env.double", (x,)' in mod.script()


def test_what_is_refused():
    linear = nn.Linear(3, 4)
    with pytest.raises(NameLookupError, match="unknown parameter 'weigth'"):
        linear.load_state_dict({"weigth": np.ones((4, 3))})
    with pytest.raises(NameLookupError, match="bias"):
        linear.load_state_dict({"weight": np.ones((4, 3))})
    assert linear.load_state_dict({"weight": np.ones((4, 3))}, strict=False) == (["bias"], [])
    with pytest.raises(ShapeError, match="do not fit the parameter"):
        linear.weight.data = np.ones(3)
    with pytest.raises(TiraxError, match="has contents already"):
        linear.to("float16")
    with pytest.raises(TiraxError, match="emit into a function"):
        nn.op.relu(nn.Tensor.from_const(1.0))
    with pytest.raises(TiraxError, match="not the spec of an input"):
        linear.export_tvm({"forward": {"x": 3}})
    with pytest.raises(NameLookupError, match="param_mode"):
        linear.export_tvm({"forward": {"x": int, "$": {"param_mode": "pakced"}}})
    with pytest.raises(ShapeError):
        linear.export_tvm({"forward": {"x": nn.spec.Tensor((2, 5), "float32")}})
    assert linear.weight.shape == [4, 3]
