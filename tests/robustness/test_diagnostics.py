"""What messages quote: the lines of their own text, and all of it where others show the error."""

from __future__ import annotations

import traceback

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.script import parse_mlir
from tirax.script.mlir_text import MLIRSyntaxError
from tirax.script.parser.source import ScriptError
from tirax.tvm_api.script import from_source

UNROLLED = """# one
# two
@T.prim_func
def first(O: T.Buffer((5,), "int32"), n: T.int32):
    for i in T.unroll(n):
        O[i] = 1
"""
OTHER = """@T.prim_func
def other(A: T.Buffer((4,), "int32")):
    A[0] = 1
    A[1] = 2
    A[0] = 44444444
    A[1] = 2
"""
MLIR = """
// two
// three
// four
tir.func @f() {
}
"""


@pytest.mark.parametrize("read_later", [lambda: from_source(OTHER), lambda: parse_mlir(MLIR)])
def test_a_text_without_a_file_is_quoted_itself(read_later) -> None:
    """Also where another one of the same name was read in the meantime."""
    module = tvm.IRModule({"main": from_source(UNROLLED)})
    read_later()
    with pytest.raises(TiraxError) as caught:
        tvm.build(module, target="llvm")
    assert str(caught.value).startswith("<string>:5:5: error: ")
    assert "    5 |     for i in T.unroll(n):\n      |     ^" in str(caught.value)


def test_python_shows_the_message_of_an_error_in_mlir() -> None:
    """Python and pytest show `msg` of a SyntaxError."""
    with pytest.raises(MLIRSyntaxError) as caught:
        parse_mlir("tir.nonsense\n")
    assert "unknown operation 'tir.nonsense'" in "".join(traceback.format_exception_only(caught.value))


def test_python_shows_the_message_of_an_error_in_a_script() -> None:
    """Python and pytest show `msg` of a SyntaxError."""
    with pytest.raises(ScriptError) as caught:
        from_source("@T.prim_func\ndef f():\n    T.nonsense(1)\n")
    shown = "".join(traceback.format_exception_only(caught.value))
    assert "<string>:3:5: error: T has no 'nonsense'\n    3 |     T.nonsense(1)" in shown
