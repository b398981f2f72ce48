"""`tirax explain`: the trace has times and marks, and is there where a program does not compile."""

from __future__ import annotations

import pytest

from tirax.driver.pipelines import PIPELINES
from tirax.driver.tracing.file import records

from .conftest import MLP

TRAINING = """
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), s: R.Tensor((3,), "float32")):
        with R.dataflow():
            y = R.nn.batch_norm(x, s, s, s, s, axis=1, training=True)
            z = y[0]
            R.output(z)
        return z
"""
"""A norm as it is in training, which decompose-ops-for-inference takes for one that is not."""


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "model.mlir"
    path.write_text(MLP)
    return path


CHECKED = ("--pipeline", "optimize", "--check-each", "--check-sizes", "2")


def test_times_and_marks(cli, program, tmp_path):
    out = tmp_path / "model.html"
    done = cli("explain", program, "-o", out, "--sizes", "n=3", *CHECKED)
    assert done.code == 0, done.err
    assert done.out.startswith(f"{out}: 0.")
    events = records(out.read_text())
    (profile,) = (r for r in events if r["t"] == "profile")
    assert profile["sizes"] == "n = 3" and profile["function"] == "main"
    assert {r["kind"] for r in profile["rows"]} == {"kernel", "host", "python"}
    names, checks = [r["name"] for r in events if r["t"] == "pass"], [r for r in events if r["t"] == "check"]
    assert [r["n"] for r in checks] == list(range(len(PIPELINES["optimize"])))
    assert {r["status"] for r in checks} == {"same"}
    assert {names[r["n"]] for r in checks if "were compared" in r["text"]} >= {"legalize-ops", "fuse-ops", "fuse-tir"}


def test_a_pass_that_changes_what_is_computed_is_marked(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path, out = tmp_path / "model.py", tmp_path / "model.html"
    path.write_text(TRAINING)
    done = cli("explain", path, "-p", "decompose-ops-for-inference", "-o", out, "--no-run", *CHECKED)
    assert done.code == 1 and "decompose-ops-for-inference" in done.err
    assert {r["n"]: r["status"] for r in records(out.read_text()) if r["t"] == "check"} == {0: "changed"}


def test_what_does_not_compile_leaves_a_trace_with_the_error(cli, tmp_path):
    out = tmp_path / "model.html"
    done = cli("explain", tmp_path / "none.mlir", "-o", out)
    assert done.code == 1
    assert [r["t"] for r in records(out.read_text())] == ["program", "error"]


def test_the_program_is_not_written_over(cli, program):
    done = cli("explain", program, "-o", program)
    assert done.code == 2 and program.read_text() == MLP
