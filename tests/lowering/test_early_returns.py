"""A function that ends inside of a statement is read and printed, but has no native code and no reference semantics."""

from __future__ import annotations

import pytest

from tirax import tvm_api as tvm
from tirax.diagnostics import UnsupportedError
from tirax.interpreter import interpret
from tirax.tvm_api.script import from_source

SOURCE = """
from tvm.script import tir as T
@T.prim_func
def f(n: T.int32) -> T.int32:
    if n > 2:
        return 1
    return 0
"""


def test_it_is_text() -> None:
    func = from_source(SOURCE)
    assert "        return 1\n    return 0" in func.script()
    assert from_source(func.script()).script() == func.script()


def test_it_is_not_executed() -> None:
    module = tvm.IRModule({"f": from_source(SOURCE)})
    with pytest.raises(UnsupportedError, match="ends inside of"):
        interpret(module.op, "f", [3])
    with pytest.raises(UnsupportedError, match="ends inside of"):
        tvm.build(module, target="llvm")
