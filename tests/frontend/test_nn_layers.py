"""Layers, containers and how they are exported: their text, and what they compute, at sizes 0, 1 and 3."""

import sys
from collections import OrderedDict
from functools import cache
from importlib.machinery import ModuleSpec
from types import ModuleType

import numpy as np
import pytest
from strength import only_full, thinned
from xdsl.dialects.builtin import ModuleOp

import tirax.tvm_api as tvm
from tirax.diagnostics import DTypeError, NameLookupError, TiraxError, UnsupportedError
from tirax.frontend import nn
from tirax.frontend.nn import modules, op
from tirax.interpreter import interpret, random_inputs, symbolic_sizes
from tirax.ir.verification.verify import verify_module
from tirax.tvm_api import relax

SIZES = (0, 1, 3)


def T(*shape, dtype="float32"):
    return nn.spec.Tensor(shape, dtype)


X = {"x": T("n", 4)}


class Sequence(nn.Module):
    def __init__(self):
        self.layers = nn.ModuleList([nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2, bias=False)])
        self.heads = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.LayerNorm(2)})
        self.scales = nn.ParameterList([nn.Parameter((2,)), nn.Parameter((1,))])
        self.shifts = nn.ParameterDict({"c": nn.Parameter((2,))})

    def forward(self, x):
        x = self.heads["b"](self.heads["a"](self.layers(x)))
        return x * self.scales[0] + self.shifts["c"] * self.scales[1]


class Scaled(nn.Module):
    define_subroutine = True

    def __init__(self, by=2.0, width=4):
        self.by = by
        self.weight = nn.Parameter((width, width))

    def forward(self, x):
        return op.matmul(x, self.weight) * self.by


class Subroutines(nn.Module):
    """Two calls share a function; another attribute and another width have functions of their own."""

    def __init__(self):
        self.parts = nn.ModuleList([Scaled(), Scaled(), Scaled(by=3.0), Scaled(width=2)])

    def forward(self, x):
        for part in self.parts[0], self.parts[1], self.parts[2]:
            x = part(x)
        return self.parts[3](op.split(x, 2, axis=1)[0])


LAYERS = {
    "linear": (nn.Linear(4, 3), X),
    "linear_wide": (
        nn.Linear(4, 3, True, "float16", "float32"),
        {"x": T("n", 4, dtype="float16")},
    ),
    "linear_symbolic": (nn.Linear("k", "m"), {"x": T("n", "k")}),
    "embedding": (nn.Embedding("v", 4), {"x": T("n", 2, dtype="int32")}),
    "embedding_flat": (nn.Embedding(4, 3), {"x": T("n", dtype="int32")}),
    "layer_norm": (nn.LayerNorm(4), X),
    "layer_norm_plain": (nn.LayerNorm(4, eps=1e-3, elementwise_affine=False), X),
    "rms_norm": (nn.RMSNorm(4, -1, bias=False), X),
    "rms_norm_bias": (nn.RMSNorm(4, [-1], epsilon=1e-3), X),
    "group_norm": (nn.GroupNorm(2, 4), {"x": T("n", 4, 3, 3)}),
    "group_norm_plain": (nn.GroupNorm(2, 4, affine=False), {"x": T("n", 4, 3)}),
    "relu": (nn.ReLU(), X),
    "silu": (nn.SiLU(), X),
    "gelu": (nn.GELU(), X),
    "identity": (nn.Identity(), X),
    "conv1d": (nn.Conv1D(4, 6, 3, padding=1), {"x": T("n", 4, 8)}),
    "conv2d": (nn.Conv2D(4, 6, 3, stride=2, groups=2), {"x": T("n", 4, 8, 8)}),
    "conv2d_nhwc": (nn.Conv2D(4, 6, [3, 1], data_layout="NHWC"), {"x": T("n", 8, 8, 4)}),
    "conv3d": (nn.Conv3D(2, 3, [3, 3, 1], bias=False), {"x": T("n", 2, 5, 5, 2)}),
    "conv_transpose1d": (nn.ConvTranspose1D(4, 6, 3, stride=2), {"x": T("n", 4, 8)}),
    "timesteps": (nn.Timesteps(6), {"x": T("n")}),
    "timestep_embedding": (nn.TimestepEmbedding(4, 6, post_act_fn="silu"), {"sample": T("n", 4)}),
    "timestep_condition": (
        nn.TimestepEmbedding(4, 6, out_dim=3, cond_proj_dim=2),
        {"sample": T("n", 4), "condition": T("n", 2)},
    ),
    "attention": (nn.Attention(8, heads=2, dim_head=4), {"hidden_states": T(2, "n", 8)}),
    "attention_cross": (
        nn.Attention(8, 6, 2, 4, bias=True, norm_num_groups=2, scale_qk=False),
        {"hidden_states": T(1, 3, 8), "encoder_hidden_states": T(1, 5, 6)},
    ),
    "containers": (Sequence(), X),
    "subroutines": (Subroutines(), X),
    "packed": (nn.Linear(4, 3), X | {"$": {"param_mode": "packed", "effect_mode": "none"}}),
}


