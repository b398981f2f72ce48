"""Probabilities of classes from those of pairs of them."""

from __future__ import annotations

from itertools import combinations

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from ..dialects.sym.expr import Const
from ..handles.tir import prim_expr as tx
from ..handles.tir.math_functions import abs_
from ..handles.tir.prim_expr import PrimExpr
from ..te.extern_body import Array, Cell, Statements, filled
from ..te.tensor import Tensor

_LEAST = 1e-7


def class_probabilities(odds: Tensor, classes: int) -> Tensor:
    """Return probabilities of classes, from those of the first of each pair (0, 1), (0, 2), … (Wu, Lin and Weng, 2004).

    It is LIBSVM's iteration, with its tolerance: the probabilities are only as exact as that, so that another way of
    solving the same system gives others.
    """
    rows, dtype, k = odds.dims[0], odds.type, classes

    def body(b: Statements, out: Tensor) -> None:
        with b.loop("row", rows, parallel=True) as row:
            matrix, p, product = (b.array(n, dtype, e) for n, e in (("matrix", k * k), ("p", k), ("product", k)))
            _fill(b, odds, row, matrix, k)
            for t in range(k):
                p.set(tx.const(t, i64), 1.0 / k)
            going = b.cell("going", i64, 1)
            total = b.cell("total", dtype, 0.0)
            with b.loop("iteration", Const(max(100, k))), b.when(tx.equal(going.value, 1)):
                _iterate(b, (matrix, p, product), total, going, k, dtype)
            with b.loop("t", Const(k)) as t:
                b.store(out, [row, t], p(t))

    return filled([("probabilities", [rows, Const(k)], dtype)], [odds], body, "class_probabilities")[0]


def _fill(b: Statements, odds: Tensor, row: PrimExpr, matrix: Array, k: int) -> None:
    """Set the matrix of the quadratic form that the probabilities minimize."""
    dtype = odds.type
    at = [[tx.const(i * k + j, i64) for j in range(k)] for i in range(k)]
    for t in range(k):
        matrix.set(at[t][t], tx.const(0.0, dtype))
    for e, (i, j) in enumerate(combinations(range(k), 2)):
        low, high = tx.const(_LEAST, dtype), tx.const(1 - _LEAST, dtype)
        first = b.let("first", tx.minimum(tx.maximum(odds(row, e), low), high))
        second = b.let("second", tx.const(1.0, dtype) - first)
        matrix.set(at[i][i], matrix(at[i][i]) + second * second)
        matrix.set(at[j][j], matrix(at[j][j]) + first * first)
        matrix.set(at[i][j], tx.const(0.0, dtype) - first * second)
        matrix.set(at[j][i], tx.const(0.0, dtype) - first * second)


def _iterate(
    b: Statements, arrays: tuple[Array, Array, Array], total: Cell, going: Cell, k: int, dtype: Attribute
) -> None:
    """Stop where the conditions of the minimum hold, else move each probability towards it."""
    matrix, p, product = arrays
    zero, one = tx.const(0.0, dtype), tx.const(1.0, dtype)
    extent = Const(k)
    total.set(zero)
    with b.loop("t", extent) as t:
        product.set(t, zero)
        with b.loop("j", extent) as j:
            product.set(t, product(t) + matrix(t * k + j) * p(j))
        total.set(total.value + p(t) * product(t))
    going.set(0)
    with b.loop("t", extent) as t, b.when(tx.less_equal(tx.const(0.005 / k, dtype), abs_(product(t) - total.value))):
        going.set(1)
    with b.when(tx.equal(going.value, 1)), b.loop("t", extent) as t:
        own = b.let("own", matrix(t * k + t))
        step = b.let("step", tx.div(total.value - product(t), own))
        scale = b.let("scale", one + step)
        p.set(t, p(t) + step)
        total.set(tx.div(total.value + step * (step * own + product(t) * 2.0), scale * scale))
        with b.loop("j", extent) as j:
            product.set(j, tx.div(product(j) + step * matrix(t * k + j), scale))
            p.set(j, tx.div(p(j), scale))
