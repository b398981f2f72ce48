"""`tirax.compile` and `tirax.load`: kinds of models, calls, files, and mistakes."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper
from subtraction import SCRIPT, X, Y
from tiny_language_models import SPEAKING, byte_pair_metadata, write_tiny_folder, write_tiny_gguf

import tirax
from tirax import tvm_api as tvm
from tirax.api.sources import SOURCES
from tirax.api.structure import from_json, to_json
from tirax.diagnostics import NameLookupError, ShapeError
from tirax.driver.build import build
from tirax.driver.tracing.file import records
from tirax.llm import LanguageModel
from tirax.runtime.errors import ArgumentError, DamagedFileError
from tirax.script import parse_source


def module():
    return parse_source(SCRIPT, "model.py")


def onnx_model():
    nodes = [helper.make_node("Sub", ["x", "y"], ["z"])]
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 4]) for n in "xy"]
    output = helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", 4])
    return helper.make_model(
        helper.make_graph(nodes, "g", inputs, [output]), opset_imports=[helper.make_opsetid("", 17)]
    )


def write(path: Path, content: str | bytes) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


MODELS = {
    "IRModule": lambda folder: tvm.script.from_source(SCRIPT),
    "ModuleOp": lambda folder: module(),
    "function": lambda folder: tvm.script.from_source(SCRIPT)["main"],
    "executable": lambda folder: build(module()),
    "compiled": lambda folder: tirax.compile(module()),
    "ModelProto": lambda folder: onnx_model(),
    "path of ONNX": lambda folder: write(folder / "m.onnx", onnx_model().SerializeToString()),
    "pathlib": lambda folder: Path(write(folder / "m.onnx", onnx_model().SerializeToString())),
    "path of a script": lambda folder: write(folder / "m.py", SCRIPT),
    "path of MLIR": lambda folder: write(folder / "m.mlir", str(module())),
    "bytes of ONNX": lambda folder: onnx_model().SerializeToString(),
    "bytes of a script": lambda folder: SCRIPT.encode(),
    "bytes of MLIR": lambda folder: bytearray(str(module()).encode()),
}


@pytest.mark.parametrize("kind", MODELS)
def test_models_of_each_kind(kind, tmp_path):
    f = tirax.compile(MODELS[kind](tmp_path))
    np.testing.assert_array_equal(f(X, Y), X - Y)
    assert list(f.inputs) == ["x", "y"]


@pytest.fixture(scope="module")
def f():
    return tirax.compile(module())


def test_calls_by_position_and_by_keyword(f):
    for result in (f(X, Y), f(X, y=Y), f(y=Y, x=X)):
        np.testing.assert_array_equal(result, X - Y)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((X,), {}, "'y' is missing"),
        ((), {}, "'x' is missing; 'y' is missing"),
        ((X, Y, X), {}, "takes 2 arguments, not 3"),
        ((X, Y), {"y": Y}, "'y' is given twice"),
        ((X,), {"z": Y}, "has no parameter 'z'; 'y' is missing"),
    ],
)
def test_calls_that_do_not_fit_name_all_problems(f, args, kwargs, message):
    with pytest.raises(ArgumentError, match=message):
        f(*args, **kwargs)


def test_shapes_that_do_not_fit_are_refused(f):
    with pytest.raises(ShapeError, match="'y'"):
        f(X, Y[:2])


def test_results_are_of_the_kind_of_the_arguments(f):
    assert type(f(X, Y)) is np.ndarray
    nd = tvm.nd.array(X)
    assert type(f(nd, nd)) is tvm.nd.NDArray


def test_its_text_has_the_signature(f):
    assert repr(f) == "<tirax.Compiled main(x: float32[n, 4], y: float32[n, 4]) -> float32[n, 4]>"
    assert f.outputs == {"": "float32[n, 4]"}


def test_saved_pickled_and_copied_models_compute_the_same(f, tmp_path):
    f.save(tmp_path / "f.tirax")
    others = [tirax.load(tmp_path / "f.tirax"), tirax.compile(tmp_path / "f.tirax"), pickle.loads(pickle.dumps(f))]  # noqa: S301
    for g in (*others, copy.copy(f), copy.deepcopy(f)):
        np.testing.assert_array_equal(g(X, y=Y), X - Y)
        assert repr(g) == repr(f)


def test_executables_on_disk_are_loaded(tmp_path):
    build(module()).save(tmp_path / "ex.tirax")
    np.testing.assert_array_equal(tirax.load(tmp_path / "ex.tirax")(x=X, y=Y), X - Y)


def test_a_library_is_exported_and_loaded(f, tmp_path):
    f.export_library(tmp_path / "f.so")
    library = tirax.load(tmp_path / "f.so")
    np.testing.assert_array_equal(np.asarray(library["main"](X, Y)), X - Y)


def test_a_profile(f):
    assert "100" in str(f.profile(X, Y))


def test_another_function(tmp_path):
    text = SCRIPT.replace("def main", "def other") + SCRIPT[SCRIPT.index("    @R.function") :]
    assert tirax.compile(write(tmp_path / "two.py", text)).function == "main"
    assert tirax.compile(tmp_path / "two.py", function="other").function == "other"
    with pytest.raises(NameLookupError, match="unknown function 'othr'"):
        tirax.compile(tmp_path / "two.py", function="othr")


def test_shapes_of_an_onnx_model_and_params():
    f = tirax.compile(onnx_model(), input_shapes={"x": ["rows", 4], "y": ["rows", 4]})
    assert f.inputs["x"] == "float32[rows, 4]"
    bound = tirax.compile(module(), params={"y": Y})
    np.testing.assert_array_equal(bound(X), X - Y)


def test_a_page_of_every_level(f, tmp_path):
    f.explain(tmp_path / "f.html", X, y=Y)
    kinds = [r["t"] for r in records((tmp_path / "f.html").read_text())]
    assert {"source", "pass", "level", "schedule", "profile", "end"} <= {*kinds}
    f.explain(str(tmp_path / "g.html"))
    assert "profile" not in [r["t"] for r in records((tmp_path / "g.html").read_text())]


def test_jax(f, jax):
    x, y = map(jax.numpy.asarray, (X, Y))
    for z in (f(x, y), f(x, y=y), f(x, Y)):
        assert isinstance(z, jax.Array)
        np.testing.assert_array_equal(np.asarray(jax.jit(lambda a: a * 2)(z)), (X - Y) * 2)
    with pytest.raises(ArgumentError, match="jax.pure_callback"):
        jax.jit(f)(x, y)


@pytest.mark.parametrize("read", [tirax.load, tirax.compile])
def test_language_models(read, tmp_path):
    config = replace(SPEAKING, context_length=64)
    paths = [write_tiny_gguf(tmp_path / "m.gguf", config, byte_pair_metadata())]
    paths.append(write_tiny_folder(tmp_path / "folder", config))
    for path in (*paths, str(paths[0])):
        model = read(path)
        assert isinstance(model, LanguageModel) and model.config.context_length == 64


def test_a_malformed_signature_is_damage(f, tmp_path):
    f.executable.save(tmp_path / "f.tirax", {"signature": {"function": "main", "parameters": 3}})
    with pytest.raises(DamagedFileError, match="signature is malformed"):
        tirax.load(tmp_path / "f.tirax")


@pytest.mark.parametrize("data", ["leaf", {"constant": None}, {"kind": "dict", "keys": ["a"], "parts": ["leaf"]}])
def test_structures_are_data_of_json(data):
    assert to_json(from_json(data)) == data


def test_each_kind_of_model_has_a_name():
    assert len({s.name for s in SOURCES}) == len(SOURCES)


def test_importing_tirax_imports_nothing_large():
    code = "import sys, tirax; assert not {'numpy', 'xdsl', 'llvmlite'} & set(sys.modules); print(tirax.__version__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count(".") == 2
    assert {"compile", "load", "__version__"} <= set(dir(tirax))
    with pytest.raises(AttributeError, match="no attribute 'compil'"):
        tirax.compil  # noqa: B018