@cache
def exported(name):
    layer, inputs = LAYERS[name]
    mod, params = layer.export_tvm({"forward": inputs})
    verify_module(mod.op)
    return mod, params


def machine(mod):
    return relax.VirtualMachine(relax.build(mod, target="llvm"), tvm.cpu())


def test_texts(golden):
    texts = [f"## {name}\n{exported(name)[0].script().split('class Module:')[1].strip()}" for name in LAYERS]
    golden("nn/layers.txt", "\n\n".join(texts))


@thinned("name", [n for n in LAYERS if n != "attention_cross"], 3)
def test_native_code_agrees_with_the_interpreter(name):
    mod, _ = exported(name)
    forward = machine(mod)["forward"]
    for sizes in symbolic_sizes(mod["forward"].op, SIZES):
        args = random_inputs(mod["forward"].op, sizes)
        if name.startswith("embedding"):
            args[0] = np.arange(args[0].size, dtype="int32").reshape(args[0].shape) % max(1, args[1].shape[0])
            if args[1].shape[0] == 0:
                continue
        expected = interpret(mod.op, "forward", args)
        np.testing.assert_allclose(np.asarray(forward(*args)), expected, rtol=1e-3, atol=1e-3)


def values(module, seed=0):
    rng = np.random.default_rng(seed)
    return {n: rng.standard_normal(p.shape).astype(p.dtype) for n, p in module.named_parameters()}


@only_full
def test_numbers_of_layers():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 4)).astype("float32")
    w = values(Sequence())
    inner = np.maximum(x @ w["layers.0.weight"].T + w["layers.0.bias"], 0) @ w["layers.2.weight"].T
    a = inner @ w["heads.a.weight"].T + w["heads.a.bias"]
    b = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5) * w["heads.b.weight"] + w[
        "heads.b.bias"
    ]
    result = machine(exported("containers")[0])["forward"](x, *w.values())
    np.testing.assert_allclose(result, b * w["scales.0"] + w["shifts.c"] * w["scales.1"], rtol=1e-3, atol=1e-4)

    w = values(Subroutines())
    y = x @ w["parts.0.weight"] * 2 @ w["parts.1.weight"] * 2 @ w["parts.2.weight"] * 3
    result = machine(exported("subroutines")[0])["forward"](x, *w.values())
    np.testing.assert_allclose(result, y[:, :2] @ w["parts.3.weight"] * 2, rtol=1e-3, atol=1e-4)


