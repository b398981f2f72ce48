"""Statements that are built by hand mean what TVM's do."""

from __future__ import annotations

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import UnsupportedError
from tirax.tvm_api import te, tir

N, M = te.size_var("n"), te.size_var("m")


def filled(value, *params):
    """A function that stores n + 1 to the first n numbers, n being a value."""
    address, i = te.var("A", "handle"), tir.Var("i", "int32")
    buffer = tir.decl_buffer((50,), "int32", "B")
    loop = tir.For(i, 0, N, tir.ForKind.SERIAL, tir.BufferStore(buffer, N + 1, [i]))
    body = tir.LetStmt(N, value(buffer) if callable(value) else value, loop)
    return tir.PrimFunc([address, *params], body, buffer_map={address: buffer}).with_attr("global_symbol", "main")


@pytest.mark.parametrize(
    ("func", "args", "size"),
    [
        (filled(7), (), 7),
        (filled(7, N), (3,), 7),  # not the parameter of the same name
        (filled(N * 2, N), (3,), 6),
        (filled(M + 1, M), (0,), 1),
        (filled(M, M), (0,), 0),
    ],
)
def test_extents_of_a_size_that_is_bound_have_its_value(func, args, size):
    out = np.zeros(50, "int32")
    expected = np.where(np.arange(50) < size, size + 1, 0)
    tvm.build(tvm.IRModule({"main": func}), target="llvm")["main"](out, *args)
    np.testing.assert_array_equal(out, expected)


def test_sizes_that_are_loaded_are_values_alone():
    with pytest.raises(UnsupportedError, match="the size 'n' is bound") as error:
        filled(lambda buffer: tir.BufferLoad(buffer, [0]))
    assert "found: B[0]" in str(error.value)


def test_a_size_that_is_loaded_may_be_stored():
    address, i = te.var("A", "handle"), tir.Var("i", "int32")
    buffer = tir.decl_buffer((4,), "int32", "B")
    loop = tir.For(i, 1, 3, tir.ForKind.SERIAL, tir.BufferStore(buffer, N, [i]))
    func = tir.PrimFunc([address], tir.LetStmt(N, tir.BufferLoad(buffer, [0]), loop), buffer_map={address: buffer})
    out = np.array([9, 0, 0, 0], "int32")
    tvm.build(tvm.IRModule({"main": func.with_attr("global_symbol", "main")}), target="llvm")["main"](out)
    np.testing.assert_array_equal(out, [9, 9, 9, 9])


def test_statements_in_others_are_the_same_ones():
    inner, other = tir.Evaluate(1), tir.Evaluate(1)
    loop = tir.For(tir.Var("i", "int32"), 0, 10, tir.ForKind.SERIAL, inner)
    choice = tir.IfThenElse(tir.const(True), loop, other)
    assert loop.body == inner != other and hash(loop.body) == hash(inner)
    assert choice.then_case == loop and choice.then_case.body != other and choice.else_case == other
    assert tir.SeqStmt([inner, other]).seq == [inner, other] and choice.else_case.same_as(other)


def test_buffers_are_declared_at_an_address():
    pointer = tir.Var("p", tvm.ir.PointerType(tvm.ir.PrimType("float32")))
    buffer = tir.decl_buffer([16], "float32", data=pointer)
    assert buffer.data.same_as(pointer) and tir.BufferStore(buffer, 1.0, [0]).buffer.data == pointer
    assert tir.decl_buffer([16]).data.dtype == "handle"
