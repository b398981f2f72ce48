"""The mistakes of a first hour: each is a diagnostic that says what to do.

A row has what is done, and texts of the message. Those with models of PyTorch are in test_first_hour_torch.py.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from subtraction import SCRIPT, X, Y

import tirax
from tirax import tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.driver.build import build
from tirax.runtime import load_module
from tirax.script import parse_source
from tirax.tools.tirax_cli import main


def module() -> Any:
    return parse_source(SCRIPT, "model.py")


def file(name: str, content: bytes = b"?") -> str:
    Path(name).write_bytes(content)
    return name


def folder(name: str, **files: str) -> str:
    Path(name).mkdir()
    for file_name, text in files.items():
        (Path(name) / file_name.replace("_", ".")).write_text(text)
    return name


class InferenceSession:
    """A stand-in for that of ONNX Runtime."""


InferenceSession.__module__ = "onnxruntime.capi"


def stand_in(package: str, name: str) -> Any:
    """An object whose class has that name, in that package."""
    cls = type(name, (), {})
    cls.__module__ = package
    return cls()


class Series:
    """What knows `__array__` but no DLPack, as columns of pandas do."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return X


KINDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a number": (lambda f: tirax.compile(3), "expected: an IRModule"),
    "None": (lambda f: tirax.compile(None), "may lack its return"),
    "an array": (lambda f: tirax.compile(X), "the model comes first"),
    "weights": (lambda f: tirax.compile({"w": X}), "model.load_state_dict(weights)"),
    "a class": (lambda f: tirax.compile(dict), "an object of the class: dict(…)"),
    "a function": (lambda f: tirax.compile(lambda x: x), "whose forward calls the function"),
    "several models": (lambda f: tirax.compile([module(), module()]), "one model at a time"),
    "a model and its inputs": (lambda f: tirax.compile((module(), X)), "tirax.compile(model, inputs)"),
    "a module of Python": (lambda f: tirax.compile(json), "not the module of Python"),
    "an open file": (lambda f: tirax.compile(io.BytesIO(b"?")), "tirax.compile(file.read())"),
    "an open file of text": (lambda f: tirax.compile(open(file("m.py"))), "tirax.compile(file.name)"),  # noqa: SIM115
    "no bytes": (lambda f: tirax.compile(b""), "there are no bytes"),
    **{
        f"{package}.{name}": (lambda f, p=package, n=name: tirax.compile(stand_in(p, n)), text)
        for package, name, text in [
            ("xgboost.core", "Booster", "model.load_model(path)"),
            ("lightgbm.basic", "Booster", "onnxmltools.convert_lightgbm(booster"),
            ("catboost.core", "CatBoost", "format='onnx'"),
            ("keras.src.models.model", "Model", "model.export('model.onnx'"),
            ("tensorflow.python.eager.polymorphic_function", "Function", "tf2onnx.convert.from_function"),
            ("pandas.core.frame", "DataFrame", "tirax.compile(model, rows)"),
            ("openvino", "Model", "the .onnx file"),
            ("diffusers.pipelines.pipeline_utils", "DiffusionPipeline", "pipeline.unet"),
            ("llama_cpp.llama", "Llama", "tirax.load('model.gguf')"),
            ("tvm.ir.module", "IRModule", "mod.script().encode()"),
        ]
    },
    "a session of ONNX Runtime": (lambda f: tirax.compile(InferenceSession()), "the path of its model"),
    "a path to load": (lambda f: tirax.load(3), "expected: the path of a file"),
    "a model to build": (lambda f: build("model.onnx"), "tirax.compile("),
}
"""Objects that are not models."""

