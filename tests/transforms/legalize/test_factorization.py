"""Factorizations of matrices: native code and the interpreter beside numpy, at several sizes of one build."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tirax.dev.fuzz import checks
from tirax.dialects.relax.operator import Operator
from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.script import parse_source
from tirax.transforms.legalize import LegalizeOps


def lu(x: Any) -> Any:
    """L and U of a matrix that needs no exchange of rows."""
    lower, upper = np.eye(len(x)), np.array(x)
    for j in range(len(x)):
        lower[j + 1 :, j] = upper[j + 1 :, j] / upper[j, j]
        upper[j + 1 :] -= np.outer(lower[j + 1 :, j], upper[j])
    return np.tril(lower, -1) + np.triu(upper)


def ldl(x: Any) -> Any:
    """L below D, the pivots and the status of matrices whose diagonals are large, so that no row is exchanged."""
    root = L.cholesky(x)
    diagonal = np.diagonal(root, axis1=1, axis2=2)
    lower = np.tril(root / diagonal[:, None, :], -1) + diagonal[:, None, :] ** 2 * np.eye(x.shape[1])
    return lower, np.broadcast_to(np.arange(x.shape[1]) + 1, x.shape[:2]), 0


def raw(x: Any) -> Any:
    turned, tau = L.qr(x, mode="raw")
    return turned.swapaxes(1, 2), tau


L: Any = np.linalg
CASES: dict[str, Callable[..., Any]] = {
    "cholesky(x)": lambda x, b: (L.cholesky(x), 0),
    "cholesky(x, upper=True, check=False)": lambda x, b: (L.cholesky(x).swapaxes(1, 2), 0),
    "inv(x)": lambda x, b: (L.inv(x), 0),
    "solve(x, b)": lambda x, b: (L.solve(x, b), 0),
    "solve_triangular(x, b)": lambda x, b: L.solve(np.tril(x), b),
    "solve_triangular(x, b, upper=True)": lambda x, b: L.solve(np.triu(x), b),
    "lu(x)": lambda x, b: (
        np.stack([*map(lu, x)]) if len(x) else x,
        np.broadcast_to(np.arange(x.shape[1]) + 1, x.shape[:2]),
        0,
    ),
    "ldl(x)": lambda x, b: ldl(x),
    "geqrf(b)": lambda x, b: raw(b),
    "det(x)": lambda x, b: L.det(x),
    "slogdet(x)": lambda x, b: L.slogdet(x),
    'qr(b, mode="r")': lambda x, b: L.qr(b, mode="r"),
    "qr(b)": lambda x, b: L.qr(b),
    'qr(b, mode="complete")': lambda x, b: L.qr(b, mode="complete"),
    "svd(b, full_matrices=False)": lambda x, b: L.svd(b, full_matrices=False),
    "svdvals(b)": lambda x, b: L.svdvals(b),
    "eigh(x)": lambda x, b: L.eigh(x),
    "eigvalsh(x, upper=True)": lambda x, b: L.eigvalsh(x),
    "matrix_exp(x)": lambda x, b: np.stack([expm(m) for m in x]) if len(x) else x,
}
"""Calls, and what numpy gives for diagonally dominant, positive definite x."""


def expm(x: Any) -> Any:
    values, v = L.eigh(x)
    return (v * np.exp(values)) @ v.T


def module(dtype: str) -> Any:
    functions = [
        f"@R.function\ndef f{i}(x: R.Tensor(('b', 'n', 'n'), '{dtype}'), b: R.Tensor(('b', 'n', 'k'), '{dtype}')):\n"
        f"    y = R.linalg.{call}\n    return y\n"
        for i, call in enumerate(CASES)
    ]
    body = "".join("    " + line + "\n" for f in functions for line in f.splitlines())
    return parse_source("@I.ir_module\nclass Module:\n" + body)


def operands(batch: int, n: int, k: int, dtype: str) -> tuple[Any, Any]:
    random = np.random.default_rng(3)
    x = random.standard_normal((batch, n, n)) / (2 * n + 1)
    return (x + x.swapaxes(1, 2) + 2 * np.eye(n)).astype(dtype), random.standard_normal((batch, n, k)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_as_numpy(dtype: str) -> None:
    program = module(dtype)
    native = build(program)
    for batch, n, k in [(2, 5, 3), (1, 1, 1), (0, 3, 2), (2, 3, 4)]:
        args = operands(batch, n, k, dtype)
        for i, (call, wanted) in enumerate(CASES.items()):
            expected = wanted(*(a.astype("float64") for a in args))
            for found in (native[f"f{i}"](*args), interpret(program, f"f{i}", list(args))):
                close(call, found, expected)


def close(call: str, found: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple):
        for f, w in zip(found, wanted, strict=True):
            close(call, f, w)
        return
    bound = 1e-4 if found.dtype == np.float32 else 1e-10
    # the signs of vectors are free
    compare = np.abs if call.startswith(("qr", "svd", "eigh")) else np.asarray
    np.testing.assert_allclose(
        compare(found), np.broadcast_to(compare(wanted), found.shape), rtol=bound, atol=bound, err_msg=call
    )


def test_texts() -> None:
    program = module("float32")
    checks.texts(program)
    legal = LegalizeOps()(program)
    assert not any(isinstance(op, Operator) for op in legal.walk())
    checks.texts(legal)


def test_unknown_shapes_are_kept() -> None:
    program = parse_source("@R.function\ndef main(x: R.Tensor(ndim=2, dtype='float32')):\n    return R.linalg.svd(x)\n")
    assert any(isinstance(op, Operator) for op in LegalizeOps()(program).walk())
