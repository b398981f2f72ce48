"""The operators of differentiation: inference, what they refuse, text, numbers, native code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirax.runtime
from tirax.diagnostics import DTypeError, ShapeError, TiraxError
from tirax.interpreter import interpret
from tirax.tvm_api import relax
from tirax.tvm_api.relax.op import grad
from tirax.tvm_api.script import from_source

PROGRAM = """from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def main(
        g: R.Tensor(("n", 2, 3, 3), "float32"), x: R.Tensor(("n", 2, 6, 6), "float32"), i: R.Tensor(("m",), "int32"),
        h: R.Tensor(("n", 2, "m", 6), "float32"), p: R.Tensor(("n", 4, 2), "float32"), t: R.Tensor(("n", 2), "int64"),
        w: R.Tensor((4,), "float32"), s: R.Tensor((), "float32"), e: R.Tensor(("n", 2), "float32")
    ):
        n, m = T.int64(), T.int64()
        with R.dataflow():
            a = R.grad.max_pool2d_backward(g, x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])
            b = R.grad.avg_pool2d_backward(g, x, pool_size=[3, 2], strides=[2, 2], padding=[1, 0, 1, 0])
            c = R.grad.take_backward(h, x, i, axis=2)
            d = R.grad.nll_loss_backward(s, p, t, w, reduction="mean", ignore_index=2)
            f = R.grad.nll_loss_backward(e, p, t, reduction="none")
            k = R.grad.no_grad(R.grad.start_checkpoint(R.grad.end_checkpoint(x)))
            R.output(a, b, c, d, f, k)
        return (a, b, c, d, f, k)
