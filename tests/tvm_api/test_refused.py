"""Modules of TVM that are not here say why, whichever way they are asked for, and name what is here."""

import importlib
import subprocess
import sys
from functools import reduce

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import UnsupportedError
from tirax.tvm_api._refused import IMPORTED, REFUSED


@pytest.mark.parametrize("path", [path for path in REFUSED if path not in IMPORTED])
def test_the_import_says_why(path):
    reason, instead = REFUSED[path]
    with pytest.raises(ModuleNotFoundError) as raised:
        importlib.import_module(f"tirax.tvm_api.{path}")
    assert str(raised.value) == f"tvm.{path} is not provided: {reason}; instead: {instead}"


@pytest.mark.parametrize("path", IMPORTED)
def test_a_module_that_can_be_imported_refuses_its_names(path):
    module = importlib.import_module(f"tirax.tvm_api.{path}")
    assert getattr(tvm, path) is module
    with pytest.raises(UnsupportedError, match=f"tvm.{path}.op is not provided: {REFUSED[path][0]}"):
        _ = module.op


@pytest.mark.parametrize("path", [path for path in REFUSED if path not in IMPORTED])
def test_the_attribute_says_why(path):
    around, _, name = f"tvm.{path}".rpartition(".")
    if around != "tvm" and around.removeprefix("tvm.") in REFUSED:
        pytest.fail(f"{path} needs no row: {around} has one")
    parent = importlib.import_module(f"tirax.tvm_api.{around.removeprefix('tvm.')}") if around != "tvm" else tvm
    with pytest.raises(AttributeError) as raised:
        getattr(parent, name)
    assert REFUSED[path][0] in str(raised.value)


@pytest.mark.parametrize("instead", sorted({instead for _, instead in REFUSED.values()}))
def test_what_serves_instead_is_here(instead):
    assert reduce(getattr, instead.split(".")[1:], tvm) is not None


def test_modules_inside_and_names_from_them():
    with pytest.raises(ModuleNotFoundError, match="tvm.relay.op is not provided: TVM itself dropped Relay"):
        importlib.import_module("tirax.tvm_api.relay.op.nn")
    with pytest.raises(AttributeError, match="tvm.relax.backend.adreno is not provided"):
        _ = tvm.relax.backend.adreno.clml
    with pytest.raises(ImportError, match="tvm.rpc is not provided"):
        from tirax.tvm_api import rpc as rpc


@pytest.mark.parametrize(
    ("module", "name"), [("relax.backend.cuda.cudnn", "partition_for_cudnn"), ("contrib.clang", "create_llvm")]
)
def test_functions_that_can_be_imported_say_why_when_they_are_called(module, name):
    function = getattr(importlib.import_module(f"tirax.tvm_api.{module}"), name)
    assert function.__doc__.startswith("Left out: ")
    with pytest.raises(UnsupportedError, match=f"(?s){name} is not provided: .*instead: "):
        function("source", output=None)


def test_other_names_are_unknown_as_ever():
    with pytest.raises(ModuleNotFoundError, match="No module named 'tirax.tvm_api.nothing'"):
        importlib.import_module("tirax.tvm_api.nothing")
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = tvm.nothing
    with pytest.raises(ModuleNotFoundError, match="No module named 'rpc'"):
        importlib.import_module("rpc")


def test_it_is_reported_in_a_new_process():
    code = "import tirax.tvm_api.autotvm"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ModuleNotFoundError: tvm.autotvm is not provided: ")
