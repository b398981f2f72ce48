"""Files that were compiled before: what is loaded without the compiler, and what is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save_model
from subtraction import SCRIPT, X, Y

import tirax
from tirax.api.building import compiled
from tirax.api.compiled import Compiled
from tirax.api.known_files import KnownFile, known_file
from tirax.api.options import Options
from tirax.diagnostics import TiraxError
from tirax.script import parse_source
from tirax.target import Target, TargetError

PROGRAM = """
import json, sys, tirax, numpy as np
f = tirax.compile(sys.argv[1])
x, y = np.ones((3, 4), "float32"), np.full((3, 4), 3, "float32")
result = np.asarray(f(x, y)).tolist()
imported = "tirax.dialects" in sys.modules
rows = len(f.profile(x, y).calls) if len(sys.argv) > 2 else 0
print(json.dumps([result, imported, repr(f), rows]))
"""


def onnx_model(external: Path | None = None, size: int = 4) -> bytes | None:
    """`x - y - 0`, with the weights in a file of their own if that is named."""
    zero = numpy_helper.from_array(np.zeros(size, np.float32), "zero")
    nodes = [helper.make_node("Sub", ["x", "y"], ["d"]), helper.make_node("Sub", ["d", "zero"], ["z"])]
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", size]) for n in "xy"]
    output = helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", size])
    graph = helper.make_graph(nodes, "g", inputs, [output], [zero])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    if external is None:
        return model.SerializeToString()
    save_model(model, external, save_as_external_data=True, size_threshold=0, location="weights")
    return None


CONTENTS = {
    ".py": SCRIPT.encode(),
    ".mlir": str(parse_source(SCRIPT, "model.py")).encode(),
    ".onnx": onnx_model() or b"",
}


@pytest.fixture
def model(tmp_path, monkeypatch) -> Path:
    """A file, and a cache of its own."""
    monkeypatch.setenv("TIRAX_CACHE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "model.py"
    path.write_bytes(CONTENTS[".py"])
    return path


def entry(path: object, **options: object) -> KnownFile | None:
    return known_file(path, Options(**options), first=False)  # type: ignore[arg-type]


def build(known: KnownFile) -> Compiled:
    return known.compiled(lambda: compiled(known.path, known.options))


def fails() -> Compiled:
    raise AssertionError("it is stored")


@pytest.mark.parametrize("suffix", CONTENTS)
def test_the_next_process_does_not_import_the_compiler(model, suffix):
    path = model.with_suffix(suffix)
    path.write_bytes(CONTENTS[suffix])

    def run(*arguments: str) -> list[object]:
        command = [sys.executable, "-c", PROGRAM, str(path), *arguments]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    first, second = run(), run("profile")
    assert first[0] == second[0] == [[-2.0] * 4] * 3
    assert (first[1], second[1]) == (True, False)
    assert first[2] == second[2] and second[3]


NOT_LOOKED_UP = {
    "arguments": {"args": (X,)},
    "parameters": {"params": {"y": Y}},
    "dynamic shapes": {"dynamic_shapes": {"x": {0: "n"}}},
    "a proof": {"validate": "proof"},
    "an object as target": {"target": Target("llvm")},
    "an object as pipeline": {"pipeline": object()},
    "objects as sizes": {"input_shapes": {"x": [object()]}},
}


@pytest.mark.parametrize("name", NOT_LOOKED_UP)
def test_options_that_are_objects(model, name):
    assert entry(model) is not None and entry(model, **NOT_LOOKED_UP[name]) is None


def test_models_that_are_no_files(model, monkeypatch):
    os.mkfifo(model.with_name("pipe.py"))
    for other in (SCRIPT, b"bytes", 1, os.fsencode(model), model.parent, model.with_name("no.py"), "model.tirax"):
        assert entry(other) is None
    assert entry(model.with_name("pipe.py")) is None
    assert known_file(model, Options()) is None  # the compiler is imported here
    for name, value in (("TIRAX_CACHE", "objects"), ("TIRAX_CACHE", "0"), ("TIRAX_TRACE", "page.html")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert entry(model) is None
    with pytest.raises(TargetError):
        entry(model, target="llvm -mcpu")


def test_a_key_contains_all_that_code_depends_on(model, monkeypatch, tmp_path):
    keys = [entry(model)]
    keys += [entry(model, **o) for o in ({"function": "main"}, {"pipeline": "zero"}, {"fallback": "error"})]
    keys += [entry(model, target="llvm -num-cores=3"), entry(model, input_shapes={"x": [2, "n"]})]
    monkeypatch.setenv("TIRAX_LIMIT_VECTOR_LANES", "64")
    keys.append(entry(model))
    packages = tmp_path / "site-packages"
    packages.mkdir()
    monkeypatch.syspath_prepend(str(packages))
    keys.append(entry(model))
    os.utime(packages, (1, 1))
    keys.append(entry(model))
    model.write_bytes(CONTENTS[".py"] + b"\n")
    keys.append(entry(model))
    model.with_suffix(".mlir").write_bytes(model.read_bytes())
    keys.append(entry(model.with_suffix(".mlir")))
    assert len({known.key for known in keys if known is not None}) == len(keys) == 11


def test_what_is_stored(model):
    known = entry(model)
    assert known is not None
    first, again = build(known), known.compiled(fails)
    assert repr(again) == repr(first)
    for call in (first, again):
        np.testing.assert_array_equal(np.asarray(call(x=X, y=Y)), X - Y)
    np.testing.assert_array_equal(np.asarray(tirax.load(saved(again, model))(X, Y)), X - Y)
    stored = known.compiled(lambda: compiled(known.path, known.options))
    assert stored.profile(X, Y).calls
    stored.explain(model.with_name("page.html"))
    assert model.with_name("page.html").stat().st_size > 10_000
    model.write_bytes(CONTENTS[".py"] + b"\n")
    with pytest.raises(TiraxError, match="not what it was"):
        known.compiled(fails).profile(X, Y)


def saved(model: Compiled, beside: Path) -> Path:
    path = beside.with_name("model.tirax")
    model.save(path)
    return path


def test_constants_of_the_program_are_stored_with_it(model):
    """Weights that kernels read as they are: the file of the executable does not have them."""
    path = model.with_suffix(".onnx")
    path.write_bytes(onnx_model(size=1000) or b"")
    known = entry(path)
    assert known is not None
    x = np.ones((2, 1000), np.float32)
    first = np.asarray(build(known)(x, x + x))
    np.testing.assert_array_equal(first, np.full((2, 1000), -1, np.float32))
    again = known.compiled(fails)
    assert any(c.nbytes == 4000 for c in again.executable.constants)
    np.testing.assert_array_equal(np.asarray(again(x, x + x)), first)
    executables = model.parent / "cache" / "tirax" / "executables"
    for stored in executables.iterdir():
        if stored.stem != known.key:
            stored.unlink()
    with pytest.raises(AssertionError, match="it is stored"):
        known.compiled(fails)


def test_what_is_not_stored(model):
    path = model.with_suffix(".onnx")
    onnx_model(path)
    known = entry(path)
    assert known is not None
    np.testing.assert_array_equal(np.asarray(build(known)(X, Y)), X - Y)
    with pytest.raises(AssertionError, match="it is stored"):
        known.compiled(fails)  # weights are in another file

    known = entry(model)
    assert known is not None

    def warned() -> Compiled:
        warnings.warn("look", stacklevel=1)
        return compiled(known.path, known.options)

    for _ in range(2):
        with pytest.warns(UserWarning, match="look"):
            known.compiled(warned)
