"""Operators as machine code: those of statements and intrinsics that no legalization reaches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.tvm_api import te, topi

X = np.random.default_rng(0).random((5, 6)).astype("float32") * 4 - 2
AT = np.array([3, 0, 4, 1], "int32")
FIRST = X[:, :3] + 1
CASES: dict[str, tuple[Any, list[Any], Any]] = {
    "sort": (lambda t: topi.sort(t), [X], np.sort(X)),
    "running": (lambda t: topi.scanop(t, te.max, te.min_value("float32"), "m", 1), [X], np.maximum.accumulate(X, 1)),
    "atan2": (lambda t: topi.atan2(t, t + 1.0), [X], np.arctan2(X, X + 1)),
    "reinterpret": (lambda t: topi.reinterpret(t, "int32"), [X], X.view("int32")),
    "fixed point": (lambda t: topi.fixed_point_multiply(t, 1 << 30, 2), [AT * 8], AT * 16),
    "argmax": (lambda t: topi.argmax(t, 1, select_last_index=True), [X], X.argmax(1)),
    "any": (lambda t: topi.any(topi.greater(t, 1.5), 1), [X], (X > 1.5).any(1)),
    "scatter": (
        lambda t, i: topi.scatter_nd(t, topi.expand_dims(i, 0), topi.full((4, 6), "float32", 1), "update"),
        [X, AT],
        np.where(np.isin(np.arange(5), AT)[:, None], np.float32(1), X),
    ),
    "strided set": (
        lambda t, v: topi.strided_set(t, v, [0, 5], [5, 2], [1, -1]),
        [X, FIRST],
        np.concatenate([X[:, :3], FIRST[:, ::-1]], 1),
    ),
    "set diagonal": (
        lambda t: topi.matrix_set_diag(t, topi.full((5,), "float32", 9)),
        [X],
        X * (1 - np.eye(5, 6)) + 9 * np.eye(5, 6),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_native(name: str) -> None:
    function, arrays, expected = CASES[name]
    tensors = [te.placeholder(a.shape, str(a.dtype), f"x{n}") for n, a in enumerate(arrays)]
    result = function(*tensors)
    lib = tvm.build(te.create_prim_func([*tensors, result]), target="llvm")
    out = tvm.nd.array(np.zeros([int(d) for d in result.shape], result.dtype))
    lib["main"](*map(tvm.nd.array, arrays), out)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5)
