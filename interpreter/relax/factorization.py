"""Reference semantics of matrix factorizations, in float64. Rows as in `operators`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime import linear_algebra, symmetric_systems

Array = Any


def _wide(args: tuple[Array, ...]) -> list[Array]:
    return [np.asarray(a, np.float64) for a in args]


def _checked(function: Callable[..., None]) -> Callable[..., tuple[Array, Array]]:
    """Return the reference of an operator with `info`, by the function that compiled programs call."""

    def run(op: Any, *args: Array) -> tuple[Array, Array]:
        wide = _wide(args)
        out = np.zeros((*np.broadcast_shapes(*(a.shape[:-2] for a in wide)), *wide[-1].shape[-2:]))
        info = np.zeros(out.shape[:-2], np.int32)
        function(*wide, *(op.attr(name) for name in op.ATTR_SPECS), out, info)
        return out, info

    return run


def _lu(_op: Any, x: Array) -> tuple[Array, Array, Array]:
    out, info = np.zeros(x.shape), np.zeros(x.shape[:-2], np.int32)
    pivots = np.zeros((*x.shape[:-2], min(x.shape[-2:])), np.int32)
    # pivots depend on rounding: they are those of the dtype
    linear_algebra.lu(np.asarray(x), narrow := np.zeros_like(x), pivots, info)
    np.copyto(out, narrow)
    return out, pivots, info


def _pivots_to_order(_op: Any, x: Array, pivots: Array) -> Array:
    out = np.zeros(x.shape[:-1], np.int64)
    linear_algebra.pivots_to_order(x, pivots, out)
    return out


def _solve_triangular(op: Any, x: Array, b: Array) -> Array:
    x, b = _wide((x, b))
    x = np.triu(x) if op.attr("upper") else np.tril(x)
    if op.attr("unitriangular"):
        x = x - x * np.eye(x.shape[-1]) + np.eye(x.shape[-1])
    return np.linalg.solve(x, b) if np.all(np.linalg.det(x)) else _substituted(x, b, op.attr("upper"))


def _substituted(x: Array, b: Array, upper: bool) -> Array:
    turned, rows = (x[..., ::-1, ::-1], b[..., ::-1, :]) if upper else (x, b)
    out = linear_algebra.substituted(turned, rows, unit=False)
    return out[..., ::-1, :] if upper else out


def _eig(_op: Any, x: Array) -> tuple[Array, Array]:
    values, vectors = np.zeros((*x.shape[:-1], 2)), np.zeros((*x.shape, 2))
    linear_algebra.eig(np.asarray(x, np.float64), values, vectors)
    return values, vectors


def _geqrf(_op: Any, x: Array) -> tuple[Array, Array]:
    reflectors, tau = np.linalg.qr(*_wide((x,)), mode="raw")
    return reflectors.swapaxes(-1, -2), tau


def _ldl(op: Any, x: Array) -> tuple[Array, Array, Array]:
    out, pivots, info = np.zeros_like(x), np.zeros(x.shape[:-1], np.int32), np.zeros(x.shape[:-2], np.int32)
    symmetric_systems.ldl(x, op.attr("check"), out, pivots, info)  # in its dtype, as in `_lu`
    return out, pivots, info


def _ldl_solve(_op: Any, x: Array, pivots: Array, b: Array) -> Array:
    x, b = _wide((x, b))
    out = np.zeros((*np.broadcast_shapes(x.shape[:-2], b.shape[:-2]), *b.shape[-2:]))
    symmetric_systems.ldl_solve(x, pivots, b, out)
    return out


def _matrix_exp(_op: Any, x: Array) -> Array:
    out = np.zeros(x.shape)
    linear_algebra.matrix_exp(x, out)
    return out


def _svd(full: bool) -> Callable[..., Any]:
    def run(op: Any, x: Array) -> Any:
        (wide,) = _wide((x,))
        return tuple(np.linalg.svd(wide, full_matrices=op.attr("full_matrices"))) if full else np.linalg.svdvals(wide)

    return run


def _qr(op: Any, x: Array) -> Any:
    result = np.linalg.qr(*_wide((x,)), mode=op.attr("mode"))
    return tuple(result) if isinstance(result, tuple) else result


def _side(op: Any) -> Any:
    return "U" if op.attr("upper") else "L"


FACTORIZATIONS: dict[str, Callable[..., Any]] = {
    "linalg.cholesky": _checked(linear_algebra.cholesky),
    "linalg.inv": _checked(linear_algebra.inv),
    "linalg.solve": _checked(linear_algebra.solve),
    "linalg.lu": _lu,
    "linalg.pivots_to_order": _pivots_to_order,
    "linalg.solve_triangular": _solve_triangular,
    "linalg.det": lambda _op, x: np.linalg.det(*_wide((x,))),
    "linalg.slogdet": lambda _op, x: tuple(np.linalg.slogdet(*_wide((x,)))),
    "linalg.qr": _qr,
    "linalg.svd": _svd(True),
    "linalg.svdvals": _svd(False),
    "linalg.eigh": lambda op, x: tuple(np.linalg.eigh(*_wide((x,)), UPLO=_side(op))),
    "linalg.eigvalsh": lambda op, x: np.linalg.eigvalsh(*_wide((x,)), UPLO=_side(op)),
    "linalg.eig": _eig,
    "linalg.geqrf": _geqrf,
    "linalg.ldl": _ldl,
    "linalg.ldl_solve": _ldl_solve,
    "linalg.matrix_exp": _matrix_exp,
}
"""Operators by name, without the prefix `relax.`."""