"""


def inputs(n: int, m: int) -> list[Any]:
    rng = np.random.default_rng(0)
    shapes = {"g": (n, 2, 3, 3), "x": (n, 2, 6, 6), "h": (n, 2, m, 6), "p": (n, 4, 2), "w": (4,), "s": (), "e": (n, 2)}
    arrays = {k: np.asarray(rng.standard_normal(v)).astype("float32") for k, v in shapes.items()}
    arrays["x"] = np.round(arrays["x"])  # several elements of a window may be the greatest
    arrays |= {"i": rng.integers(0, 6, m).astype("int32"), "t": rng.integers(0, 4, (n, 2))}
    return [arrays[k] for k in "gxihptwse"]


def by_definition(g: Any, x: Any, i: Any, h: Any, p: Any, t: Any, w: Any, s: Any, e: Any) -> list[Any]:
    """Element by element, in plain loops."""
    greatest, mean, taken = np.zeros(x.shape), np.zeros(x.shape), np.zeros(x.shape)
    wide = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
    for b, c, u, v in np.ndindex(g.shape):
        window = wide[b, c, 2 * u : 2 * u + 3, 2 * v : 2 * v + 3]
        y, z = np.unravel_index(window.argmax(), window.shape)
        greatest[b, c, 2 * u + y - 1, 2 * v + z - 1] += g[b, c, u, v]
        rows = [r for r in range(2 * u - 1, 2 * u + 2) if 0 <= r < 6]
        for r in rows:
            mean[b, c, r, 2 * v : 2 * v + 2] += g[b, c, u, v] / (2 * len(rows))
    for k, place in enumerate(i):
        taken[:, :, place] += h[:, :, k]
    weighted, each = np.zeros(p.shape), np.zeros(p.shape)
    total = sum(w[c] for c in t.ravel() if c != 2)
    for b, q in np.ndindex(t.shape):
        each[b, t[b, q], q] = -e[b, q]
        if t[b, q] != 2:
            weighted[b, t[b, q], q] = -s * w[t[b, q]] / total
    return [greatest, mean, taken, weighted, each, x]


@pytest.mark.parametrize("sizes", [(3, 4), (1, 1)])
def test_numbers_of_the_interpreter_and_of_native_code(sizes: tuple[int, int]) -> None:
    module = from_source(PROGRAM)
    args = inputs(*sizes)
    expected = by_definition(*args)
    for actual in (
        interpret(module.op, "main", args),
        [a.numpy() for a in relax.build(module)["main"](*map(tirax.runtime.array, args))],
    ):
        for a, b in zip(actual, expected, strict=True):
            assert a.dtype == np.float32
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_nothing_at_all() -> None:
    module = from_source(PROGRAM)
    result = relax.build(module)["main"](*map(tirax.runtime.array, inputs(0, 0)))
    assert [a.shape[0] for a in result] == [0] * 6


def test_text_goes_there_and_back() -> None:
    module = from_source(PROGRAM)
    text = module.script()
    assert "R.grad.max_pool2d_backward(g, x, pool_size=[3, 3], strides=[2, 2], dilation=[1, 1]" in text
    assert 'R.grad.nll_loss_backward(s, p, t, w, reduction="mean", ignore_index=2)' in text
    assert from_source(text).script() == text


def var(*shape: int | str, dtype: str = "float32") -> Any:
    return relax.Var("v", relax.TensorStructInfo(shape, dtype))


def test_parameters_are_in_the_order_of_tvm() -> None:
    call = grad.max_pool2d_backward(var(1, 1, 2, 2), var(1, 1, 4, 4), (2, 2), (2, 2), (0, 0, 0, 0), (1, 1))
    assert call.attrs.padding == [0, 0, 0, 0] and call.attrs.dilation == [1, 1]
    assert call.struct_info.shape.values == [1, 1, 4, 4]
    assert grad.take_backward(var("n", 2), var(4, 2), var("n", dtype="int64"), 0).struct_info.shape.values == [4, 2]


REFUSED = {
    "pool": (
        lambda: grad.avg_pool2d_backward(var(1, 1, 3, 3), var(1, 1, 4, 4), (2, 2), (2, 2)),
        ShapeError,
        "dimension 2",
    ),
    "pool rank": (
        lambda: grad.max_pool1d_backward(var(1, 1), var(1, 1, 4)),
        ShapeError,
        "output_grad has the wrong rank",
    ),
    "take": (lambda: grad.take_backward(var(3, 2), var(4, 2), var(2, dtype="int64"), 0), ShapeError, "dimension 0"),
    "take axis": (
        lambda: grad.take_backward(var(2), var(4, 2), var(2, dtype="int64")),
        ShapeError,
        "axis must be given",
    ),
    "take index": (
        lambda: grad.take_backward(var(2, 2), var(4, 2), var(2), 0),
        DTypeError,
        "indices must be of an integer",
    ),
    "nll": (
        lambda: grad.nll_loss_backward(var(3), var(3, 4), var(3, dtype="int64")),
        ShapeError,
        "output_grad has the wrong rank",
    ),
    "nll reduction": (
        lambda: grad.nll_loss_backward(var(), var(3, 4), var(3, dtype="int64"), reduction="most"),
        ShapeError,
        "reduction is unknown",
    ),
    "nll weights": (
        lambda: grad.nll_loss_backward(var(), var(3, 4), var(3, dtype="int64"), var(5)),
        ShapeError,
        "weights must have an element for each class",
    ),
}


@pytest.mark.parametrize(("make", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(make: Any, kind: type[TiraxError], message: str) -> None:
    """Where the operands do not fit, the result is that of the data all the same, as in TVM; programs are refused."""
    with pytest.raises(kind, match=message):
        call = make()
        assert call.struct_info
        call.op_handle.check_operands()


def test_marks_take_any_value() -> None:
    pair = relax.TupleStructInfo([relax.TensorStructInfo((2,), "float32"), relax.TensorStructInfo((3,), "int64")])
    x = relax.Var("x", pair)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(grad.no_grad(x)))
    result = relax.build(bb.get())["main"](
        (tirax.runtime.array(np.ones(2, "float32")), tirax.runtime.array(np.arange(3)))
    )
    assert [a.shape for a in result] == [(2,), (3,)]
