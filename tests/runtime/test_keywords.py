"""Native functions take arguments by keyword, and texts of what holds them say their signatures."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tirax.runtime import Executable, VirtualMachine, abi, keywords
from tirax.runtime.errors import ArgumentError, ShapeError
from tirax.runtime.module import functions_text

X = np.arange(6, dtype=np.float32)


@pytest.fixture
def ex(native: SimpleNamespace) -> Executable:
    return native.add_executable()


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((X, 2 * X), {}),
    ((X,), {"y": 2 * X}),
    ((), {"x": X, "y": 2 * X}),
    ((), {"y": 2 * X, "x": X}),
]


@pytest.mark.parametrize(("args", "kwargs"), CALLS)
def test_by_position_and_by_keyword(ex, args, kwargs):
    for function in (ex, ex["add"], ex.jit()["add"], VirtualMachine(ex)["add"]):
        np.testing.assert_array_equal(function(*args, **kwargs), 3 * X)


@pytest.mark.parametrize(
    ("args", "kwargs", "notes"),
    [
        ((X,), {"z": X}, ["missing: 'y'", "not expected: 'z'"]),
        ((X, X), {"y": X}, ["not expected: 'y'"]),
        ((), {"x": X}, ["missing: 'y'"]),
    ],
)
def test_wrong_names(ex, args, kwargs, notes):
    for function in (ex, ex["add"]):
        with pytest.raises(ArgumentError) as caught:
            function(*args, **kwargs)
        assert list(caught.value.notes) == notes and "add(x: " in str(caught.value.expected)


def test_errors_of_calls_are_the_same(ex):
    with pytest.raises(ShapeError) as by_keyword:
        ex["add"](x=X, y=X[:3])
    with pytest.raises(ShapeError) as by_position:
        ex["add"](X, X[:3])
    assert str(by_keyword.value) == str(by_position.value)
    with pytest.raises(ArgumentError, match="takes 2 arguments"):
        ex["add"](X)


def test_another_layout_of_arrays_leaves_the_function_as_it_is(ex, monkeypatch):
    monkeypatch.setitem(keywords.ARRAY_LAYOUT, "data", 24)
    function = ex.fresh_module()["add"]
    assert type(function.__self__) is abi.NativeCode
    np.testing.assert_array_equal(function(X, X), 2 * X)


def test_the_function_keeps_its_code_and_nothing_else_does(native):
    module = native.add_executable().fresh_module()
    function, gone = module["add"], weakref.ref(module)
    del module
    gc.collect()
    assert gone() is None
    np.testing.assert_array_equal(function(y=X, x=X), 2 * X)
    code = weakref.ref(function.__self__)
    del function
    gc.collect()
    assert code() is None


def test_texts(ex):
    signature = str(ex.functions["add"])
    assert repr(ex) == f"<Executable {signature}>"
    assert repr(VirtualMachine(ex)) == f"<VirtualMachine {signature}>"
    assert repr(ex.jit()) == f"<Module {signature}>"
    assert ex["add"].__doc__ == signature and "add of NativeCode" in repr(ex["add"])
    info = ex.functions["add"]
    assert functions_text("Module", []) == "<Module of nothing>"
    assert functions_text("Module", [info] * 2) == "<Module of add, add>"
    assert functions_text("Module", [info] * 10) == f"<Module of {'add, ' * 8}2 more>"


def test_a_missing_folder_is_named(ex, tmp_path):
    for write in (ex.save, ex.export_library):
        with pytest.raises(FileNotFoundError, match="there is no such folder: '.*nowhere'$"):
            write(tmp_path / "nowhere" / "model.tirax")
