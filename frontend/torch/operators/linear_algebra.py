"""Matrix products and distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any

from ....diagnostics import UnsupportedError
from ....handles.relax.expr import Expr, PrimValue, const
from ....topi.linear_algebra import grouped_matmul
from ...importing.relax_operators import R
from ..emitter import Emitter, axis_of, cast_to, dtype_of, rank_of, shape_of
from ..promotion import in_single, operands
from ..table import row
from .creation import triangle
from .elementwise import number, scaled
from .reduction import accumulated


def product(e: Emitter, a: Expr, b: Expr) -> Expr:
    """Return the matrix product. Raises `UnsupportedError` for operands of different dtypes, as PyTorch does."""
    if dtype_of(a) != dtype_of(b):
        raise UnsupportedError("a product of different dtypes", expected=dtype_of(a), found=dtype_of(b))
    return R.matmul(a, b, out_dtype=dtype_of(a))


@row("mm", "bmm", "matmul", "mv", "dot", "vdot")
def matmul(e: Emitter, x: Expr, other: Expr) -> Expr:
    """Return the matrix product."""
    return product(e, x, other)


@row("mm.dtype", "bmm.dtype")
def matmul_of_dtype(e: Emitter, x: Expr, mat2: Expr, out_dtype: str) -> Expr:
    """Return the matrix product, accumulated in another dtype."""
    return R.matmul(x, mat2, out_dtype=out_dtype)


@row("_int_mm")
def int_mm(e: Emitter, x: Expr, other: Expr) -> Expr:
    """Return the matrix product of int8, accumulated in int32."""
    return R.matmul(x, other, out_dtype="int32")


@row("_grouped_mm", "transformers::grouped_mm_fallback")
def grouped_mm(
    e: Emitter, x: Expr, mat2: Expr, offs: Expr | None = None, bias: Expr | None = None, out_dtype: str | None = None
) -> Expr:
    """Return the product of each row with the matrix of its group, 0 after the last group; groups end at `offs`."""
    if bias is not None or (out_dtype or dtype_of(x)) != dtype_of(x):
        raise UnsupportedError("grouped products with a bias or in another dtype")
    if offs is None:
        return product(e, x, mat2)
    if (rank_of(x), rank_of(mat2)) != (2, 3):
        raise UnsupportedError("groups of other than the rows", found=f"ranks {rank_of(x)} and {rank_of(mat2)}")
    rows, count = shape_of(x)[0], shape_of(mat2)[0]
    places = R.arange(PrimValue(0), PrimValue(rows), PrimValue(1), dtype="int64")
    group = e.emit(R.bucketize(places, cast_to(offs, "int64"), out_int32=False, right=True))
    last = e.emit(R.subtract(e.tensor(count, "int64"), const(1, "int64")))
    there = e.emit(R.expand_dims(R.less_equal(group, last), 1))
    result = e.emit(e.builder.call_te(grouped_matmul, x, mat2, e.emit(R.minimum(group, last))))
    return R.where(there, result, const(0, dtype_of(x)))


@row("linear")
def linear(e: Emitter, input: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    """Return input · weightᵀ + bias."""
    transposed = e.emit(R.permute_dims(weight, axes=None)) if rank_of(weight) > 1 else weight
    result = e.emit(product(e, input, transposed))
    return result if bias is None else R.add(result, bias)


@row("addmm", "addmv")
def addmm(e: Emitter, x: Expr, mat1: Expr, mat2: Expr, beta: Any = 1, alpha: Any = 1) -> Expr:
    """Return beta * x + alpha * mat1 · mat2."""
    result = scaled(e, e.emit(product(e, mat1, mat2)), alpha)
    return result if beta == 0 else R.add(scaled(e, x, beta), result)


@row("baddbmm")
def baddbmm(e: Emitter, x: Expr, batch1: Expr, batch2: Expr, beta: Any = 1, alpha: Any = 1) -> Expr:
    """Return beta * x + alpha * batch1 · batch2."""
    result = scaled(e, e.emit(R.matmul(*operands(e, batch1, batch2))), alpha)
    return result if beta == 0 else R.add(result, scaled(e, x, beta))


@row("addbmm")
@in_single
def addbmm(e: Emitter, x: Expr, batch1: Expr, batch2: Expr, *, beta: Any = 1, alpha: Any = 1) -> Expr:
    """Return beta * x + alpha * the sum of the products of a batch."""
    total = R.einsum(operands(e, batch1, batch2), subscripts="bij,bjk->ik")
    result = scaled(e, e.emit(total), alpha)
    return result if beta == 0 else R.add(scaled(e, x, beta), result)


@row("_trilinear")
def trilinear(
    e: Emitter, i1: Expr, i2: Expr, i3: Expr, expand1: Sequence[int], expand2: Sequence[int], expand3: Sequence[int],
    sumdim: Sequence[int], unroll_dim: int = 1,
) -> Expr:  # fmt: skip
    """Return the product of three tensors, broadcast along new dimensions, summed over `sumdim`."""
    letters = ascii_lowercase[: rank_of(i1) + len(expand1)]
    of = [_without(letters, dims) for dims in (expand1, expand2, expand3, sumdim)]
    return R.einsum(operands(e, i1, i2, i3), subscripts=f"{of[0]},{of[1]},{of[2]}->{of[3]}")


def _without(letters: str, dims: Sequence[int]) -> str:
    left_out = [axis_of(d, len(letters)) for d in dims]
    return "".join(letter for i, letter in enumerate(letters) if i not in left_out)


@row("addr")
def addr(e: Emitter, x: Expr, vec1: Expr, vec2: Expr, beta: Any = 1, alpha: Any = 1) -> Expr:
    """Return beta * x + alpha * vec1 vec2ᵀ."""
    result = e.emit(outer(e, vec1, vec2))
    if dtype_of(result) == "bool":
        return R.logical_and(result, const(bool(alpha), "bool")) if not beta else R.logical_or(x, result)
    result = scaled(e, result, alpha)
    return result if beta == 0 else R.add(*operands(e, scaled(e, x, beta), result))


@row("outer", "ger")
def outer(e: Emitter, x: Expr, vec2: Expr) -> Expr:
    """Return the outer product."""
    a, b = operands(e, x, vec2)
    if dtype_of(a) == "bool":
        return R.logical_and(R.expand_dims(a, 1), R.expand_dims(b, 0))
    return R.outer(a, b)


@row("einsum")
def einsum(e: Emitter, equation: str, tensors: Sequence[Expr], path: Any = None) -> Expr:
    """Multiply elements with equal subscripts, summing over subscripts that the result lacks."""
    return R.einsum(operands(e, *tensors), subscripts=equation.replace(" ", ""))


@row("trace")
def trace(e: Emitter, x: Expr) -> Expr:
    """Return the sum of the main diagonal."""
    rows, columns = shape_of(x)
    if rows != columns:
        if not isinstance(rows, int) or not isinstance(columns, int):
            raise UnsupportedError("the trace of a matrix that is not known to be square")
        side = min(rows, columns)
        x = R.strided_slice(e.bound(x), axes=[0, 1], begin=[0, 0], end=[side, side])
    return R.einsum([cast_to(x, accumulated(dtype_of(x)))], subscripts="ii")


# Distances.


@row("_cdist_forward")
def cdist(e: Emitter, x1: Expr, x2: Expr, p: float, compute_mode: int | None) -> Expr:
    """Return the p-norm distance between each pair of rows of two matrices."""
    difference = e.emit(R.subtract(R.expand_dims(x1, rank_of(x1) - 1), R.expand_dims(x2, rank_of(x2) - 2)))
    return norm(e, difference, p)


@row("_pdist_forward")
def pdist(e: Emitter, x: Expr, p: float = 2) -> Expr:
    """Return the p-norm distance of each row from those after it."""
    count = shape_of(x)[0]
    places = triangle(e, count, count, 1, "int64", is_upper=True)
    rows, columns = (e.emit(R.take(places, const(i, "int64"), axis=0)) for i in range(2))
    first, second = (e.emit(R.take(x, part, axis=0)) for part in (rows, columns))
    return norm(e, e.emit(R.subtract(first, second)), p)


@in_single
def norm(e: Emitter, x: Expr, p: float) -> Expr:
    """Return the p-norm along the last dimension."""
    size = R.abs(x)
    if p == 0:
        return R.sum(R.astype(R.not_equal(x, number(x, 0.0)), dtype=dtype_of(x)), axis=[-1])
    if p == 1:
        return R.sum(size, axis=[-1])
    if p == 2:
        return R.sqrt(R.sum(R.multiply(x, x), axis=[-1]))
    if math.isinf(p):
        return R.max(size, axis=[-1])
    return R.power(R.sum(R.power(size, number(x, p)), axis=[-1]), number(x, 1.0 / p))
