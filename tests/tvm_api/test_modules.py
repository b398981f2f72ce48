"""Every module of TVM that is here can be imported by its path, and every name from it; most of them have no file."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from strength import some

import tirax.tvm_api as tvm

_SECTIONS = re.split(r"^\[(.+)\]$", Path(__file__).with_name("modules.txt").read_text(), flags=re.MULTILINE)[1:]
MODULES = {path: names.split() for path, names in zip(_SECTIONS[::2], _SECTIONS[1::2], strict=True)}

HIDDEN = {
    "relax.analysis.estimate_memory_usage",
    "relax.frontend.nn.extern",
    "runtime.device",
    "runtime.ndarray",  # is `tvm.nd`
    "topi.nn.dense",
}
"""A function has the name there, as in TVM."""


def _dotted(path: str) -> str:
    return "tirax.tvm_api" if path == "tvm" else f"tirax.tvm_api.{path}"


@pytest.mark.parametrize("path", MODULES)
def test_a_module_and_its_names(path):
    module = importlib.import_module(_dotted(path))
    assert module.__name__ == _dotted(path)
    for name in MODULES[path]:
        assert hasattr(__import__(_dotted(path), fromlist=[name]), name)


@pytest.mark.parametrize("path", [path for path in MODULES if path != "tvm"])
def test_a_module_is_an_attribute_of_the_one_around_it(path):
    around, _, name = path.rpartition(".")
    module = importlib.import_module(_dotted(path))
    parent = importlib.import_module(_dotted(around or "tvm"))
    if path not in HIDDEN:
        assert getattr(parent, name) is module


@pytest.mark.thinned
def test_each_path_is_the_first_import_of_a_process():
    paths = [
        "nd",
        "ir.transform",
        "relax.frontend.nn.core",
        "meta_schedule.database",
        "topi.nn.pooling",
        "tir.schedule",
    ]
    for path in some(paths, 3):
        code = f"import tirax.tvm_api.{path} as module; print(module.__name__)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.stdout.strip() == f"tirax.tvm_api.{path}", done.stderr


def test_an_unknown_name_says_so():
    with pytest.raises(AttributeError, match=r"module 'tirax.tvm_api.nd' has no attribute 'missing'"):
        _ = tvm.nd.missing


def test_everything_from_a_module_without_a_file():
    code = "from tirax.tvm_api.relax.expr import *; print(*sorted(n for n in dir() if n[0] != '_'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == sorted(MODULES["relax.expr"]), done.stderr
    assert set(dir(tvm.relax.expr)) >= set(MODULES["relax.expr"])
