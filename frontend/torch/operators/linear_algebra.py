"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....handles.relax.expr import Expr
from ...importing.relax_operators import R
from ..emitter import Emitter, cast_to, dtype_of, rank_of
from ..promotion import operands
from ..table import row
from .elementwise import scaled
from .reduction import accumulated


def product(e: Emitter, a: Expr, b: Expr) -> Expr:
    """The matrix product, of the operands' dtype."""
    a, b = operands(e, a, b)
    return R.matmul(a, b, out_dtype=dtype_of(a))


@row("mm", "bmm", "matmul", "mv", "dot", "vdot")
def matmul(e: Emitter, x: Expr, other: Expr) -> Expr:
    """The matrix product."""
    return product(e, x, other)


@row("mm.dtype", "bmm.dtype")
def matmul_of_dtype(e: Emitter, x: Expr, mat2: Expr, out_dtype: str) -> Expr:
    """The matrix product, summed in another dtype."""
    return R.matmul(x, mat2, out_dtype=out_dtype)


@row("linear")
def linear(e: Emitter, input: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    """input · weightᵀ + bias"""
    transposed = e.emit(R.permute_dims(weight, axes=None)) if rank_of(weight) > 1 else weight
    result = e.emit(R.matmul(input, transposed, out_dtype=dtype_of(input)))
    return result if bias is None else R.add(result, bias)


@row("addmm", "addmv")
def addmm(e: Emitter, x: Expr, mat1: Expr, mat2: Expr, beta: Any = 1, alpha: Any = 1) -> Expr:
    """beta * x + alpha * mat1 · mat2"""
    result = scaled(e, e.emit(product(e, mat1, mat2)), alpha)
    return result if beta == 0 else R.add(scaled(e, x, beta), result)


@row("baddbmm")
def baddbmm(e: Emitter, x: Expr, batch1: Expr, batch2: Expr, beta: Any = 1, alpha: Any = 1) -> Expr:
    """beta * x + alpha * batch1 · batch2"""
    result = scaled(e, e.emit(R.matmul(*operands(e, batch1, batch2))), alpha)
    return result if beta == 0 else R.add(result, scaled(e, x, beta))


@row("addr")
def addr(e: Emitter, x: Expr, vec1: Expr, vec2: Expr, beta: Any = 1, alpha: Any = 1) -> Expr:
    """beta * x + alpha * vec1 vec2ᵀ"""
    result = scaled(e, e.emit(R.outer(*operands(e, vec1, vec2))), alpha)
    return result if beta == 0 else R.add(*operands(e, scaled(e, x, beta), result))


@row("outer", "ger")
def outer(e: Emitter, x: Expr, vec2: Expr) -> Expr:
    """The products of each element with each of the other."""
    return R.outer(*operands(e, x, vec2))


@row("einsum")
def einsum(e: Emitter, equation: str, tensors: Sequence[Expr], path: Any = None) -> Expr:
    """Products of elements that share letters, summed over the letters that the result lacks."""
    return R.einsum(operands(e, *tensors), subscripts=equation.replace(" ", ""))


@row("trace")
def trace(e: Emitter, x: Expr) -> Expr:
    """The sum of the diagonal."""
    return R.einsum([cast_to(x, accumulated(dtype_of(x)))], subscripts="ii")
