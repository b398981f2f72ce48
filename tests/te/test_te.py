"""The tensor-expression language: names and structure as TVM prints them, meaning by the interpreter, and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tirax import te, topi
from tirax import tvm_api as tvm
from tirax.diagnostics import ShapeError, TiraxError
from tirax.dialects import tir
from tirax.interpreter import interpret
from tirax.ir.verification.verify import verify_module
from tirax.script.printer import print_script


def text(*args: Any, **options: Any) -> str:
    func = te.create_prim_func(list(args), **options)
    verify_module(ModuleOp([func]))
    return print_script(func)


def run(args: list[Any], arrays: list[Any]) -> None:
    func = te.create_prim_func(args)
    module = ModuleOp([func])
    verify_module(module)
    interpret(module, "main", arrays)


def matmul_relu() -> tuple[Any, Any, Any, Any]:
    a = te.placeholder((128, 128), name="A", dtype="float32")
    b = te.placeholder((128, 128), name="B", dtype="float32")
    assert a.shape[1] == b.shape[0]
    k = te.reduce_axis((0, a.shape[1]), name="k")
    c = te.compute((a.shape[0], b.shape[1]), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="matmul")
    return a, b, c, te.compute(c.shape, lambda i, j: te.max(c[i, j], 0), name="relu")


def test_matmul_relu_golden(golden: Callable[[str, str], None]) -> None:
    a, b, _, d = matmul_relu()
    golden("te/matmul_relu.txt", text(a, b, d))


def test_intermediate_as_argument_is_no_allocation() -> None:
    a, b, c, d = matmul_relu()
    func = te.create_prim_func([a, b, c, d])
    assert len(func.params) == 4
    assert not any(isinstance(op, tir.AllocBufferOp) for op in func.walk())


def test_axis_names(golden: Callable[[str, str], None]) -> None:
    n = te.var("n", "int64")
    a = te.placeholder((n, 8), name="A")
    b = te.compute(a.shape, lambda *i: a(*i) * 2 + 1, name="B")
    c = te.compute((n, 8), lambda i, *rest: b[i, rest[0]] - 1)
    golden("te/axis_names.txt", text(a, c))


def test_several_outputs() -> None:
    a = te.placeholder((3, 4), name="A")
    two = te.compute((3, 4), lambda i, j: (a[i, j], a[i, j] + 1), name="two")
    assert [t.name for t in two] == ["two_v0", "two_v1"]
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    out = [np.zeros_like(x), np.zeros_like(x)]
    run([a, *two], [x, *out])
    np.testing.assert_array_equal(out[1], x + 1)
    printed = text(a, *two)
    assert 'T.block("two_v0")' in printed and 'T.block("two_v1")' in printed


def test_block_names_are_unique_and_buffers_named_by_tensors() -> None:
    a = te.placeholder((4,), name="A")
    printed = text(a, topi.add(topi.add(a, 1.0), 2.0))
    assert 'T.block("T_add")' in printed and 'T.block("T_add_1")' in printed
    assert "T_add_1 = T.alloc_buffer((4,))" in printed


def test_reductions_with_condition_and_start() -> None:
    x = te.placeholder((5, 6), "int32", name="x")
    k = te.reduce_axis((0, 6), name="k")
    below = te.compute((5,), lambda i: te.max(x[i, k], axis=k, where=k < 3), name="below")
    plus = te.compute((5,), lambda i: te.sum(x[i, k], axis=[k], init=100), name="plus")
    data = np.arange(30, dtype=np.int32).reshape(5, 6)
    out = [np.zeros(5, np.int32), np.zeros(5, np.int32)]
    run([x, below, plus], [data, *out])
    np.testing.assert_array_equal(out[0], data[:, :3].max(1))
    np.testing.assert_array_equal(out[1], data.sum(1) + 100)


def test_reduction_over_a_part() -> None:
    x = te.placeholder((6,), name="x")
    k = te.reduce_axis((2, 5), name="k")
    total = te.compute((), lambda: te.sum(x[k], axis=k), name="total")
    out = np.zeros((), np.float32)
    run([x, total], [np.arange(6, dtype=np.float32), out])
    assert out == 2 + 3 + 4


def test_comm_reducer() -> None:
    product = te.comm_reducer(lambda a, b: a * b, lambda t: te.const(1, t), name="product")
    first = te.comm_reducer(
        lambda a, b: (te.Select(a[0] >= 0, a[0], b[0]), te.Select(a[0] >= 0, a[1], b[1])), lambda t, u: (-1, 0)
    )
    x = te.placeholder((3, 4), name="x")
    k = te.reduce_axis((0, 4), "k")
    p = te.compute((3,), lambda i: product(x[i, k], axis=k))
    at, value = te.compute((3,), lambda i: first((k, x[i, k]), axis=k), name="first")
    data = np.arange(12, dtype=np.float32).reshape(3, 4) + 1
    out = [np.zeros(3, np.float32), np.zeros(3, np.int32), np.zeros(3, np.float32)]
    run([x, p, at, value], [data, *out])
    np.testing.assert_allclose(out[0], data.prod(1))
    np.testing.assert_array_equal(out[1], 0)
    np.testing.assert_array_equal(out[2], data[:, 0])


def test_symbolic_parameter() -> None:
    n = te.var("n", "int64")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: te.if_then_else(i + 1 < n, a[i + 1], a[0] * n), name="B")
    x = np.arange(1, 5, dtype=np.float32)
    out = np.zeros(4, np.float32)
    run([a, b], [x, out])
    np.testing.assert_array_equal(out, [2, 3, 4, 4])


def test_index_dtype_override() -> None:
    a, b, _, d = matmul_relu()
    printed = text(a, b, d, index_dtype_override="int64")
    assert "T.grid(T.int64(128), T.int64(128), T.int64(128))" in printed
    shifted = te.compute((127,), lambda i: a[i + 1, 0], name="S")
    assert "A[v_i + T.int64(1), T.int64(0)]" in text(a, shifted, index_dtype_override="int64")


def test_comparisons_print_as_less_than() -> None:
    a = te.placeholder((4,), name="A")
    assert "T.float32(0.0) < A[v_i]" in text(a, te.compute((4,), lambda i: te.Select(a[i] > 0, a[i], 1)))


def test_slices_and_full_tensor_arithmetic() -> None:
    a = te.placeholder((2, 3), name="A")
    b = te.compute((2, 3), lambda i, j: a[i][j] + 1, name="B")
    x = np.ones((2, 3), np.float32)
    out = np.zeros_like(x)
    run([a, 2 - (a + b) * 3], [x, out])
    np.testing.assert_array_equal(out, -7)


def test_a_reduction_inside_of_an_expression_is_refused() -> None:
    x = te.placeholder((4, 4))
    k = te.reduce_axis((0, 4))
    with pytest.raises(TiraxError, match="inside of an expression"):
        te.compute((4,), lambda i: te.sum(x[i, k], axis=k) + 1)
    with pytest.raises(TiraxError, match="among several values"):
        te.compute((4,), lambda i: (te.sum(x[i, k], axis=k), x[i, 0]))


def test_errors() -> None:
    x = te.placeholder((4, 4), name="x")
    with pytest.raises(ShapeError, match="another number of indices") as error:
        te.compute((4, 4), lambda i: x[i, i])
    assert error.value.found == 1
    with pytest.raises(ShapeError, match="'x' has 2 dimensions"):
        te.compute((4,), lambda i: x(i))
    with pytest.raises(TiraxError, match="'x' is not among the arguments"):
        te.create_prim_func([te.compute((4, 4), lambda i, j: x[j, i])])
    with pytest.raises(TiraxError, match="given twice"):
        te.create_prim_func([x, x])
    with pytest.raises(TiraxError, match="needs its axis"):
        te.compute((4,), lambda i: te.sum(x[i, 0]))
    n, m = te.var("n"), te.var("m")
    a = te.placeholder((n,), name="a")
    with pytest.raises(TiraxError, match="no argument determines m"):
        te.create_prim_func([a, te.compute((n,), lambda i: a[i] * m)])
    te.create_prim_func([a, m, te.compute((n,), lambda i: a[i] * m)])
    k = te.Var("k", "int64")  # a variable by itself is the symbolic one of its name
    b = te.placeholder((k,), name="b")
    func = te.create_prim_func([b, te.compute((k,), lambda i: b[k - 1 - i] * k)])
    assert str(func.params[0].type) == "!tir.buffer<[k], f32>"
    spatial = te.compute((4,), lambda i: x[i, 0]).op.axis[0]
    with pytest.raises(TiraxError, match="no reduction axis"):
        te.compute((4,), lambda i: te.sum(x[i, spatial], axis=spatial))
    with pytest.raises(TiraxError, match="known only at run time"):
        te.compute((te.compute((4,), lambda i: i)(0),), lambda i: x[i, 0])


def scanned(rows: int = 4) -> tuple[te.Tensor, te.Tensor]:
    x, state = te.placeholder((rows, 3), name="x"), te.placeholder((rows, 3), name="state")
    first = te.compute((1, 3), lambda _, i: x[0, i])
    rest = te.compute((rows, 3), lambda t, i: state[t - 1, i] + x[t, i])
    return x, te.scan(first, rest, state, name="total")


def test_scans_are_described_and_not_built():
    x, total = scanned()
    assert isinstance(total.op, te.ScanOp) and tuple(map(int, total.shape)) == (4, 3) and total.name == "total"
    assert [t.op.name for t in total.op.input_tensors] == ["compute", "compute"] and total.op.output(0) is total
    later = te.compute((4, 3), lambda i, j: total[i, j] * 2.0)
    for result in (total, later):
        with pytest.raises(TypeError, match=r"Unsupported Operation: ScanOp\."):
            te.create_prim_func([x, result])
    op = total.op
    both = te.scan(op.init * 2, op.update * 2, op.state_placeholder * 2)
    assert [t.value_index for t in both] == [0, 1] and both[0].op is both[1].op
    with pytest.raises(ShapeError, match="as many"):
        te.scan(op.init * 2, op.update, op.state_placeholder)
    with pytest.raises(ShapeError, match="of one shape"):
        te.scan(op.init, scanned(5)[1].op.update, op.state_placeholder)


def test_elements_of_tensors_without_dimensions():
    x = te.placeholder((3,), name="x")
    two = te.compute((), lambda: 2, name="two")
    total = te.compute((3,), lambda i: x[i] + tvm.tir.expr.ProducerLoad(two, []))
    inputs = np.arange(3, dtype="float32")
    result = np.zeros(3, "float32")
    run([x, total], [inputs, result])
    assert isinstance(x[0], tvm.tir.ProducerLoad) and not isinstance(x[0] + 1, tvm.tir.ProducerLoad)
    assert not isinstance(tvm.tir.decl_buffer((3,))[0], tvm.tir.ProducerLoad)
    np.testing.assert_array_equal(result, inputs + 2)


def test_reductions_have_their_parts():
    k = te.reduce_axis((0, 4), "k")
    x = te.placeholder((4,), "int32")
    total = te.sum(x[k], axis=k)
    assert (total.source, total.axis, total.condition, total.value_index) == (total.sources, (k,), None, 0)
    assert te.Reduce(None, [1], [k], None, 1).value_index == 1


@pytest.mark.parametrize(
    ("condition", "written", "values"),
    [
        (lambda i: i - 1 < 6, "v_i < 7", [0, 1, 2, 3, 4, 5, 6]),
        (lambda i: i + 2 <= 6, "v_i <= 4", [0, 1, 2, 3, 4]),
        (lambda i: i - 1 >= 2, "3 <= v_i", [3, 4, 5, 6, 7]),
        (lambda i: i + 3 > 4, "1 < v_i", [2, 3, 4, 5, 6, 7]),
        (lambda i: i - 2147483647 < 6, "v_i - 2147483647 < 6", list(range(8))),  # 2147483653 is no int32
        (lambda i: i * 2 < 6, "v_i * 2 < 6", [0, 1, 2]),
    ],
)
def test_comparisons_take_the_constants_that_are_added(
    condition: Callable[[Any], Any], written: str, values: list[int]
) -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: tvm.tir.Select(condition(i), a[i], tvm.tir.const(-1.0, "float32")), name="B")
    assert f"T.Select({written}," in text(a, b)
    out = np.zeros(8, dtype="float32")
    run([a, b], [np.arange(8, dtype="float32"), out])
    assert out.tolist() == [float(k) if k in values else -1.0 for k in range(8)]


def test_an_axis_may_be_a_range():
    axis = te.reduce_axis(tvm.ir.Range.from_min_extent(2, 5), "k")
    a = te.placeholder((7,), "float32", "A")
    total = te.compute((1,), lambda i: te.sum(a[axis], axis=axis), "total")
    data, out = np.arange(7, dtype="float32"), np.zeros(1, dtype="float32")
    run([a, total], [data, out])
    assert out[0] == data[2:7].sum()


def test_expressions_with_bound_variables() -> None:
    a = te.placeholder((6,), name="A")

    def element(i: Any) -> Any:
        x, y = tvm.tir.Var("x", "float32"), tvm.tir.Var("y", "float32")
        inner = tvm.tir.Let(y, x * 2.0, tvm.tir.if_then_else(i < 3, y + y, y - a[i]))
        return tvm.tir.if_then_else(i > 0, tvm.tir.Let(x, a[i] + 1.0, inner), 0.0)

    values = np.arange(6, dtype=np.float32)
    out = np.zeros_like(values)
    run([a, te.compute((6,), element)], [values, out])
    np.testing.assert_array_equal(out, [0, 8, 12, 5, 6, 7])
