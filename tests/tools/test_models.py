"""Models as programs in the shell: looked at, run, compiled, written as text with their weights beside it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from xdsl.dialects.builtin import f32

from tirax.dialects import relax
from tirax.dialects.relax.data import TensorData, TensorDataAttr
from tirax.runtime.safetensors import read_weights
from tirax.script import parse_mlir
from tirax.tools.models import store_weights

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
helper, FLOAT = onnx.helper, 1


@pytest.fixture
def model(tmp_path, monkeypatch):
    """relu(x @ fc.weight + fc.bias), n × 64 to n × 32."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    weights = {
        "fc.weight": rng.standard_normal((64, 32)).astype("float32"),
        "fc.bias": rng.standard_normal(32).astype("float32"),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "fc.weight"], ["m"], name="product"),
        helper.make_node("Add", ["m", "fc.bias"], ["a"], name="sum"),
        helper.make_node("Relu", ["a"], ["y"], name="rectify"),
    ]
    return saved(tmp_path / "model.onnx", nodes, weights), weights


def saved(path, nodes, weights, inputs=(("x", ("n", 64)),), outputs=(("y", ("n", 32)),)):
    infos = [[helper.make_tensor_value_info(n, FLOAT, s) for n, s in group] for group in (inputs, outputs)]
    tensors = [onnx.numpy_helper.from_array(w, n) for n, w in weights.items()]
    graph = helper.make_graph(nodes, "g", *infos, tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), path)
    return path


def expected(weights, x):
    return np.maximum(x @ weights["fc.weight"] + weights["fc.bias"], 0)


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_run(cli, model, tmp_path, rows):
    path, weights = model
    x = np.random.default_rng(rows).standard_normal((rows, 64)).astype("float32")
    np.save(tmp_path / "x.npy", x)
    result = cli("run", path, "--input", f"x={tmp_path / 'x.npy'}", "--output", tmp_path / "r.npz")
    assert result.code == 0, result.err
    np.testing.assert_allclose(np.load(tmp_path / "r.npz")["result0"], expected(weights, x), rtol=1e-5, atol=1e-5)


def test_import_writes_text_beside_weights_that_tools_read(cli, opt, model, tmp_path):
    path, weights = model
    text = tmp_path / "model.mlir"
    result = cli("import", path, "-o", text)
    assert (result.code, result.err) == (0, "")
    assert result.out == f"{text}: main; 1 weights in {tmp_path / 'model.safetensors'}\n"
    assert 'in "model.safetensors" : "fc.weight"' in text.read_text()
    np.testing.assert_array_equal(read_weights(tmp_path / "model.safetensors")["fc.weight"], weights["fc.weight"])
    lowered = opt(text, "-p", "legalize")
    assert lowered.code == 0 and "call_tir" in lowered.out
    assert cli("run", text, "--sizes", "n=2").out == cli("run", path, "--sizes", "n=2").out


def test_weights_stay_where_the_text_can_name_them(cli, opt, model, tmp_path):
    path, _ = model
    (tmp_path / "other").mkdir()
    refused = cli("import", path, "-o", tmp_path / "m.mlir", "--weights", tmp_path / "other" / "w.safetensors")
    assert refused.code == 2 and "must lie in one folder" in refused.err
    assert not (tmp_path / "m.mlir").exists() and not (tmp_path / "other" / "w.safetensors").exists()
    assert cli("import", path, "-o", tmp_path / "m.mlir", "--weights", tmp_path / "w.safetensors").code == 0
    assert opt(tmp_path / "m.mlir", "-p", "normalize", "-o", tmp_path / "n.mlir").code == 0
    assert 'in "w.safetensors"' in (tmp_path / "n.mlir").read_text()


def test_compile_gives_an_executable(cli, model, tmp_path):
    path, weights = model
    assert cli("compile", path, "-o", tmp_path / "m.tirax").code == 0
    np.save(tmp_path / "x.npy", np.ones((2, 64), "float32"))
    result = cli("run", tmp_path / "m.tirax", "--input", f"x={tmp_path / 'x.npy'}", "--output", tmp_path / "r.npz")
    assert result.code == 0, result.err
    actual = np.load(tmp_path / "r.npz")["result0"]
    np.testing.assert_allclose(actual, expected(weights, np.ones((2, 64), "float32")), rtol=1e-5, atol=1e-5)


def test_inspect_says_what_is_in_a_model(cli, model):
    result = cli("inspect", model[0])
    assert (result.code, result.err) == (0, "")
    assert re.search(r"^ONNX, IR version \d+, operators of ai.onnx 18", result.out)
    assert "input x: float32[n, 64]\noutput y: float32[n, 32]\nweights: 2, 8320 bytes\n" in result.out
    assert "100.0 % of 3 nodes" in result.out
    assert re.search(r"MatMul\W+1\W+converted\W+product", result.out)