PATHS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a missing file": (lambda f: tirax.compile("no.onnx"), "the current folder is"),
    "a misspelt file": (lambda f: [file("model.onnx"), tirax.compile("modle.onnx")], "did you mean 'model.onnx'?"),
    "a missing file to load": (lambda f: tirax.load("no.tirax"), "there is no such file"),
    "a missing module": (lambda f: load_module("no.tirax"), "no.tirax"),
    "a name on a hub": (lambda f: tirax.load("HuggingFaceTB/SmolLM2-135M"), "snapshot_download("),
    "the home folder": (lambda f: tirax.load("~/model.gguf"), "os.path.expanduser"),
    "text for a path": (lambda f: tirax.compile(SCRIPT), "tirax.compile(text.encode())"),
    "weights of PyTorch": (lambda f: tirax.compile(file("m.pth")), "torch.export.save("),
    "weights in safetensors": (lambda f: tirax.compile(file("m.safetensors")), "the folder of a language model"),
    "a model of Keras": (lambda f: tirax.compile(file("m.keras")), "model.export('model.onnx'"),
    "an empty folder": (lambda f: tirax.compile(folder("empty")), "config.json and *.safetensors"),
    "another extension": (lambda f: tirax.compile(file("m.txt")), "expected: .onnx"),
    "no extension": (lambda f: tirax.compile(file("m")), "found: no extension"),
    "a damaged ONNX file": (lambda f: tirax.compile(file("m.onnx")), "ONNX"),
    "damaged bytes": (lambda f: tirax.compile(b"\xff\xfe"), "ONNX"),
    "a pointer of Git LFS": (lambda f: tirax.load(file("m.gguf", b"version https://git-lfs")), "git lfs pull"),
    "a page for a file": (lambda f: tirax.compile(file("m.onnx", b"<!DOCTYPE html><html>")), "a page in place of"),
    **{
        f"an empty {suffix}": (lambda f, s=suffix: tirax.compile(file(f"m{s}", b"")), f"'m{suffix}' is empty")
        for suffix in (".onnx", ".pt2", ".py", ".mlir", ".mlirbc", ".gguf", ".so", ".tirax")
    },
    **{
        f"a {suffix} file": (lambda f, s=suffix: tirax.compile(file(f"m{s}")), text)
        for suffix, text in [
            (".json", "model.load_model(path)"), (".ubj", "model.load_model(path)"),
            (".txt", "lightgbm.Booster(model_file=path)"), (".cbm", "format='onnx'"), (".pmml", "the estimator"),
            (".engine", "the .onnx file"), (".xml", "the .onnx file"), (".pdmodel", "paddle2onnx"),
            (".msgpack", "model.apply"), (".onnx.data", "whose weights it holds"), (".tar.gz", "unpack it"),
        ]
    },
    **{
        f"a folder with {name}": (lambda f, n=name: tirax.compile(folder("it", **{n.replace(".", "_"): ""})), text)
        for name, text in [
            ("m.gguf", "tirax.load('it/m.gguf')"), ("m.onnx", "tirax.compile('it/m.onnx')"),
            ("m.safetensors", "config.json of the model"), ("m.bin", "model.save_pretrained(folder)"),
        ]
    },
    "an address": (lambda f: tirax.compile("https://example.com/model.onnx"), "download it"),
    "a damaged executable": (lambda f: tirax.load(file("m.tirax")), "m.tirax is not an executable"),
    "a model to load": (lambda f: tirax.load(file("m.onnx")), "tirax.compile('m.onnx')"),
    "a script that is none": (lambda f: tirax.compile(file("m.py", b"def")), "m.py:1"),
    "an unknown kind of model": (
        lambda f: tirax.load(folder("llm", config_json=json.dumps({"model_type": "resnet"}))), "resnet"
    ),
    "shards that are not there": (
        lambda f: tirax.load(
            folder(
                "llm", config_json=json.dumps({"model_type": "llama"}),
                model_safetensors_index_json=json.dumps({"weight_map": {"a": "model-1.safetensors"}}),
            )
        ),
        "download the folder again",
    ),
    "a folder that is not there": (lambda f: f.save("no/m.tirax"), "'no'"),
    "a library in one": (lambda f: f.export_library("no/m.so"), "'no'"),
}  # fmt: skip
"""Files that are missing, damaged or of another kind."""

OPTIONS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a misspelt keyword": (lambda f: tirax.compile(module(), dynamic_shape={}), "did you mean 'dynamic_shapes'"),
    "another's keyword": (lambda f: tirax.compile(module(), opt_level=3), "no keyword 'opt_level'"),
    "a GPU": (lambda f: tirax.compile(module(), target="cuda"), "tirax generates code for CPUs only"),
    "an unknown CPU": (lambda f: tirax.compile(module(), target="llvm -mcpu=zen99"), "did you mean 'znver"),
    "an unknown feature": (lambda f: tirax.compile(module(), target="llvm -mattr=+avx513"), "did you mean 'avx512f'"),
    "a pipeline": (lambda f: tirax.compile(module(), pipeline="default-gpu"), "did you mean 'default-cpu'?"),
    "a pass": (lambda f: tirax.compile(module(), pipeline=["legalise-ops"]), "did you mean 'legalize-ops'"),
    "a function of the model": (lambda f: tirax.compile(module(), function="mian"), "did you mean 'main'?"),
    "params": (lambda f: tirax.compile(module(), params={"z": X}), "'z'"),
    "explain of a file": (
        lambda f: [f.save("m.tirax"), tirax.load("m.tirax").explain("m.html")], "tirax explain"
    ),
}  # fmt: skip
"""Options that `tirax.compile` does not know."""

