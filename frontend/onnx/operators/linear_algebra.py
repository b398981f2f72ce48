"""Matrix products of floats and integers, and determinants."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....handles.relax.expr import Expr
from ....topi.linear_algebra import determinant
from ..node import Node
from ..single import in_single
from ..table import MICROSOFT, converter, rows, simple
from ..values import Value, as_value, op
from .activations import activation
from .convolution import shifted, zero_point

rows(simple("matmul"), "MatMul")


@converter("Gemm")
def gemm(node: Node, a: Value, b: Value, c: Value | None = None) -> Any:
    """Return alpha * a * b + beta * c; scaling is rounded to 16 bits last, since the product alone may overflow."""
    is_scaled = any(node.attr(name) not in (None, 1.0) for name in ("alpha", "beta"))
    return (in_single(_gemm) if is_scaled else _gemm)(node, a, b, c)


def _gemm(node: Node, a: Value, b: Value, c: Value | None) -> Expr:
    left = op("permute_dims", a) if node.attr("transA") else a
    right = op("permute_dims", b) if node.attr("transB") else b
    product = _scaled(op("matmul", left, right), node.attr("alpha"))
    return product if c is None else op("add", product, _scaled(c, node.attr("beta")))


@converter("FusedGemm", domain=MICROSOFT)
def fused_gemm(node: Node, a: Value, b: Value, c: Value | None = None) -> Expr:
    attrs = {"alpha": node.attr("activation_alpha"), "beta": node.attr("activation_beta")}
    apply = activation(node, node.attr("activation"), *(v for v in attrs.values() if v is not None))
    return apply(node.emit(as_value(gemm(node, a, b, c)).expr))


def _scaled(x: Value | Expr, factor: float | None) -> Any:
    return x if factor in (None, 1.0) else op("multiply", x, factor)


@converter("Einsum")
def einsum(node: Node, *xs: Value) -> Expr:
    return op("einsum", list(xs), subscripts=node.attr("equation").replace(" ", ""))


@converter("FusedMatMul", domain=MICROSOFT)
@converter("TransposeMatMul", domain=MICROSOFT)
def fused_matmul(node: Node, a: Value, b: Value) -> Expr:
    left = _arranged(a, node.attr("transA", 0), node.attr("transBatchA", 0))
    right = _arranged(b, node.attr("transB", 0), node.attr("transBatchB", 0))
    return _scaled(op("matmul", left, right), node.attr("alpha", 1.0))


def _arranged(x: Value, transposed: int, batch: int) -> Value | Expr:
    """Move a batch dimension after the rows to the front, and transpose the last two dimensions."""
    if x.rank < 2 or not (transposed or batch):
        return x
    axes = [*range(1, x.rank - 1), 0, x.rank - 1] if batch else list(range(x.rank))
    if transposed:
        axes[-2:] = axes[:-3:-1]
    return op("permute_dims", x, axes=axes)


@converter("MatMulInteger")
def matmul_integer(node: Node, a: Value, b: Value, a_zero: Value | None = None, b_zero: Value | None = None) -> Expr:
    """Return 32-bit integer sums; zero points may be per row of `a` and per column of `b`."""
    return integer_product(a, b, a_zero, b_zero)


def integer_product(a: Value, b: Value, a_zero: Value | None, b_zero: Value | None) -> Expr:
    """Return the 32-bit integer product of int8 matrices minus their zero points, with wrap-around.

    The matrices are multiplied as int8, for which processors have instructions, and the contribution of the
    zero points is subtracted: (a - p) (b - q) = a b - p sum(b) - sum(a - p) q, with sums over the reduction
    dimension.
    """
    if a.rank < 2 or b.rank < 2:
        return op("matmul", shifted(a, a_zero), shifted(b, b_zero))
    product = op("matmul", a, b, out_dtype="int32")
    by_row, by_column = zero_point(a_zero, a, a.rank - 2), zero_point(b_zero, b, b.rank - 1)
    if by_row is not None:
        columns = op("sum", op("astype", b, dtype="int32"), axis=[-2], keepdims=True)
        product = op("subtract", product, op("multiply", by_row, columns))
    if by_column is not None:
        rows = op("sum", shifted(a, a_zero, a.rank - 2), axis=[-1], keepdims=True)
        product = op("subtract", product, op("multiply", rows, by_column))
    return product


@converter("Det")
@in_single
def det(node: Node, x: Value) -> Expr:
    return node.call_te(determinant, x)


@converter("Solve", domain=MICROSOFT)
def solve(node: Node, a: Value, b: Value) -> Expr:
    """Return the solution of a x = b for a constant matrix, as Gaussian processes of skl2onnx have it."""
    if a.array is None:
        raise node.not_constant(a, "the matrix of equations")
    return op("matmul", Value.constant(np.linalg.inv(a.array.astype("float64")), a.dtype), b)
