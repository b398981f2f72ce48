"""Tensors made elsewhere: by packed functions, by statements, by tensor functions that exist already."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import tirax.tvm_api as tvm
from tirax.diagnostics import DTypeError, ShapeError, TiraxError
from tirax.interpreter import interpret
from tirax.ir.verification.verify import verify_module
from tirax.tvm_api import te
from tirax.tvm_api.script import tir as T


@T.prim_func
def scale_twice(X: T.Buffer((4, 8), "float32"), Y: T.Buffer((4, 8), "float32")):
    Z = T.alloc_buffer((4, 8))
    for i, j in T.grid(4, 8):
        with T.block("first"):
            vi, vj = T.axis.remap("SS", [i, j])
            Z[vi, vj] = X[vi, vj] * T.float32(2)
    for i, j in T.grid(4, 8):
        with T.block("second"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = Z[vi, vj] * T.float32(2)


@T.prim_func
def double_rows(x: T.handle, y: T.handle, n: T.int64):
    X = T.match_buffer(x, (n, 3))
    Y = T.match_buffer(y, (n, 3))
    for i, j in T.grid(n, 3):
        with T.block("rows"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = X[vi, vj] * T.float32(2) + T.Cast("float32", n)


def run(args: list[Any], arrays: list[Any]) -> None:
    module = ModuleOp([te.create_prim_func(args).op])
    verify_module(module)
    interpret(module, "main", arrays)


def test_a_tensor_function_as_a_stage() -> None:
    a = te.placeholder((4, 8), name="A")
    b = te.extern_primfunc([a], scale_twice)
    c = te.compute((4, 8), lambda i, j: b[i, j] + 1.0, name="C")
    x = np.random.default_rng(0).random((4, 8), np.float32)
    out = np.zeros_like(x)
    run([a, c], [x, out])
    np.testing.assert_allclose(out, x * 4 + 1, rtol=1e-6)
    printed = te.create_prim_func([a, c]).script()
    assert 'T.block("scale_twice")' in printed and 'T.block("second")' in printed
    assert "T.reads(A[0:4, 0:8])" in printed and "T.writes(Y[0:4, 0:8])" in printed


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_extents_of_either_dtype(dtype: str) -> None:
    n = te.var("k", dtype)
    a = te.placeholder((n, 8), name="A")
    b = te.extern_primfunc([a], scale_twice)
    func = te.create_prim_func([a, b], index_dtype_override=dtype)
    x = np.ones((4, 8), np.float32)
    out = np.zeros_like(x)
    interpret(ModuleOp([func.op]), "main", [x, out])
    np.testing.assert_array_equal(out, 4)


def test_a_tensor_function_is_used_twice() -> None:
    a = te.placeholder((4, 8), name="A")
    x = np.ones((4, 8), np.float32)
    out = np.zeros_like(x)
    run([a, te.extern_primfunc([te.extern_primfunc([a], scale_twice)], scale_twice)], [x, out])
    np.testing.assert_array_equal(out, 16)


def test_symbolic_extents_of_the_function_become_those_of_the_inputs() -> None:
    m = te.var("m", "int64")
    a = te.placeholder((m + 1, 3), name="A")
    b = te.extern_primfunc([a], double_rows)
    assert str(b.dims[0]) == "m + 1"
    x = np.ones((5, 3), np.float32)
    out = np.zeros_like(x)
    run([a, b, m], [x, out, 4])
    np.testing.assert_array_equal(out, 2 + 5)


def test_a_tensor_function_that_does_not_fit() -> None:
    with pytest.raises(ShapeError, match="another shape") as error:
        te.extern_primfunc([te.placeholder((4, 9), name="A")], scale_twice)
    assert error.value.found == 9
    with pytest.raises(ShapeError, match="another rank"):
        te.extern_primfunc([te.placeholder((4,))], scale_twice)
    with pytest.raises(DTypeError, match="another dtype"):
        te.extern_primfunc([te.placeholder((4, 8), "int32")], scale_twice)
    a = te.placeholder((4, 8))
    with pytest.raises(TiraxError, match="no buffers left"):
        te.extern_primfunc([a, a], scale_twice)


def test_a_packed_function_fills_a_tensor() -> None:
    def scaled_sum(a: Any, b: Any, factor: float, out: Any) -> None:
        out[...] = (a + b) * factor

    a, b = te.placeholder((4, 3), name="A"), te.placeholder((4, 3), name="B")
    c = te.extern((4, 3), [a, b], lambda i, o: te.call_packed("scaled_sum", i[0], i[1], te.const(2.0, "float32"), o[0]))
    d = te.compute((4, 3), lambda i, j: c[i, j] + 1.0, name="D")
    func = te.create_prim_func([a, b, d])
    printed = func.script()
    assert 'T.block("extern")' in printed and 'T.call_packed("scaled_sum", A, B, T.float32(2.0), extern)' in printed
    x, y = np.ones((4, 3), np.float32), np.full((4, 3), 2, np.float32)
    out = np.zeros((4, 3), np.float32)
    interpret(ModuleOp([func.op]), "main", [x, y, out], {"scaled_sum": scaled_sum})
    np.testing.assert_array_equal(out, 7)


def test_buffers_of_packed_functions_may_begin_anywhere() -> None:
    a = te.placeholder((4,), name="A")
    b = te.extern((4,), [a], lambda i, o: te.call_packed("f", i[0], o[0]), name="B")
    c = te.compute((4,), lambda i: b[i] + 1.0, name="C")
    text = te.create_prim_func([a, c]).script()
    assert "A = T.match_buffer(var_A, (4,), offset_factor=1)" in text
    assert "B = T.alloc_buffer((4,), offset_factor=1)" in text
    assert 'C: T.Buffer((4,), "float32")' in text


def test_several_tensors_by_statements() -> None:
    a = te.placeholder((6,), "int32", name="A")

    def fill(ins: list[Any], outs: list[Any]) -> Any:
        def body(b: te.Statements, sums: te.Tensor, halves: te.Tensor) -> None:
            total = b.cell("total", "int32", 0)
            with b.loop("i", a.dims[0]) as i:
                total.set(total.value + a(i))
                b.store(sums, [i], total.value)
                b.store(halves, [i], total.value.astype("float32") * 0.5)

        return body

    sums, halves = te.extern([(6,), (6,)], [a], fill, name="scan", dtype=["int32", "float32"])
    x = np.arange(6, dtype=np.int32)
    out = [np.zeros(6, np.int32), np.zeros(6, np.float32)]
    run([a, sums, halves], [x, *out])
    np.testing.assert_array_equal(out[0], np.cumsum(x))
    np.testing.assert_array_equal(out[1], np.cumsum(x) / 2)


def test_extern_errors() -> None:
    a, b = te.placeholder((4,), "int32", name="A"), te.placeholder((4,), name="B")
    with pytest.raises(DTypeError, match="do not say the dtype") as error:
        te.extern((4,), [a, b], lambda i, o: te.call_packed("f", o[0]))
    assert error.value.found == "int32, float32"
    with pytest.raises(TiraxError, match="as many dtypes as shapes"):
        te.extern([(4,), (4,)], [a], lambda i, o: te.call_packed("f", o[0]), dtype=["int32"])
    with pytest.raises(TiraxError, match="no buffers of its own"):
        te.extern((4,), [a], lambda i, o: te.call_packed("f", o[0]), in_buffers=[b])


def test_tags() -> None:
    a = te.placeholder((4,), name="A")
    with te.tag_scope("dense"):
        assert te.compute((4,), lambda i: a[i]).op.tag == "dense"
        with pytest.raises(TiraxError, match="has a tag already"):
            te.compute((4,), lambda i: a[i], tag="other")
        with pytest.raises(TiraxError, match="stands in another"), te.tag_scope("inner"):
            pass
    assert te.compute((4,), lambda i: a[i], tag="other").op.tag == "other"

    @te.tag_scope("conv")
    def tagged() -> Any:
        return te.compute((4,), lambda i: a[i])

    assert tagged().op.tag == "conv" and tagged().op.tag == "conv"


def test_scalar_functions() -> None:
    a, b, c = te.placeholder((4,), name="A"), te.placeholder((4,), name="B"), te.placeholder((4,), "int32", name="C")
    x, y = np.array([5.5, -5.5, 0.25, 3], np.float32), np.array([2, 2, 1, -4], np.float32)
    outs = [
        te.compute((4,), lambda i: te.fmod(a[i], b[i])),
        te.compute((4,), lambda i: te.atan2(a[i], b[i])),
        te.compute((4,), lambda i: te.logaddexp(a[i], b[i])),
        te.compute((4,), lambda i: te.popcount(c[i])),
        te.compute((4,), lambda i: te.indexdiv(c[i], 3)),
        te.compute((4,), lambda i: te.indexmod(c[i], 3)),
    ]
    z = np.array([0, 7, -1, 12], np.int32)
    actual = [np.zeros(4, o.dtype) for o in outs]
    run([a, b, c, *outs], [x, y, z, *actual])
    expected = [np.fmod(x, y), np.arctan2(x, y), np.logaddexp(x, y), np.bitwise_count(z.view(np.uint32)), z // 3, z % 3]
    for value, reference in zip(actual, expected, strict=True):
        np.testing.assert_allclose(value, reference, rtol=1e-5)
    with pytest.raises(DTypeError, match="fmod is for floating"):
        te.fmod(c[0], 2)
    with pytest.raises(DTypeError, match="popcount is for integers"):
        te.popcount(a[0])


def test_calls_of_packed_functions_are_built_alone() -> None:
    source = te.placeholder((4,), name="A")
    out = te.extern((4,), [source], lambda ins, outs: te.call_packed("te_test.twice", ins[0], outs[0]), name="B")

    def twice(a: Any, b: Any) -> None:
        b.copyfrom(a.numpy() * 2)

    tvm.register_func("te_test.twice", twice, override=True)
    actual = tvm.nd.array(np.zeros(4, "float32"))
    lib = tvm.build(te.create_prim_func([source, out]), target="llvm")
    lib["main"](tvm.nd.array(np.arange(4, dtype="float32")), actual)
    assert actual.numpy().tolist() == [0, 2, 4, 6]


@T.prim_func
def accumulate(S: T.Buffer((2,), "float32"), X: T.Buffer((2,), "float32"), Y: T.Buffer((2,), "float32")):
    for i in range(2):
        S[i] = S[i] + X[i]
        Y[i] = X[i] * T.float32(3)


def test_buffers_that_are_read_are_the_inputs() -> None:
    s, x = te.placeholder((2,), name="S"), te.placeholder((2,), name="X")
    y = te.extern_primfunc([s, x], accumulate)
    assert [b.name for b in y.op.input_placeholders] == ["S", "X"]
    assert [b.name for b in y.op.output_placeholders] == ["Y"]
    total, array, out = np.array([1, 2], np.float32), np.array([3, 4], np.float32), np.zeros(2, np.float32)
    run([s, x, y], [total, array, out])
    np.testing.assert_array_equal(total, [4, 6])
    np.testing.assert_array_equal(out, [9, 12])


@T.prim_func
def double_in_place(C: T.Buffer((2,), "float32"), A: T.Buffer((2,), "float32")):
    for i in range(2):
        C[i] = C[i] + A[i]
        A[i] = A[i] * T.float32(2)


def test_of_buffers_changed_in_place_the_last_is_the_output() -> None:
    c = te.placeholder((2,), name="C")
    a = te.extern_primfunc([c], double_in_place)
    assert [b.name for b in a.op.output_placeholders] == ["A"]


def test_layout_free_tensors_that_are_computed_are_noted_at_their_reader() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="B")
    c = te.compute((4,), lambda i: b[i] * 2.0, name="C", attrs={"layout_free_placeholders": [b]})
    func = te.create_prim_func([a, c])
    assert 'T.block_attr({"layout_free_placeholders": [B]})' in func.script()
    block = func.body.block.body[1].body.block
    assert [noted.name for noted in block.annotations["layout_free_placeholders"]] == ["B"]
