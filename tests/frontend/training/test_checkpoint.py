"""Helpers that mark checkpoints: their text is TVM's, and the gradient computes again what is between the marks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tirax.diagnostics import TiraxError
from tirax.frontend.training.checkpoint import checkpoint, emit_checkpoint, emit_checkpoint_sequential
from tirax.interpreter import interpret
from tirax.tvm_api import relax
from tirax.tvm_api.relax import op as R
from tirax.tvm_api.relax.transform import Gradient

INFO = relax.TensorStructInfo((3,), "float64")


def module(make: Callable[..., Any]) -> Any:
    """main(x, y) = sum(make(bb, x, y))"""
    bb = relax.BlockBuilder()
    x, y = relax.Var("x", INFO), relax.Var("y", INFO)
    with bb.function("main", [x, y]):
        with bb.dataflow():
            result = bb.emit_output(R.sum(make(bb, x, y)))
        bb.emit_func_output(result)
    return bb.get()


def values(mod: Any, name: str) -> Any:
    return interpret(mod.op, name, [np.array([0.1, 0.2, 0.3]), np.array([1.0, -1.0, 2.0])])


def plain(bb: Any, x: Any, y: Any) -> Any:
    return R.multiply(R.exp(R.sin(x)), y)


def test_a_part_is_computed_again() -> None:
    marked = Gradient("main")(module(lambda bb, x, y: R.multiply(checkpoint(lambda a: R.exp(R.sin(a)), x), y)))
    assert marked["main_adjoint"].script().count("R.exp(") == 2
    expected = values(Gradient("main")(module(plain)), "main_adjoint")
    for a, b in zip(values(marked, "main_adjoint")[1], expected[1], strict=True):
        np.testing.assert_allclose(a, b)


def test_marks_have_names() -> None:
    def make(bb: Any, x: Any, y: Any) -> Any:
        actual = emit_checkpoint(lambda a, b, k: [bb.emit(R.multiply(a, b), "z"), k], x, y, k=2)
        assert actual[1] == 2
        return actual[0]

    text = module(make).script()
    for line in ("x_scp: ", "y_scp: ", "z: ", "z_ecp: "):
        assert line in text
    assert "R.grad.start_checkpoint(x)" in text and "R.grad.end_checkpoint(z)" in text
    assert "R.multiply(x_scp, y_scp)" in text


@pytest.mark.parametrize(
    ("segments", "last", "marks"), [(2, False, 1), (2, True, 2), ([0, 1, 3], False, 2), (1, False, 0)]
)
def test_segments_of_a_sequence(segments: Any, last: bool, marks: int) -> None:
    def make(bb: Any, x: Any, y: Any) -> Any:
        functions = [lambda v, f=f: bb.emit(f(v)) for f in (R.sin, R.exp, R.tanh, R.cos)]
        return R.multiply(emit_checkpoint_sequential(functions, segments, x, last), y)

    result = module(make)
    assert result.script().count("end_checkpoint") == marks
    x, y = np.array([0.1, 0.2, 0.3]), np.array([1.0, -1.0, 2.0])
    np.testing.assert_allclose(values(result, "main"), (np.cos(np.tanh(np.exp(np.sin(x)))) * y).sum())
    by_y = values(Gradient("main")(result), "main_adjoint")[1][1]
    np.testing.assert_allclose(by_y, np.cos(np.tanh(np.exp(np.sin(x)))))


@pytest.mark.parametrize("segments", [0, 3, [1], [0, 0], [0, 2], []])
def test_segments_that_do_not_fit(segments: Any) -> None:
    with pytest.raises(TiraxError, match="segments|too few functions"):
        emit_checkpoint_sequential([R.sin, R.cos], segments, relax.Var("x", INFO))


def test_outside_of_a_function() -> None:
    with pytest.raises(TiraxError, match="no function to emit into"):
        emit_checkpoint(R.sin, relax.Var("x", INFO))
