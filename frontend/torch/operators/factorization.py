"""Factorizations and inverses of matrices: rows of `relax.linalg`, and what is composed of them.

Operators whose names end in `_ex` return a status instead of an error for a matrix without a result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....diagnostics import UnsupportedError
from ....dialects.sym.operators import maximum, minimum
from ....handles.relax.expr import Expr, PrimValue, ShapeExpr, TupleGetItem
from ...importing.relax_operators import R
from ..emitter import Emitter, cast_to, count_of, dtype_of, plain, rank_of, shape_of
from ..promotion import in_single
from ..table import row
from .elementwise import number


def _fields(e: Emitter, call: Any, count: int) -> list[Expr]:
    value = e.emit(call)
    return [e.emit(TupleGetItem(value, i)) for i in range(count)]


def _turned(e: Emitter, x: Expr) -> Expr:
    """Return matrices transposed."""
    rank = rank_of(x)
    return e.emit(R.permute_dims(x, axes=[*range(rank - 2), rank - 1, rank - 2]))


def _times(e: Emitter, a: Expr, b: Expr) -> Expr:
    return e.emit(R.matmul(a, b, out_dtype=dtype_of(a)))


# Positive definite matrices.


@row("linalg_cholesky", "cholesky")
def cholesky(e: Emitter, x: Expr, upper: bool = False) -> Expr:
    """Return the triangular factor of a positive definite matrix; another matrix is an error of the run."""
    return _fields(e, R.linalg.cholesky(x, upper=upper), 2)[0]


@row("linalg_cholesky_ex")
def cholesky_ex(e: Emitter, x: Expr, *, upper: bool = False, check_errors: bool = False) -> list[Expr]:
    """Return the triangular factor, and the order of the minor that is not positive definite."""
    return _fields(e, R.linalg.cholesky(x, upper=upper, check=check_errors), 2)


@row("cholesky_solve")
def cholesky_solve(e: Emitter, x: Expr, input2: Expr, upper: bool = False) -> Expr:
    """Solve A · result = x for the triangular factor of A."""
    turned = _turned(e, input2)
    lower, above = (turned, input2) if upper else (input2, turned)
    first = e.emit(R.linalg.solve_triangular(lower, x))
    return R.linalg.solve_triangular(above, first, upper=True)


@row("cholesky_inverse")
def cholesky_inverse(e: Emitter, x: Expr, upper: bool = False) -> Expr:
    """Return the inverse of A from its triangular factor."""
    extent = shape_of(x)[-1]
    one = R.eye(PrimValue(extent), PrimValue(extent), PrimValue(0), dtype=dtype_of(x))
    return cholesky_solve(e, e.emit(one), x, upper)


# Linear systems.


@row("linalg_inv", "inverse")
def inv(e: Emitter, x: Expr) -> Expr:
    """Return the inverse; a singular matrix is an error of the run."""
    return _fields(e, R.linalg.inv(x), 2)[0]


@row("linalg_tensorinv")
def tensorinv(e: Emitter, x: Expr, ind: int = 2) -> Expr:
    """Return the inverse of x as a matrix of its first `ind` dimensions by the others."""
    rows, columns = shape_of(x)[:ind], shape_of(x)[ind:]
    matrix = e.emit(R.reshape(x, ShapeExpr([count_of(rows), count_of(columns)])))
    return R.reshape(inv(e, matrix), ShapeExpr([*columns, *rows]))


@row("linalg_inv_ex")
def inv_ex(e: Emitter, x: Expr, *, check_errors: bool = False) -> list[Expr]:
    """Return the inverse, and the position of a zero pivot."""
    return _fields(e, R.linalg.inv(x, check=check_errors), 2)


def _solved(e: Emitter, x: Expr, b: Expr, left: bool, check: bool) -> list[Expr]:
    """Return the solution of x · result = b, or of result · x = b, and `info`; b may be vectors."""
    vectors = rank_of(b) == 1 or (rank_of(b) == rank_of(x) - 1 and shape_of(b) == shape_of(x)[:-1])
    if vectors:
        b = e.emit(R.expand_dims(b, axis=[-1]))
    if not left:
        x, b = _turned(e, x), b if vectors else _turned(e, b)
    solution, info = _fields(e, R.linalg.solve(x, b, check=check), 2)
    if vectors:
        return [e.emit(R.squeeze(solution, axis=[-1])), info]
    return [solution if left else _turned(e, solution), info]


@row("linalg_solve")
def solve(e: Emitter, x: Expr, B: Expr, *, left: bool = True) -> Expr:
    """Solve x · result = B, or result · x = B unless `left`; a singular x is an error of the run."""
    return _solved(e, x, B, left, True)[0]


@row("linalg_solve_ex")
def solve_ex(e: Emitter, x: Expr, B: Expr, *, left: bool = True, check_errors: bool = False) -> list[Expr]:
    """Solve a system, and return the position of a zero pivot, too."""
    return _solved(e, x, B, left, check_errors)


@row("_linalg_solve_ex")
def solve_with_factors(
    e: Emitter, x: Expr, B: Expr, *, left: bool = True, check_errors: bool = False
) -> list[Expr | None]:
    """Solve a system, and return the factors of x, too."""
    solution, info = _solved(e, x, B, left, check_errors)
    return [solution, *_factors(e, x, 1), info]


def _factors(e: Emitter, x: Expr, first: int) -> list[Expr | None]:
    """Return LU and pivots, results `first` and the next one; None if nothing uses them."""
    if not (e.is_used(first) or e.is_used(first + 1)):
        return [None, None]
    return list(_fields(e, R.linalg.lu(x), 2))


@row("linalg_solve_triangular")
def solve_triangular(
    e: Emitter, x: Expr, B: Expr, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Expr:
    """Solve a triangular system x · result = B, or result · x = B unless `left`."""
    if left:
        return R.linalg.solve_triangular(x, B, upper=upper, unitriangular=unitriangular)
    turned = R.linalg.solve_triangular(_turned(e, x), _turned(e, B), upper=not upper, unitriangular=unitriangular)
    return _turned(e, e.emit(turned))


@row("triangular_solve")
def triangular_solve(
    e: Emitter, x: Expr, A: Expr, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> list[Expr]:
    """Solve a triangular system A · result = x, or Aᵀ · result = x; return the solution and A."""
    matrix = _turned(e, A) if transpose else A
    return [
        e.emit(R.linalg.solve_triangular(matrix, x, upper=upper != transpose, unitriangular=unitriangular)), A,
    ]  # fmt: skip


# P · L · U.


@row("linalg_lu_factor")
def lu_factor(e: Emitter, x: Expr, *, pivot: bool = True) -> list[Expr]:
    """Return L and U in one matrix, and the pivots."""
    return _factored(e, x, pivot)[:2]


@row("linalg_lu_factor_ex")
def lu_factor_ex(e: Emitter, x: Expr, *, pivot: bool = True, check_errors: bool = False) -> list[Expr]:
    """Return L and U in one matrix, the pivots, and the position of a zero pivot."""
    return _factored(e, x, pivot)


def _factored(e: Emitter, x: Expr, pivot: bool) -> list[Expr]:
    if not pivot:
        raise UnsupportedError("LU without pivoting")
    return _fields(e, R.linalg.lu(x), 3)


@row("linalg_lu")
def lu(e: Emitter, x: Expr, *, pivot: bool = True) -> list[Expr | None]:
    """Return P, L and U."""
    packed, pivots, _ = _factored(e, x, pivot)
    return lu_unpack(e, packed, pivots)


@row("lu_unpack")
def lu_unpack(
    e: Emitter, x: Expr, LU_pivots: Expr, unpack_data: bool = True, unpack_pivots: bool = True
) -> list[Expr | None]:
    """Return P, L and U of the packed factors."""
    m, n = shape_of(x)[-2:]
    permutation = lower = upper = None
    if unpack_pivots:
        order = e.emit(R.linalg.pivots_to_order(x, LU_pivots))
        rows = e.emit(R.expand_dims(e.counted(m), axis=[-1]))
        place = e.emit(R.equal(rows, R.expand_dims(order, axis=[-2])))
        permutation = e.emit(R.astype(place, dtype=dtype_of(x)))
    if unpack_data:
        k, axis = plain(minimum(m, n)), rank_of(x)
        left = e.emit(R.strided_slice(x, axes=[axis - 1], begin=[0], end=[k]))
        ones = R.eye(PrimValue(m), PrimValue(k), PrimValue(0), dtype=dtype_of(x))
        lower = e.emit(R.add(R.tril(left, -1), e.emit(ones)))
        upper = e.emit(R.triu(R.strided_slice(x, axes=[axis - 2], begin=[0], end=[k]), 0))
    return [permutation, lower, upper]


@row("linalg_lu_solve")
def lu_solve(e: Emitter, x: Expr, pivots: Expr, B: Expr, *, left: bool = True, adjoint: bool = False) -> Expr:
    """Solve A · result = B (Aᵀ if `adjoint`; result · A unless `left`) by the packed factors of A."""
    if not left:
        return _turned(e, e.emit(lu_solve(e, x, pivots, _turned(e, B), left=True, adjoint=not adjoint)))
    permutation = lu_unpack(e, x, pivots, unpack_data=False)[0]
    assert permutation is not None
    if adjoint:
        turned = _turned(e, x)
        first = e.emit(R.linalg.solve_triangular(turned, B))
        second = e.emit(R.linalg.solve_triangular(turned, first, upper=True, unitriangular=True))
        return _times(e, permutation, second)
    rows = _times(e, _turned(e, permutation), B)
    first = e.emit(R.linalg.solve_triangular(x, rows, unitriangular=True))
    return R.linalg.solve_triangular(x, first, upper=True)


# P · L · D · Lᵀ · Pᵀ.


@row("linalg_ldl_factor")
def ldl_factor(e: Emitter, x: Expr, *, hermitian: bool = False) -> list[Expr]:
    """Return L and D of a symmetric matrix, and the pivots; a zero pivot is an error of the run."""
    return _fields(e, R.linalg.ldl(x), 2)


@row("linalg_ldl_factor_ex")
def ldl_factor_ex(e: Emitter, x: Expr, *, hermitian: bool = False, check_errors: bool = False) -> list[Expr]:
    """Return L and D of a symmetric matrix, the pivots, and the position of a zero pivot."""
    return _fields(e, R.linalg.ldl(x, check=check_errors), 3)


@row("linalg_ldl_solve")
def ldl_solve(e: Emitter, x: Expr, pivots: Expr, B: Expr, *, hermitian: bool = False) -> Expr:
    """Solve A · result = B by the factors of `ldl_factor`."""
    return R.linalg.ldl_solve(x, cast_to(pivots, "int32"), B)


# Determinants.


@row("linalg_det", "det")
def det(e: Emitter, x: Expr) -> Expr:
    """Return the determinant."""
    return R.linalg.det(x)


@row("_linalg_det")
def det_with_factors(e: Emitter, x: Expr) -> list[Expr | None]:
    """Return the determinant, and the factors of x."""
    return [e.emit(R.linalg.det(x)), *_factors(e, x, 1)]


@row("linalg_slogdet", "slogdet")
def slogdet(e: Emitter, x: Expr) -> list[Expr]:
    """Return the sign of the determinant, and the logarithm of its magnitude."""
    return _fields(e, R.linalg.slogdet(x), 2)


@row("_linalg_slogdet")
def slogdet_with_factors(e: Emitter, x: Expr) -> list[Expr | None]:
    """Return the sign of the determinant, the logarithm of its magnitude, and the factors of x."""
    return [*slogdet(e, x), *_factors(e, x, 2)]


@row("logdet")
def logdet(e: Emitter, x: Expr) -> Expr:
    """Return the logarithm of the determinant, NaN where it is negative."""
    sign, size = slogdet(e, x)
    return R.where(R.less(sign, number(sign, 0.0)), number(sign, float("nan")), size)


# Orthogonal factors.


@row("linalg_qr")
def qr(e: Emitter, x: Expr, mode: str = "reduced") -> list[Expr]:
    """Return Q and R; Q is empty in the mode r."""
    if mode != "r":
        return _fields(e, R.linalg.qr(x, mode=mode), 2)
    return [e.emit(R.zeros(ShapeExpr([0]), dtype=dtype_of(x))), e.emit(R.linalg.qr(x, mode=mode))]


@row("qr")
def qr_some(e: Emitter, x: Expr, some: bool = True) -> list[Expr]:
    """Return Q and R; Q is square unless `some`."""
    return qr(e, x, "reduced" if some else "complete")


@row("geqrf")
def geqrf(e: Emitter, x: Expr) -> list[Expr]:
    """Return R, the Householder vectors of Q below it, and their factors."""
    return _fields(e, R.linalg.geqrf(x), 2)


@row("linalg_householder_product", "orgqr")
def householder_product(e: Emitter, x: Expr, tau: Expr) -> Expr:
    """Return the first columns of the product of the Householder reflections that are stored in the columns of x."""
    *outer, m, n = shape_of(x)
    eye = e.emit(R.eye(PrimValue(m), PrimValue(n), PrimValue(0), dtype=dtype_of(x)))
    return _reflected(e, x, tau, e.emit(R.broadcast_to(eye, ShapeExpr([*outer, m, n]))), backwards=True)


@row("ormqr")
def ormqr(e: Emitter, x: Expr, input2: Expr, input3: Expr, left: bool = True, transpose: bool = False) -> Expr:
    """Return `input3` multiplied by the product of the Householder reflections stored in the columns of x."""
    if not left:
        return _turned(e, _reflected(e, x, input2, _turned(e, input3), backwards=transpose))
    return _reflected(e, x, input2, input3, backwards=not transpose)


def _reflected(e: Emitter, x: Expr, tau: Expr, data: Expr, backwards: bool) -> Expr:
    """Return `data` reflected by the columns of x below the diagonal, on which is 1, one after the other."""
    count, rank = shape_of(tau)[-1], rank_of(x)
    if not isinstance(count, int):
        raise UnsupportedError("as many reflections as a size says", found=count)
    m, n = shape_of(x)[-2:]
    ones = R.eye(PrimValue(m), PrimValue(n), PrimValue(0), dtype=dtype_of(x))
    columns = e.emit(R.add(R.tril(x, -1), e.emit(ones)))
    for i in reversed(range(count)) if backwards else range(count):
        v = e.emit(R.strided_slice(columns, axes=[rank - 1], begin=[i], end=[i + 1]))
        factor = e.emit(R.expand_dims(R.strided_slice(tau, axes=[rank - 2], begin=[i], end=[i + 1]), axis=[-1]))
        data = e.emit(R.subtract(data, R.multiply(factor, _times(e, v, _times(e, _turned(e, v), data)))))
    return data


@row("linalg_svd")
def svd(e: Emitter, x: Expr, full_matrices: bool = True, *, driver: str | None = None) -> list[Expr]:
    """Return U, the singular values and Vᵀ."""
    return _fields(e, R.linalg.svd(x, full_matrices=full_matrices), 3)


@row("_linalg_svd")
def svd_or_values(
    e: Emitter, x: Expr, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None
) -> list[Expr | None]:
    """Return U, the singular values and Vᵀ; if only the values are used, nothing else."""
    if not compute_uv or not (e.is_used(0) or e.is_used(2)):
        return [None, e.emit(R.linalg.svdvals(x)), None]
    return list(svd(e, x, full_matrices))


@row("svd")
def svd_some(e: Emitter, x: Expr, some: bool = True, compute_uv: bool = True) -> list[Expr]:
    """Return U, the singular values and V."""
    if not compute_uv:
        raise UnsupportedError("svd without U and V", hint="torch.linalg.svdvals")
    u, s, vh = svd(e, x, not some)
    return [u, s, _turned(e, vh)]


@row("linalg_svdvals")
def svdvals(e: Emitter, x: Expr, *, driver: str | None = None) -> Expr:
    """Return the singular values."""
    return R.linalg.svdvals(x)


@row("linalg_eigh")
def eigh(e: Emitter, x: Expr, UPLO: str = "L") -> list[Expr]:
    """Return the eigenvalues and eigenvectors of a symmetric matrix."""
    return _fields(e, R.linalg.eigh(x, upper=UPLO.upper() == "U"), 2)


@row("_linalg_eigh")
def eigh_or_values(e: Emitter, x: Expr, UPLO: str = "L", compute_v: bool = True) -> list[Expr | None]:
    """Return the eigenvalues and eigenvectors of a symmetric matrix; if only the values are used, nothing else."""
    if not compute_v or not e.is_used(1):
        return [eigvalsh(e, x, UPLO), None]
    return list(eigh(e, x, UPLO))


@row("linalg_eigvalsh")
def eigvalsh(e: Emitter, x: Expr, UPLO: str = "L") -> Expr:
    """Return the eigenvalues of a symmetric matrix."""
    return e.emit(R.linalg.eigvalsh(x, upper=UPLO.upper() == "U"))


@row("linalg_pinv.atol_rtol_tensor")
def pinv(e: Emitter, x: Expr, *, atol: Expr | None = None, rtol: Expr | None = None, hermitian: bool = False) -> Expr:
    """Return the pseudo-inverse: singular values up to max(atol, rtol · the greatest) count as zero."""
    m, n = shape_of(x)[-2:]
    if 0 in (m, n):
        return R.zeros(ShapeExpr([*shape_of(x)[:-2], n, m]), dtype=dtype_of(x))
    if hermitian:
        values, v = eigh(e, x)
        u, sizes = v, e.emit(R.abs(values))
    else:
        u, values, vh = svd(e, x, False)
        v, sizes = _turned(e, vh), values
    longest = e.tensor(plain(maximum(m, n)), dtype_of(x))
    relative = e.emit(R.multiply(longest, number(x, float(np.finfo(dtype_of(x)).eps))))
    bound = e.emit(R.multiply(R.max(sizes, axis=[-1], keepdims=True), _tolerance(e, sizes, rtol, atol, relative)))
    if atol is not None:
        bound = e.emit(R.maximum(bound, R.expand_dims(cast_to(atol, dtype_of(x)), axis=[-1])))
    large = e.emit(R.greater(sizes, bound))
    inverse = e.emit(R.where(large, R.divide(number(x, 1.0), R.where(large, values, number(x, 1.0))), number(x, 0.0)))
    return _times(e, e.emit(R.multiply(v, R.expand_dims(inverse, axis=[-2]))), _turned(e, u))


def _tolerance(e: Emitter, sizes: Expr, rtol: Expr | None, atol: Expr | None, default: Expr) -> Expr:
    """Return `rtol`; without one it is `default`, or 0 where there is a positive `atol`."""
    if rtol is not None:
        return e.emit(R.expand_dims(cast_to(rtol, dtype_of(sizes)), axis=[-1]))
    if atol is None:
        return default
    absolute = R.greater(R.expand_dims(cast_to(atol, dtype_of(sizes)), axis=[-1]), number(sizes, 0.0))
    return e.emit(R.where(absolute, number(sizes, 0.0), default))


@row("linalg_matrix_exp", "matrix_exp")
@in_single
def matrix_exp(e: Emitter, x: Expr) -> Expr:
    """Return the matrix exponential."""
    return R.linalg.matrix_exp(x)
