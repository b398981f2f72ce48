"""`tirax prove`: verdicts, exit status, last line; `--check-each=proof`."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

from tirax.tools.tirax_cli import main
from tirax.tools.tirax_opt import main as opt

PROGRAM = """
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32"), y: R.Tensor(("n", 3), "float32")):
        z = {expression}
        return z
"""


@pytest.fixture
def programs(tmp_path):
    def write(**expressions):
        for name, expression in expressions.items():
            (tmp_path / f"{name}.py").write_text(PROGRAM.format(expression=expression))
        return [str(tmp_path / f"{name}.py") for name in expressions]

    return write


@pytest.mark.parametrize(
    ("one", "other", "status", "word"),
    [
        ("R.add(x, y)", "R.add(y, x)", 0, "proved @main"),
        ("R.subtract(x, y)", "R.subtract(y, x)", 1, "wrong @main"),
        ("R.argsort(x)", "R.argsort(x)", 2, "not covered @main"),
    ],
)
def test_two_programs(programs, capsys, one, other, status, word):
    assert main(["prove", *programs(one=one, other=other), "--sizes", "n=2"]) == status
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(word) and lines[-1].startswith(word.removesuffix(" @main") + ": 1 ")


@pytest.mark.parametrize("text", [None, "this is no program", "builtin.module {}", "builtin.module { foo }"])
def test_what_is_no_program_is_not_covered(programs, tmp_path, capsys, text):
    """Status 1 is for counterexamples only; where nothing is compared nothing is proved."""
    (one,), other = programs(one="R.add(x, y)"), tmp_path / "other.mlir"
    if text is not None:
        other.write_text(text)
    for command in (["prove", one, str(other)], ["prove", str(other), one], ["prove", str(other)]):
        assert main(command) == 2
        assert capsys.readouterr().out.splitlines()[-1].startswith("not covered: ")


def test_a_model_of_onnx(tmp_path, capsys):
    onnx = pytest.importorskip("onnx", reason="the extra onnx")
    x, y = (onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, ["n", 3]) for n in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    assert main(["prove", str(tmp_path / "m.onnx"), "--pipeline", "default-cpu", "--sizes", "n=2"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("proved: ")


def test_a_counterexample_runs(programs, capsys, monkeypatch):
    """The folder has both programs and inputs, with which `tirax run` shows the numbers of the finding."""
    assert main(["prove", *programs(one="R.subtract(x, y)", other="R.subtract(y, x)")]) == 1
    out = capsys.readouterr().out
    assert "at n=1\n" in out and "before: (x[0, 0] - y[0, 0])" in out and "after:  (y[0, 0] - x[0, 0])" in out
    assert "computed by relax.subtract" in out and "other.py:10:" in out
    folder = Path(out.split("counterexample: ")[1].split(",")[0])
    with np.load(folder / "inputs.npz") as inputs:
        expected = inputs["input0"] - inputs["input1"]
    monkeypatch.chdir(folder)
    results = []
    for command in (folder / "command.txt").read_text().splitlines():
        assert main(shlex.split(command)[1:]) == 0
        with np.load(shlex.split(command)[-1]) as saved:
            results += saved.values()
    np.testing.assert_allclose(results, [expected, -expected])


def test_passes(programs, capsys):
    (path,) = programs(one="R.nn.relu(R.add(x, y))")
    assert main(["prove", path, "-p", "legalize-ops,annotate-tir-op-pattern,fuse-ops,fuse-tir", "--sizes", "n=3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "'legalize-ops': 1 proved" in lines[0] and lines[-1].startswith("proved: ")


def test_check_each(programs, capsys):
    (path,) = programs(one="R.nn.relu(R.add(x, y))")
    assert opt([path, "-p", "legalize-ops", "--check-each=proof", "--check-sizes", "3"]) == 0
    assert "proved: @main 1 times" in capsys.readouterr().err