CALLS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "an argument too few": (lambda f: f(X), "'y' is missing"),
    "an argument too many": (lambda f: f(X, Y, X), "takes 2 arguments, not 3"),
    "another name": (lambda f: f(X, z=Y), "has no parameter 'z'"),
    "another shape": (lambda f: f(X, Y[:2]), "expected: n = 3 (by argument 0 'x', dimension 0)"),
    "another rank": (lambda f: f(X[0], Y), "expected: 2, as in Tensor((n, 4), float32)"),
    "float64": (lambda f: f(X.astype("float64"), Y), "convert it: x.astype('float32')"),
    "a list": (lambda f: f(X.tolist(), Y), "make an array of it"),
    "None for an array": (lambda f: f(None, Y), "expected: Tensor((n, 4), float32)"),
    "what numpy can read": (lambda f: f(Series(), Y), "numpy.asarray(x)"),
    "a masked array": (lambda f: f(np.ma.array(X), Y), "x.filled(0)"),
}
"""Arguments of a compiled model that do not fit."""

COMMANDS: dict[str, tuple[str, str]] = {
    "no command": ("runn model.py", "did you mean 'run'?"),
    "an option": ("run model.py --size n=2", "did you mean '--sizes'"),
    "sizes without names": ("run model.py --sizes 2", "expected: sizes by name: n=4,m=8"),
    "another size": ("run model.py --sizes m=2", "known: n"),
    "another input": ("run model.py --input z=random", "known: x, y"),
    "a missing model": ("run no.onnx", "no.onnx"),
    "weights to run": ("run weights.pth", "torch.export.save("),
    "a folder to run": ("run folder", "tirax chat folder"),
    "a language model to run": ("run model.gguf", "tirax chat model.gguf"),
    "a picture for an array": ("run model.py --input x=photo.jpg", "a .npy file, or one of random"),
    "no output": ("explain model.py", "-o/--output"),
    "a library in no folder": ("build model.py -o no/model.so", "there is no such folder"),
    "a pass that is not there": ("run model.py -p legalise", "did you mean 'legalize' or 'legalize-ops'?"),
    "a GPU": ("run model.py --target cuda", "tirax generates code for CPUs only"),
    "a program to chat with": ("chat model.py", "expected: b'GGUF'"),
    "an unknown peer": ("bench model.onnx --against onxruntime", "did you mean 'onnxruntime'?"),
    "a peer for other files": ("bench model.onnx --against torch", "runtimes that read it: onnxruntime, openvino"),
}
"""Command lines."""


def rows(*tables: dict[str, Any]) -> Any:
    params = [pytest.param(row, id=name) for table in tables for name, row in table.items()]
    return pytest.mark.parametrize("row", params)


def assert_says_what_to_do(error: BaseException, text: str) -> None:
    assert isinstance(error, TiraxError)
    assert text in str(error)
    assert error.hint or error.expected or error.location or error.notes or isinstance(error, OSError)


def test_there_are_many():
    assert sum(map(len, (KINDS, PATHS, OPTIONS, CALLS, COMMANDS))) >= 100


@pytest.fixture(scope="module")
def f():
    return tirax.compile(module())


@rows(KINDS, PATHS, OPTIONS)
def test_mistakes_in_python(row, f, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((TiraxError, OSError)) as raised:
        row[0](f)
    assert row[1] in str(raised.value)


@rows(CALLS)
def test_mistakes_in_calls(row, f):
    with pytest.raises(TiraxError) as raised:
        row[0](f)
    assert_says_what_to_do(raised.value, row[1])


@rows(COMMANDS)
def test_mistakes_in_a_shell(row, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(SCRIPT)
    for name in ("weights.pth", "model.onnx", "photo.jpg"):
        file(name)
    file("model.gguf", b"GGUF")
    folder("folder")
    assert main(row[0].split()) in (1, 2)
    out, err = capfd.readouterr()
    assert row[1] in err
    assert "internal error" not in err and "Traceback" not in err and not out.startswith("usage")


@pytest.mark.parametrize(
    ("package", "extra", "use"),
    [
        ("onnx", "onnx", lambda: tirax.compile(file("m.onnx"))),
        ("torch", "torch", lambda: tirax.compile(file("m.pt2"))),
        ("onnx", "onnx", lambda: tvm.relax.frontend.onnx.from_onnx(file("m.onnx"))),
    ],
)
def test_missing_packages_are_named_with_their_extra(package, extra, use, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    with pytest.raises(TiraxError) as raised:
        use()
    assert raised.value.hint == f"pip install 'tirax[{extra}]'"


@pytest.mark.parametrize("name", ["build", "relax", "compil", "chat"])
def test_names_that_are_elsewhere(name):
    with pytest.raises(AttributeError, match="it is|did you mean 'compile'"):
        getattr(tirax, name)
