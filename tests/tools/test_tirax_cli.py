"""`tirax`: programs run from the shell compute what numpy computes, and what is wrong is said."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from strength import thinned

from tirax.runtime import load_library

SCRIPT = """
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def double(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "int32")
        B = T.match_buffer(b, (n,), "int32")
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] * 2

    @R.function
    def main(x: R.Tensor(("n", 6), "float32"), w: R.Tensor((6, 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        with R.dataflow():
            lv = R.matmul(x, w)
            gv = R.nn.relu(lv)
            R.output(gv)
        return gv
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "model.py").write_text(SCRIPT)
    return folder


@pytest.fixture
def model(folder, monkeypatch):
    """The program, which the first test builds and the others find built."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("TIRAX_CACHE", "1")
    return folder / "model.py"


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_run_computes_what_numpy_computes(cli, model, tmp_path, rows):
    rng = np.random.default_rng(rows)
    x, w = rng.standard_normal((rows, 6), np.float32), rng.standard_normal((6, 4), np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "w.npy", w)
    inputs = ["--input", f"x={tmp_path / 'x.npy'}", "--input", f"w={tmp_path / 'w.npy'}"]
    result = cli("run", model, *inputs, "--output", tmp_path / "r.npz")
    assert (result.code, result.err) == (0, "")
    assert f"n = {rows}" in result.out
    actual = np.load(tmp_path / "r.npz")["result0"]
    np.testing.assert_allclose(actual, np.maximum(x @ w, 0), rtol=1e-5, atol=1e-5)


def test_the_program_of_the_readme_is_read_from_its_file(cli, opt, tmp_path):
    readme = Path(__file__).parents[2] / "README.md"
    (text,) = re.findall(r"^```python\n(.*?)^```", readme.read_text(), re.DOTALL | re.MULTILINE)
    path = tmp_path / "layer.py"
    path.write_text(text)
    assert "relax.matmul" in opt(path).out
    result = cli("run", f"{path}:Layer", "--sizes", "n=3")
    assert result.code == 0 and "float32[3, 128]" in result.out, result.err
    result = cli("run", f"{path}:Laier")
    assert result.code == 1 and "did you mean 'Layer'" in result.err
    result = opt(f"{path}:Layer", "-f", "mlir")
    assert result.code == 2 and "a file of MLIR is one program" in result.err


def test_versions_and_help(cli):
    for words, text in (((), "usage: tirax"), (("--version",), "tirax 0."), (("-v",), "(xDSL ")):
        result = cli(*words)
        assert (result.code, result.err) == (0, "") and text in result.out


def test_generated_inputs_follow_the_signature(cli, model):
    result = cli("run", model, "--input", "x=ones", "--input", "w=ones", "--sizes", "n=3", "--time")
    assert result.code == 0
    assert "result 0: float32[3, 4] min 6 mean 6 max 6" in result.out
    assert "time: median" in result.out


def test_sizes_that_nothing_says_are_assumed(cli, model):
    assert "n = 4 (assumed" in cli("run", model).out


def test_a_function_that_writes_shows_what_it_wrote(cli, model):
    result = cli("run", model, "--func", "double", "--input", "A=arange", "--sizes", "n=3")
    assert result.code == 0, result.err
    assert "[0, 2, 4]" in result.out


def test_built_file_runs_and_says_what_it_is(cli, model, tmp_path):
    exe = tmp_path / "model.tirax"
    assert cli("build", model, "-o", exe).code == 0
    shown = cli("inspect", exe)
    assert "main(x: Tensor((n, 6), float32), w: Tensor((6, 4), float32)) -> Tensor((n, 4), float32)" in shown.out
    assert "result 0: float32[2, 4] min 6" in cli("run", exe, "--input", "x=ones:2x6", "--input", "w=ones").out


def test_a_library_and_its_header(cli, model, tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("libraries are built with a C compiler")
    library, header = tmp_path / "model.so", tmp_path / "some.h"
    assert cli("compile", model, "-o", library, "--header", header, "--name", "some").code == 0
    assert "int some_main(const DLTensor *x, const DLTensor *w, DLManagedTensor **result);" in header.read_text()
    x, w = np.ones((2, 6), np.float32), np.ones((6, 4), np.float32)
    assert np.array_equal(load_library(library)["main"](x, w), np.full((2, 4), 6))
    result = cli("build", model, "-o", tmp_path / "m.tirax", "--header", header)
    assert result.code == 2 and "are for libraries" in result.err


def test_env_and_cache(cli, model, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TIRAX_CACHE", "objects")
    assert "xdsl 0.74" in cli("env").out
    assert cli("run", model).code == 0
    # The object, the module by which it is found, and what the runtime compiles once in a process.
    objects = re.search(r" (\d+) objects", cli("cache", "show").out)
    assert objects is not None and int(objects[1]) >= 2
    assert cli("cache", "clear").code == 0
    assert " 0 objects" in cli("cache", "show").out


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["bild"], 2, "did you mean 'build'?"),
        (["run"], 2, "file"),
        (["run", "MODEL", "--func", "mian"], 2, "did you mean 'main'?"),
        (["run", "MODEL", "--input", "y=ones"], 2, "unknown parameter 'y' of 'main'"),
        (["run", "MODEL", "--input", "x"], 2, "expected: name=value"),
        (["run", "MODEL", "--input", "x=ones", "--input", "x=ones"], 2, "names 'x' twice"),
        (["run", "MODEL", "--input", "x=onse"], 1, "or one of random, zeros, ones"),
        (["run", "MODEL", "--input", "x=ones:3xa"], 2, "a shape is wrong"),
        (["run", "MODEL", "--input", "x=ones:3x5"], 1, "expected: 6\n  found: 5"),
        (["run", "MODEL", "--sizes", "n=-1"], 2, "integers of at least 0"),
        (["run", "MODEL", "--pipeline", "defualt-cpu"], 1, "did you mean 'default-cpu'"),
        (["run", "MODEL", "--target", "lllvm"], 1, "error:"),
        (["run", "absent.py"], 1, "cannot read 'absent.py'"),
        (["inspect", "MODEL"], 1, "is not an executable of tirax"),
        (["inspect", "absent.tirax"], 1, "cannot read 'absent.tirax'"),
        (["build", "MODEL", "-o", "/absent/x"], 1, "cannot write '/absent/x'"),
        (["run", "MODEL", "--output", "/absent/x"], 1, "cannot write '/absent/x'"),
        (["cache", "cleer"], 2, "did you mean 'clear'?"),
    ],
)
def test_errors_are_reported(cli, model, args, code, message):
    result = cli(*(model if a == "MODEL" else a for a in args))
    assert result.code == code
    assert message in result.err


def test_damaged_executable(cli, model, tmp_path):
    exe = tmp_path / "model.tirax"
    cli("build", model, "-o", exe)
    exe.write_bytes(exe.read_bytes()[:-9] + b"123456789")
    result = cli("run", exe)
    assert result.code == 1
    assert "damaged" in result.err


def test_files_with_pickles_are_refused(cli, model, tmp_path):
    np.save(tmp_path / "x.npy", np.array([{}], dtype=object), allow_pickle=True)
    result = cli("run", model, "--input", f"x={tmp_path / 'x.npy'}")
    assert result.code == 1
    assert "cannot read" in result.err


def test_a_profile_names_kernels_and_places(cli, model):
    result = cli("run", model, "--sizes", "n=3", "--profile", "--func", "main")
    assert (result.code, result.err) == (0, "")
    assert re.search(r"fused_matmul_relu +1 .* gv +model.py:\d+:18", result.out)
    assert re.search(r"host code of main .*\n", result.out) and re.search(r"sum .* 100\.0%", result.out)


@thinned(
    ("name", "begins"), [("p.json", "{"), ("p.trace.json", '{"traceEvents'), ("p.csv", "Name"), ("p.svg", "<svg")], 1
)
def test_a_profile_in_a_file(cli, model, tmp_path, name, begins):
    assert cli("run", model, "--func", "main", f"--profile={tmp_path / name}").code == 0
    assert (tmp_path / name).read_text().startswith(begins)


def test_profiles_that_cannot_be(cli, model, tmp_path):
    result = cli("run", model, "--profile=p.png")
    assert result.code == 2 and "no form of a profile" in result.err and ".trace.json" in result.err
    assert cli("build", model, "-o", tmp_path / "m.tirax").code == 0
    result = cli("run", tmp_path / "m.tirax", "--func", "main", "--profile")
    assert result.code == 1 and "from a file has no program" in result.err