def test_attention_over_other_states():
    layer, inputs = LAYERS["attention_cross"]
    w = values(layer)
    layer.load_state_dict(w)
    rng = np.random.default_rng(1)
    x, other = rng.standard_normal((1, 3, 8)).astype("float32"), rng.standard_normal((1, 5, 6)).astype("float32")
    grouped = x.reshape(3, 2, 4)
    mean, var = grouped.mean((0, 2), keepdims=True), grouped.var((0, 2), keepdims=True)
    h = ((grouped - mean) / np.sqrt(var + 1e-5)).reshape(3, 8) * w["group_norm.weight"] + w["group_norm.bias"]
    q, k, v = (
        (s @ w[f"to_{n}.weight"].T + w[f"to_{n}.bias"]).reshape(-1, 2, 4).transpose(1, 0, 2)
        for n, s in (("q", h), ("k", other[0]), ("v", other[0]))
    )
    scores = np.exp(q @ k.transpose(0, 2, 1))
    out = (scores / scores.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(3, 8)
    actual = layer.jit({"forward": inputs}, out_format="numpy")(x, other)
    np.testing.assert_allclose(actual[0], out @ w["to_out.0.weight"].T + w["to_out.0.bias"], rtol=1e-3, atol=1e-4)


# Parts of modules.


def test_names_of_parameters():
    module = Sequence()
    names = ["layers.0.weight", "layers.0.bias", "layers.2.weight", "heads.a.weight", "heads.a.bias"]
    names += ["heads.b.weight", "heads.b.bias", "scales.0", "scales.1", "shifts.c"]
    assert [n for n, _ in module.named_parameters()] == names == list(module.state_dict())
    assert [n for n, _ in module.named_parameters("m.")] == [f"m.{n}" for n in names]
    into = {}
    assert module.state_dict(prefix="m.", destination=into) is into and list(into) == [f"m.{n}" for n in names]
    assert [p.name_hint for p in exported("packed")[0]["forward"].params] == ["x", "packed_params"]


def test_containers():
    parts = nn.ModuleList([nn.ReLU()])
    parts.append(nn.SiLU())
    parts.extend([nn.GELU()])
    parts[0] = nn.Identity()
    assert [type(p).__name__ for p in parts] == ["Identity", "SiLU", "GELU"] and len(parts) == 3
    named = nn.ModuleDict(OrderedDict(a=nn.ReLU()))
    named["b"] = nn.SiLU()
    named.update({"c": nn.GELU()})
    assert list(named) == list(named.keys()) == ["a", "b", "c"] and "b" in named and len(list(named.values())) == 3
    assert isinstance(named.pop("b"), nn.SiLU) and named.get("b") is None
    del named["a"]
    assert [n for n, _ in named.items()] == ["c"]
    named.clear()
    assert len(named) == 0
    scales = nn.ParameterList()
    scales.append(nn.Parameter((2,)))
    scales.to("float16")
    assert scales[0].dtype == "float16" and len(nn.ParameterDict()) == 0


def test_dtypes():
    linear = nn.Linear(2, 3, out_dtype="float32")
    linear.to("float16")
    assert (linear.weight.dtype, linear.bias.dtype) == ("float16", "float32")
    nn.set_default_dtype("float64")
    try:
        assert nn.get_default_dtype() == "float64" == nn.Linear(2, 2).weight.dtype
        with pytest.raises(DTypeError):
            nn.set_default_dtype("float63")
    finally:
        nn.set_default_dtype("float32")
    parameter = nn.Parameter((2, "n"))
    parameter.data = [[1, 2, 3], [4, 5, 6]]
    assert parameter.data.dtype == np.float32 and parameter.shape[0] == 2
    parameter.data = None
    parameter.to("int8")
    assert parameter.dtype == "int8"


def test_replacing_parts():
    seen = []

    class Watch(nn.Mutator):
        def visit_module(self, name, node):
            seen.append(("module", name))
            return nn.Identity() if isinstance(node, nn.ReLU) else super().visit_module(name, node)

        def visit_param(self, name, node):
            seen.append(("param", name))
            return nn.Parameter(node.shape, "float16")

        def visit_modulelist(self, name, node):
            seen.append(("list", name))
            return super().visit_modulelist(name, node)

    module = Watch().visit_module("", Sequence())
    assert isinstance(module.layers[1], nn.Identity) and {p.dtype for p in module.parameters()} == {"float16"}
    assert ("module", "layers.1") in seen and ("param", "layers.0.weight") in seen and ("param", "shifts.c") in seen
    assert seen[:2] == [("module", ""), ("list", "layers")]

    class WithCache(nn.Module):
        def __init__(self):
            self.cache = nn.KVCache(2, [3])

    class Longer(nn.Mutator):
        def visit_effect(self, name, node):
            return nn.KVCache(8, node.unit_shape, node.dtype)

    assert Longer().visit("", WithCache()).cache.init_seq_len == 8


@only_full
def test_subroutines_are_shared_where_they_are_alike():
    mod, _ = exported("subroutines")
    assert sorted(mod.names) == ["forward", "scaled", "scaled1", "scaled2"]
    assert mod.script().count("cls.scaled(") == 2 and "sub_output" not in mod.script()

    class Outer(nn.Module):
        define_subroutine = True

        def __init__(self):
            self.inner = Scaled()
            self.shift = nn.Parameter((4,))

        def forward(self, x, by=None):
            return self.inner(x) + (self.shift if by is None else by)

    class Main(nn.Module):
        def __init__(self):
            self.outer = Outer()

        def forward(self, x):
            return self.outer(self.outer(x), by=x)

    main = Main()
    mod, _ = main.export_tvm({"forward": X})
    verify_module(mod.op)
    assert sorted(mod.names) == ["forward", "outer", "outer1", "scaled"]
    x, w = np.ones((2, 4), "float32"), values(main)
    first = x @ w["outer.inner.weight"] * 2 + w["outer.shift"]
    result = machine(mod)["forward"](x, *w.values())
    np.testing.assert_allclose(result, first @ w["outer.inner.weight"] * 2 + x, rtol=1e-4, atol=1e-5)
    assert main.outer.shift.shape == [4]
    np.testing.assert_array_equal(
        machine(Main().export_tvm({"forward": X}, debug=True)[0])["forward"](x, None, *w.values())[0], result
    )


def test_subroutines_receive_the_sizes_that_their_tensors_do_not_determine():
    class Rows(nn.Module):
        define_subroutine = True

        def forward(self, x, rows, options=(1,)):
            return op.reshape(x, [rows + 1, -1]) * float(options[0])

    class Main(nn.Module):
        def __init__(self):
            self.rows = Rows()

        def forward(self, x, k):
            twice = op.concat([x, x], dim=0)
            return self.rows(twice, k, options=(3,)), self.rows(twice, 1)

    mod, _ = Main().export_tvm({"forward": X | {"k": int}})
    verify_module(mod.op)
    assert "sizes: R.Shape([" in mod.script()
    forward = machine(mod)["forward"]
    for n in SIZES:
        x = np.arange(n * 4, dtype="float32").reshape(n, 4)
        twice = np.concatenate([x, x])
        first, second = forward(x, (3,))
        np.testing.assert_array_equal(first, twice.reshape(4, n * 2) * 3)
        np.testing.assert_array_equal(second, twice.reshape(2, n * 4))
    nested = type("Nested", (nn.Module,), {"forward": lambda self, x: Rows()(x, 2, options=([x],))})
    with pytest.raises(TiraxError, match="the argument options of a subroutine has tensors in it"):
        nested().export_tvm({"forward": X})


def test_a_subroutine_has_no_effects():
    class Prints(nn.Module):
        define_subroutine = True

        def forward(self, x):
            op.print_(x)
            return x

    with pytest.raises(TiraxError, match="needs the effect of input and output"):
        Main = type("Main", (nn.Module,), {"forward": lambda self, x: Prints()(x)})
        Main().export_tvm({"forward": X}, debug=True)

    class Cached(nn.Module):
        define_subroutine = True

        def __init__(self):
            self.cache = nn.KVCache(2, [4])

        def forward(self, x):
            self.cache.append(x)
            return x

    with pytest.raises(TiraxError, match="Cached has effects, and is a subroutine"):
        Cached().export_tvm({"forward": X})


# Specs.


def test_specs():
    class Several(nn.Module):
        def forward(self, x, pair, state, k, y=None):
            assert isinstance(pair, list) and isinstance(pair[1], tuple) and isinstance(state, nn.Object) and y is None
            return (x + pair[0]).reshape(k, 2), pair[1][0], state

    pair = nn.spec.Tuple("pair", [T("n", 4), (T(2),)])
    spec = {"state": nn.spec.Object(nn.Object), "k": "int", "pair": pair, "x": T("n", 4)}
    mod, _ = Several().export_tvm({"forward": spec})
    assert [p.name_hint for p in mod["forward"].params] == ["x", "pair", "state", "k"]
    verify_module(mod.op)
    x, mark = np.ones((1, 4), "float32"), object()
    y, z, state = machine(mod)["forward"](x, (x, (np.ones(2, "float32"),)), mark, (2,))
    assert y.shape == (2, 2) and z.shape == (2,) and state is mark
    raw = nn.spec.ModuleSpec.from_raw({"forward": spec}, Several())
    assert raw.method_names == ["forward"] and raw.method_specs[0].arg_names == ["x", "pair", "state", "k"]
    assert nn.spec.ModuleSpec.from_raw(raw, Several()) is raw
    assert Several().export_tvm(raw)[0].script() == mod.script()
    compiled = Several().jit({"forward": spec}, out_format="numpy")
    assert compiled.forward(x, [x, (np.ones(2, "float32"),)], mark, 2)[2] is mark


def test_specs_of_arguments():
    class Call(nn.Module):
        def forward(self, x, k):
            return x.reshape(k, 2)

    method = nn.spec.MethodSpec.from_torch([np.ones((2, 4), "float16"), 4], Call().forward)
    assert method.inputs == {"x": T(2, 4, dtype="float16"), "k": nn.spec.Int()}
    Call().export_tvm({"forward": method})
    with pytest.raises(TiraxError, match="takes fewer arguments"):
        nn.spec.MethodSpec.from_torch([1, 2, 3], Call().forward)
    with pytest.raises(TiraxError, match="not the spec of an input: k"):
        nn.spec.MethodSpec.from_torch([np.ones(2), 2.5], Call().forward)


def test_what_specs_refuse():
    linear = nn.Linear(4, 3)
    for spec, message in (
        ({"forward": {"y": T(2, 4)}}, "unknown argument of the method 'y'"),
        ({"forward": {}}, "says nothing of the argument 'x'"),
        ({"forward": {"x": 3}}, "not the spec of an input: x"),
        ({"forward": 3}, "not the spec of a method"),
        ({"forward": X | {"$": {"effect_mode": "some"}}}, "unknown effect_mode 'some'"),
        ({"forward": X | {"$": {"mode": "some"}}}, "unknown option 'mode'"),
        ({"backward": X}, "Linear has no method 'backward'"),
    ):
        with pytest.raises(TiraxError, match=message):
            linear.export_tvm(spec)
    with pytest.raises(TiraxError, match="not what a method returns"):
        type("Nothing", (nn.Module,), {"forward": lambda self, x: None})().export_tvm({"forward": X})
    with pytest.raises(UnsupportedError, match="the activation of a TimestepEmbedding is silu"):
        nn.TimestepEmbedding(2, 2, act_fn="relu")
    with pytest.raises(UnsupportedError, match="takes no condition"):
        spec = {"sample": T("n", 4), "condition": T("n", 2)}
        nn.TimestepEmbedding(4, 6).export_tvm({"forward": spec})
    assert modules.Attention is nn.Attention


# Compiled models, and functions from outside.


def test_compiled_models():
    linear = nn.Linear(4, 3)
    with pytest.raises(TiraxError, match="the parameter weight has no contents"):
        linear.jit({"forward": X}, out_format="numpy")
    w = values(linear)
    linear.load_state_dict(w)
    for mode in ("plain", "packed", "none"):
        compiled = linear.jit(
            {"forward": X | {"$": {"param_mode": mode}}}, out_format="numpy", pipeline="default_build"
        )
        x = np.ones((2, 4), "float32")
        result = compiled["forward"](x)
        assert type(result) is np.ndarray
        np.testing.assert_allclose(result, x @ w["weight"].T + w["bias"], rtol=1e-5)
        np.testing.assert_array_equal(compiled(tvm.nd.array(x)), result)
    wide = nn.Linear(1, 1, bias=False, dtype="float64")
    wide.load_state_dict({"weight": [[1 + 1e-12]]})
    spec = {"forward": {"x": T(1, dtype="float64"), "$": {"param_mode": "none"}}}
    assert wide.jit(spec, out_format="numpy")(np.ones(1))[0] == 1 + 1e-12
    with pytest.raises(TiraxError, match="forward takes 1 arguments"):
        compiled(x, x)
    with pytest.raises(NameLookupError, match="unknown method 'backward'"):
        compiled["backward"]
    with pytest.raises(AttributeError, match="no method 'backward'"):
        compiled.backward
    with pytest.raises(NameLookupError, match="unknown out_format 'jax'"):
        linear.jit({"forward": X}, out_format="jax")
    with pytest.raises(TiraxError, match="cuda"):
        linear.jit({"forward": X}, device="cuda", out_format="numpy")


def test_compiled_models_of_torch(monkeypatch):
    torch = ModuleType("torch")
    torch.__spec__ = ModuleSpec("torch", None)
    torch.from_dlpack = lambda array: ("of torch", np.from_dlpack(array))
    monkeypatch.setitem(sys.modules, "torch", torch)
    Input = type(
        "Given", (), {"__dlpack__": lambda self, **_: X.__dlpack__(), "__dlpack_device__": lambda self: (1, 0)}
    )
    X = np.full((2, 4), -1.0, "float32")
    kind, actual = nn.ReLU().jit({"forward": {"x": T("n", 4)}})(Input())
    assert kind == "of torch" and actual.shape == (2, 4) and not actual.any()


def test_torch_is_needed_for_its_format(monkeypatch):
    monkeypatch.setattr("tirax.frontend.nn.compiled.find_spec", lambda name: None)
    with pytest.raises(UnsupportedError, match='torch is not installed\n.*out_format="numpy"'):
        nn.ReLU().jit({"forward": X})


OBJECT = """
%tensor = type { ptr, i32, i32, i32, i8, i8, i16, ptr, ptr, i64 }

define i32 @scaled_by(ptr %x, i64 %by, ptr %y) {
entry:
  %shape_at = getelementptr %tensor, ptr %x, i32 0, i32 7
  %shape = load ptr, ptr %shape_at
  %n = load i64, ptr %shape
  %xs = load ptr, ptr %x
  %ys = load ptr, ptr %y
  %factor = sitofp i64 %by to float
  %bad = icmp slt i64 %by, 0
  br i1 %bad, label %failed, label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %from = getelementptr float, ptr %xs, i64 %i
  %value = load float, ptr %from
  %product = fmul float %value, %factor
  %to = getelementptr float, ptr %ys, i64 %i
  store float %product, ptr %to
  %next = add i64 %i, 1
  br label %head
done:
  ret i32 0
failed:
  ret i32 7
}
"""


@pytest.fixture
def object_file(tmp_path):
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(reloc="pic")
    path = tmp_path / "scaled.o"
    path.write_bytes(machine.emit_object(llvm.parse_assembly(OBJECT)))
    return path


def test_functions_of_an_object_file(object_file):
    def like(x, by):
        return nn.Tensor.placeholder(x.shape, x.dtype)

    module = nn.ObjectModule({"scaled_by": like}, object_file)

    class Calls(nn.Module):
        def forward(self, x, by=3):
            return module["scaled_by"](x, by) + 1.0

    spec = {"forward": {"x": T("n")}}
    mod, _, actual = Calls().export_tvm(spec, allow_extern=True)
    assert actual == [module] and 'R.call_dps_packed("scaled_by", (x, R.prim_value(3))' in mod.script()
    with pytest.raises(TiraxError, match="allow_extern=True"):
        Calls().export_tvm(spec)
    compiled = Calls().jit(spec, out_format="numpy")
    for n in SIZES:
        x = np.arange(n, dtype="float32")
        np.testing.assert_array_equal(compiled(x), x * 3 + 1)
    failing = type("Fails", (nn.Module,), {"forward": lambda self, x: module["scaled_by"](x, -1)})()
    with pytest.raises(TiraxError, match="scaled_by failed\n.*status 7"):
        failing.jit(spec, out_format="numpy")(np.ones(2, "float32"))
    with pytest.raises(NameLookupError, match="did you mean 'scaled_by'"):
        module["scaled_bye"]
    with pytest.raises(TiraxError, match="the symbol 'other' is not in the file"):
        nn.ObjectModule({"other": like}, object_file).load()


def test_functions_that_are_registered():
    double = nn.ExternModule({"test_nn.double": lambda x: nn.Tensor.placeholder(x.shape, "float32")})
    calls = type("Calls", (nn.Module,), {"forward": lambda self, x: double["test_nn.double"](x)})()
    with pytest.raises(NameLookupError, match=r"test_nn\.double"):
        double.load()
    tvm.register_func("test_nn.double", lambda x, out: np.copyto(out, np.asarray(x) * 2), override=True)
    x = np.ones(3, "float32")
    np.testing.assert_array_equal(calls.jit({"forward": {"x": T("n")}}, out_format="numpy")(x), x * 2)


def test_external_modules_that_are_refused(tmp_path):
    with pytest.raises(TiraxError, match=r"sources \(cpp\) are not compiled\n.*ObjectModule"):
        nn.SourceModule({}, "int f();", "cpp")
    with pytest.raises(TiraxError, match="there is no such object file"):
        nn.ObjectModule({}, tmp_path / "none.o")
    assert isinstance(exported("relu")[0].op, ModuleOp)
