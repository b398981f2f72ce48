"""`tirax run --check` names the first kernel whose native code differs from the interpreter."""

import re
from pathlib import Path

import numpy as np
import pytest

from tirax.tools import native
from tirax.tools.tirax_cli import main

PROGRAM = """
@R.function
def main(x: R.Tensor(("n", 3), "float32"), w: R.Tensor((3, 2), "float32")):
    with R.dataflow():
        y = R.matmul(x, w)
        z = R.nn.softmax(y)
        R.output(z)
    return z
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(PROGRAM)
    return path


def test_native_code_is_compared_kernel_by_kernel(program, capfd):
    assert main(["run", str(program), "--check"]) == 0
    output = capfd.readouterr().out
    assert re.search("check: the same as the interpreter; kernels compared: matmul 1 times, softmax 1 times", output)


def test_the_first_kernel_that_differs_is_named(program, capfd, monkeypatch):
    right = native.NativeModule.call_kernel

    def wrong(self, func, args):
        result = right(self, func, args)
        if "softmax" in func.sym_name.data:
            args[-1][0, 0] += 1
        return result

    monkeypatch.setattr(native.NativeModule, "call_kernel", wrong)
    assert main(["run", str(program), "--check"]) == 1
    output = capfd.readouterr().err
    assert "the kernel 'softmax' computes something else natively" in output
    folder = Path(re.search("reproducer: (.*)", output)[1])
    assert "tir.func" in (folder / "program.mlir").read_text()
    assert np.load(folder / "inputs.npz")["input0"].shape == (4, 2)
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    command = (folder / "command.txt").read_text().split()
    assert command[0] == "tirax" and main(command[1:]) == 0


def test_the_only_function_needs_no_name(tmp_path, capfd):
    path = tmp_path / "one.py"
    path.write_text(PROGRAM.replace("def main", "def forward"))
    assert main(["run", str(path)]) == 0 and "forward" in capfd.readouterr().out
