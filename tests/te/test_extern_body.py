"""Tensors that statements compute."""

from __future__ import annotations

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, f32, i64

from tirax import te
from tirax.dialects import tir
from tirax.dialects.sym.expr import Const, Var
from tirax.dialects.xdsl_extras.loop_annotation import LoopAnnotationAttr
from tirax.driver.pipelines import make_passes
from tirax.handles.tir import prim_expr as tx
from tirax.interpreter import interpret
from tirax.ir.passes.transform import new_context
from tirax.ir.verification.verify import verify_module
from tirax.te.extern_body import Statements, filled
from tirax.te.tensor import Tensor


def _run(args: list[Tensor], values: list[np.ndarray]) -> ModuleOp:
    module = ModuleOp([te.create_prim_func(args)])
    verify_module(module)
    interpret(module, "main", values)
    return module


def test_loops_branches_and_cells() -> None:
    """How many elements before each one are positive."""
    x = te.placeholder([Var("n")], "float32", "x")

    def body(b: Statements, out: Tensor) -> None:
        count = b.cell("count", i64, 0)
        with b.loop("i", x.dims[0]) as i:
            b.store(out, [i], count.value)
            with b.when(tx.less(0.0, x(i))):
                count.set(count.value + 1)

    (out,) = filled([("out", x.dims, i64)], [x], body, "count")
    actual = np.zeros(4, np.int64)
    module = _run([x, out], [np.array([1, -1, 2, 0], np.float32), actual])
    np.testing.assert_array_equal(actual, [0, 1, 1, 2])
    (block,) = (op for op in module.walk() if isinstance(op, tir.BlockOp))
    assert block.block_name.data == "count"


def test_while_and_a_tensor_that_stays_inside() -> None:
    """Powers of two below a bound, by way of a scratch tensor; a compute reads what the statements wrote."""
    x = te.placeholder([Const(1)], "int64", "x")

    def body(b: Statements, out: Tensor, scratch: Tensor) -> None:
        power = b.cell("power", i64, 1)
        zero = tx.const(0, i64)
        b.store(scratch, [zero], 0)
        with b.repeat_while(tx.less(power.value, x(zero))):
            b.store(scratch, [zero], scratch(zero) + 1)
            power.set(power.value * 2)
        b.store(out, [zero], scratch(zero))

    out, _ = filled([("out", x.dims, i64), ("scratch", x.dims, i64)], [x], body, "log")
    half = te.compute(x.shape, lambda i: out(i).astype("float32") * 0.5, "half")
    assert half.type == f32
    actual = np.zeros(1, np.float32)
    _run([x, half], [np.array([100]), actual])
    np.testing.assert_array_equal(actual, [3.5])


def test_nested_loops_of_no_dimension_run_once() -> None:
    x = te.placeholder([], "float32", "x")

    def body(b: Statements, out: Tensor) -> None:
        with b.loops("i", x.dims, parallel=True) as i:
            b.store(out, i, x(*i) + 1.0)

    (out,) = filled([("out", [], f32)], [x], body, "increment")
    actual = np.zeros((), np.float32)
    _run([x, out], [np.float32(2).reshape(()), actual])
    assert actual == 3


def test_names_and_loops_that_are_written_out() -> None:
    """A name keeps what a store behind it changes; a loop that is written out says so to LLVM."""
    x = te.placeholder([Const(4)], "int64", "x")

    def body(b: Statements, out: Tensor) -> None:
        with b.loop("i", x.dims[0], written_out=True) as i:
            b.store(out, [i], x(i))
            before = b.let("before", out(i))
            b.store(out, [i], before * 2)
            b.store(out, [i], out(i) + before)

    (out,) = filled([("out", x.dims, i64)], [x], body, "thrice")
    result = np.zeros(4, np.int64)
    module = _run([x, out], [np.arange(4), result])
    np.testing.assert_array_equal(result, 3 * np.arange(4))
    for name in ("lower-init-block", "convert-blocks-to-opaque", "lower-opaque-block", "convert-tir-to-scf"):
        make_passes([name])[0].apply(new_context(), module)
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    assert loop.attributes["loop_annotation"] == LoopAnnotationAttr.of(unroll={"full": True})
