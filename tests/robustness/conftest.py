"""What the tests with bad input share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from tirax.driver.build import build
from tirax.runtime.executable import Executable
from tirax.script.mlir_text import parse_mlir

KERNELS = """
tir.func private @inc(%A: !tir.buffer<[n, 4], f32>, %B: !tir.buffer<[n, 4], f32>) attributes {tir.noalias = true} {
  tir.for %i = 0 for n { tir.for %j = 0 for 4 {
    %a = tir.load %A[%i, %j] : f32
    %one = tir.const 1.0 : f32
    %c = tir.add %a, %one : f32
    tir.store %c, %B[%i, %j]
  } }
}
tir.func private @double(%A: !tir.buffer<[n, 4], f32>) attributes {tir.noalias = true} {
  tir.for %i = 0 for n { tir.for %j = 0 for 4 {
    %a = tir.load %A[%i, %j] : f32
    %c = tir.add %a, %a : f32
    tir.store %c, %A[%i, %j]
  } }
}
"""
"""inc: f32[n, 4] + 1; double: f32[n, 4] * 2 in place."""


def parse(text: str) -> ModuleOp:
    """A module of MLIR text after the kernels; `!T` stands for `!relax.tensor<[n, 4], f32>`."""
    return parse_mlir(KERNELS + text.replace("!T", "!relax.tensor<[n, 4], f32>"))


@pytest.fixture(scope="session")
def module() -> Callable[[str], ModuleOp]:
    return parse


@pytest.fixture(scope="session")
def compiled() -> Callable[..., Executable]:
    """The executable of a text."""
    return lambda text, **options: build(parse(text), **options)


@pytest.fixture
def in_process(tmp_path) -> Callable[[str], str]:
    """What a program prints that could crash: it runs in a process of its own, with `compiled` at hand."""

    def run(code: str) -> str:
        head = f"import sys; sys.path.insert(0, {str(__file__).rpartition('/')[0]!r})\n"
        head += "import numpy as np\nfrom conftest import build, parse\nfrom tirax.diagnostics import TiraxError\n"
        head += "def compiled(text): return build(parse(text))\n"
        head += """
def attempt(function, *args):
    try:
        print(function(*args))
    except TiraxError as error:
        print(type(error).__name__, error.message)
"""
        done = subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-2000:])
        return done.stdout

    return run