def test_all_that_is_missing_is_reported_at_once(cli, tmp_path):
    nodes = [helper.make_node("Foo", ["x"], ["a"], domain="my"), helper.make_node("Bar", ["a"], ["y"], domain="my")]
    path = saved(tmp_path / "m.onnx", nodes, {})
    looked = cli("inspect", path)
    assert looked.code == 0 and "0.0 % of 2 nodes" in looked.out and "def convert_my_foo" not in looked.out
    stubs = cli("inspect", path, "--stubs").out
    assert "def convert_my_foo(node: Node, x: Value):" in stubs and "def convert_my_bar(" in stubs
    result = cli("run", path)
    assert result.code == 1
    assert "2 operators have no converter: my.Bar, my.Foo" in result.err


def test_shapes(cli, model):
    path, _ = model
    assert "Tensor((2, 64), float32)" in cli("run", path, "--shape", "x=2x64").out
    assert "Tensor((rows, 64), float32)" in cli("run", path, "--shape", "x=rows,64").out
    wrong = cli("run", path, "--shape", "x=2,-64")
    assert wrong.code == 2 and "--shape is not understood" in wrong.err
    unknown = cli("run", path, "--shape", "z=2x64")
    assert unknown.code == 1 and "no input 'z'" in unknown.err


def test_shapes_are_for_models(cli, tmp_path, mlp):
    (tmp_path / "m.mlir").write_text(mlp)
    result = cli("run", tmp_path / "m.mlir", "--shape", "x=2x64")
    assert result.code == 2 and "--shape is for models" in result.err


COMMANDS = pytest.mark.parametrize("command", ["run", "inspect", "import", "compile"])


@COMMANDS
def test_what_is_no_model_is_reported(cli, tmp_path, command):
    is_reported(cli, tmp_path, "model.onnx", command)


@COMMANDS
def test_what_is_no_exported_program_is_reported(cli, tmp_path, command, torch):
    is_reported(cli, tmp_path, "model.pt2", command)


def is_reported(cli, tmp_path, name, command):
    output = ["-o", tmp_path / "out.mlir"] if command in ("import", "compile") else []
    assert cli(command, tmp_path / name, *output).code == 1
    (tmp_path / name).write_bytes(b"\xff\x00 no model")
    result = cli(command, tmp_path / name, *output)
    assert result.code == 1 and result.err.startswith("error: ")
    assert not (tmp_path / "out.mlir").exists()


def test_constants_of_one_name_are_stored_by_two(tmp_path):
    kind = "!relax.tensor<[n], f32>"
    text = f"relax.func @main(%x: {kind}) -> {kind} {{ relax.return %x : {kind} }}"
    module = parse_mlir(text)
    body = next(iter(module.body.block.ops)).regions[0].block
    for value in (1, 2):
        data = TensorData(f32, (300,), np.full(300, value, "float32").tobytes(), "w")
        body.insert_op_before(relax.ConstantOp(TensorDataAttr(data)), body.first_op)
    assert store_weights(module, str(tmp_path / "w.safetensors")) == 2
    assert sorted(read_weights(tmp_path / "w.safetensors")) == ["w", "w.1"]


@pytest.fixture(scope="module")
def exported(tmp_path_factory, torch):
    """A linear layer and a relu, n × 64 to n × 32, as torch saves it; and what it computes."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU())
    sizes = ({0: torch.export.Dim("n", min=2, max=512)},)
    program = torch.export.export(model, (torch.ones(4, 64),), dynamic_shapes=sizes)
    path = tmp_path_factory.mktemp("exported") / "model.pt2"
    torch.export.save(program, path)
    return path, lambda x: model(torch.from_numpy(x)).detach().numpy()


def test_exported_programs(cli, exported, tmp_path):
    path, compute = exported
    looked = cli("inspect", path)
    assert looked.code == 0, looked.err
    assert looked.out.startswith("PyTorch, exported program model.pt2\ninput input: float32[")
    assert "weights: 2, 8320 bytes" in looked.out and "100.0 %" in looked.out
    x = np.random.default_rng(0).standard_normal((5, 64)).astype("float32")
    np.save(tmp_path / "x.npy", x)
    name = re.search(r"^input (\w+):", looked.out, re.MULTILINE)[1]
    for file in (path, tmp_path / "m.mlir"):
        result = cli("run", file, "--input", f"{name}={tmp_path / 'x.npy'}", "--output", tmp_path / "r.npz")
        assert result.code == 0, result.err
        np.testing.assert_allclose(np.load(tmp_path / "r.npz")["result0"], compute(x), rtol=1e-5, atol=1e-5)
        assert cli("import", path, "-o", tmp_path / "m.mlir").code == 0
    assert 'in "m.safetensors" : ' in (tmp_path / "m.mlir").read_text()
    shaped = cli("run", path, "--shape", "x=2,64")
    assert shaped.code == 2 and "what it was exported with" in shaped.err


def test_a_model_becomes_a_small_program(cli, model, tmp_path):
    small = tmp_path / "small.py"
    result = cli("reduce", model[0], "--command", "grep -q R.nn.relu {}", "-o", small)
    assert result.code == 0, result.err
    assert "R.nn.relu" in small.read_text() and "matmul" not in small.read_text()
