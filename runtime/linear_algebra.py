"""Packed functions of matrix factorizations, by the LAPACK of numpy.

Each writes into its last arguments. A matrix is the last two dimensions of an array, the leading ones are a batch. What
numpy has no routine for (LU, triangular systems, the exponential) is written here in blocks, so that matrix products do
most of the work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import AssertionFailedError
from .registry import register_func

Array = Any
_BLOCK = 32
"""Columns that are eliminated one by one before a matrix product updates the rest."""

PREFIX = "relax.run.linalg."


@register_func(PREFIX + "cholesky")
def cholesky(x: Array, upper: int, check: int, out: Array, info: Array) -> None:
    """Write the triangular factor and the order of the minor that is not positive definite, 0 if there is none.

    Raises `AssertionFailedError` for such a matrix if `check`.
    """
    _checked("linalg.cholesky", lambda m: np.linalg.cholesky(m, upper=bool(upper)), _bad_minor, [x], check, out, info)


@register_func(PREFIX + "inv")
def inv(x: Array, check: int, out: Array, info: Array) -> None:
    """Write the inverse and the position of the first zero pivot. Raises `AssertionFailedError` if `check`."""
    _checked("linalg.inv", np.linalg.inv, _zero_pivot, [x], check, out, info)


@register_func(PREFIX + "solve")
def solve(x: Array, b: Array, check: int, out: Array, info: Array) -> None:
    """Write the solution of x · out = b and the position of the first zero pivot of x.

    Raises `AssertionFailedError` for a singular matrix if `check`.
    """
    _checked("linalg.solve", np.linalg.solve, _zero_pivot, [x, b], check, out, info)


def _checked(
    name: str, function: Callable[..., Array], reason: Callable[[Array], int], args: list[Array], check: int,
    out: Array, info: Array,
) -> None:  # fmt: skip
    """Write the results of a function of whole batches; if a matrix of the batch has none, one by one."""
    info.fill(0)
    try:
        np.copyto(out, function(*args))
        return
    except np.linalg.LinAlgError:
        stacked = [np.broadcast_to(a, (*out.shape[:-2], *a.shape[-2:])) for a in args]
    for i in np.ndindex(out.shape[:-2]):
        try:
            out[i] = function(*(a[i] for a in stacked))
        except np.linalg.LinAlgError:
            out[i] = np.nan
            info[i] = reason(stacked[0][i])
            if check:
                what = "positive definite" if reason is _bad_minor else "invertible"
                where = f" {i}" if i else ""
                raise AssertionFailedError(
                    f"{name}: the matrix{where} is not {what}", found=f"info {info[i]}"
                ) from None


def _bad_minor(x: Array) -> int:
    """Return the order of the first leading minor that is not positive definite."""
    good, bad = 0, x.shape[-1]
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            np.linalg.cholesky(x[:middle, :middle])
            good = middle
        except np.linalg.LinAlgError:
            bad = middle
    return bad


def _zero_pivot(x: Array) -> int:
    """Return the 1-based position of the first pivot that is zero, of a matrix that LAPACK calls singular."""
    work = np.array(x)
    _eliminate(work)
    zeros = np.flatnonzero(np.diagonal(work) == 0)
    return int(zeros[0]) + 1 if zeros.size else x.shape[-1]


@register_func(PREFIX + "lu")
def lu(x: Array, out: Array, pivots: Array, info: Array) -> None:
    """Write L below U, the row that each row was exchanged with, from 1, and the position of the first zero pivot."""
    np.copyto(out, x)
    for i in np.ndindex(x.shape[:-2]):
        pivots[i] = _eliminate(out[i]) + 1
        zeros = np.flatnonzero(np.diagonal(out[i]) == 0)
        info[i] = zeros[0] + 1 if zeros.size else 0


def _eliminate(a: Array) -> Array:
    """Replace a matrix by L and U, and return the row that each row was exchanged with."""
    rank = min(a.shape)
    pivots = np.arange(rank)
    for start in range(0, rank, _BLOCK):
        end = min(start + _BLOCK, rank)
        for j in range(start, end):
            _eliminate_column(a, j, end, pivots)
        right, below = a[start:end, end:], a[end:, end:]
        right[...] = substituted(a[start:end, start:end], right, unit=True)
        below -= a[end:, start:end] @ right
    return pivots


def _eliminate_column(a: Array, j: int, end: int, pivots: Array) -> None:
    """Bring the greatest element of a column to the diagonal, and eliminate it from the columns before `end`."""
    pivots[j] = p = j + int(np.argmax(np.abs(a[j:, j])))
    if p != j:
        a[[j, p]] = a[[p, j]]
    if a[j, j] != 0:
        a[j + 1 :, j] /= a[j, j]
        a[j + 1 :, j + 1 : end] -= np.outer(a[j + 1 :, j], a[j, j + 1 : end])


@register_func(PREFIX + "pivots_to_order")
def pivots_to_order(_: Array, pivots: Array, out: Array) -> None:
    """Write the order of rows after the exchanges of `pivots`."""
    out[...] = np.arange(out.shape[-1])
    for i in np.ndindex(out.shape[:-1]):
        row = out[i]
        for j, p in enumerate(pivots[i]):
            row[j], row[p - 1] = row[p - 1], row[j]


@register_func(PREFIX + "solve_triangular")
def solve_triangular(x: Array, b: Array, upper: int, unitriangular: int, out: Array) -> None:
    """Write the solution of x · out = b for a triangular x, of which only one triangle is read."""
    turned = (..., slice(None, None, -1), slice(None, None, -1)) if upper else ...
    rows = (..., slice(None, None, -1), slice(None)) if upper else ...
    out[rows] = substituted(x[turned], b[rows], bool(unitriangular))


def substituted(x: Array, b: Array, unit: bool) -> Array:
    """Return the solution for a lower triangular x, by forward substitution in blocks of rows."""
    n = x.shape[-1]
    out = np.array(np.broadcast_to(b, (*np.broadcast_shapes(x.shape[:-2], b.shape[:-2]), *b.shape[-2:])))
    with np.errstate(all="ignore"):
        for start in range(0, n, _BLOCK):
            end = min(start + _BLOCK, n)
            if start:
                out[..., start:end, :] -= x[..., start:end, :start] @ out[..., :start, :]
            for j in range(start, end):
                if j > start:
                    out[..., j, :] -= (x[..., j : j + 1, start:j] @ out[..., start:j, :])[..., 0, :]
                if not unit:
                    out[..., j, :] /= x[..., j, j, None]
    return out


def _converging(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return the result. Raises `AssertionFailedError` where LAPACK's iteration does not converge, such as for NaN."""
    try:
        return function(*args, **options)
    except np.linalg.LinAlgError as error:
        raise AssertionFailedError(f"linalg.{function.__name__}: {error}", hint="look for NaN and infinities") from None


@register_func(PREFIX + "det")
def det(x: Array, out: Array) -> None:
    """Write the determinants."""
    out[...] = np.linalg.det(x)


@register_func(PREFIX + "slogdet")
def slogdet(x: Array, sign: Array, logarithm: Array) -> None:
    """Write the signs of the determinants and the logarithms of their magnitudes."""
    sign[...], logarithm[...] = np.linalg.slogdet(x)


@register_func(PREFIX + "qr")
def qr(x: Array, mode: str, *outs: Array) -> None:
    """Write Q and R, or R alone."""
    result = np.linalg.qr(x, mode=mode)  # pyright: ignore[reportCallIssue, reportArgumentType]
    for out, part in zip(outs, (result,) if mode == "r" else result, strict=True):
        out[...] = part


@register_func(PREFIX + "svd")
def svd(x: Array, full: int, u: Array, s: Array, vh: Array) -> None:
    """Write U, the singular values and Vᵀ. Raises `AssertionFailedError` if they are not computed, as for NaN."""
    u[...], s[...], vh[...] = _converging(np.linalg.svd, x, full_matrices=bool(full))


@register_func(PREFIX + "svdvals")
def svdvals(x: Array, out: Array) -> None:
    """Write the singular values. Raises like `svd`."""
    out[...] = _converging(np.linalg.svd, x, compute_uv=False)


@register_func(PREFIX + "eigh")
def eigh(x: Array, upper: int, values: Array, vectors: Array) -> None:
    """Write the eigenvalues and eigenvectors of symmetric matrices. Raises like `svd`."""
    values[...], vectors[...] = _converging(np.linalg.eigh, x, UPLO="U" if upper else "L")


@register_func(PREFIX + "eigvalsh")
def eigvalsh(x: Array, upper: int, values: Array) -> None:
    """Write the eigenvalues of symmetric matrices. Raises like `svd`."""
    values[...] = _converging(np.linalg.eigvalsh, x, UPLO="U" if upper else "L")


@register_func(PREFIX + "eig")
def eig(x: Array, values: Array, vectors: Array) -> None:
    """Write the eigenvalues and eigenvectors as pairs (real, imaginary). Raises like `svd`."""
    for out, part in zip((values, vectors), _converging(np.linalg.eig, x), strict=True):
        out[..., 0], out[..., 1] = part.real, part.imag


@register_func(PREFIX + "geqrf")
def geqrf(x: Array, out: Array, tau: Array) -> None:
    """Write R, the Householder vectors below it and their factors."""
    reflectors, tau[...] = np.linalg.qr(x, mode="raw")
    out[...] = reflectors.swapaxes(-1, -2)


_PADE = [64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
         670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1]  # fmt: skip
"""The coefficients of the numerator of the Padé approximant of degree 13; the denominator has alternating signs."""
_NEAR_ZERO = 5.37
"""The norm up to which that approximant has the precision of float64."""


@register_func(PREFIX + "matrix_exp")
def matrix_exp(x: Array, out: Array) -> None:
    """Write the matrix exponentials, by scaling and squaring a Padé approximant; computed in float64."""
    norm = np.abs(x).sum(axis=-2, dtype=np.float64).max(axis=-1, initial=0.0)
    with np.errstate(all="ignore"):
        halvings = np.ceil(np.log2(np.where(norm > _NEAR_ZERO, norm / _NEAR_ZERO, 1)))
    halvings = np.where(np.isfinite(halvings), halvings, 0).astype(int)
    a = x.astype(np.float64) * np.exp2(-halvings.astype(np.float64))[..., None, None]
    square = a @ a
    even, odd = np.zeros_like(a), np.zeros_like(a)
    one = np.eye(x.shape[-1])
    for k in range(len(_PADE) - 1, -1, -2):  # by Horner's rule in the square
        odd = odd @ square + _PADE[k] * one
        even = even @ square + _PADE[k - 1] * one
    odd = a @ odd
    result = _exp_ratio(even, odd)
    for step in range(int(halvings.max(initial=0))):
        result = np.where((halvings > step)[..., None, None], result @ result, result)
    out[...] = result


def _exp_ratio(even: Array, odd: Array) -> Array:
    try:
        return np.linalg.solve(even - odd, even + odd)
    except np.linalg.LinAlgError:  # of NaN and infinities
        return np.full_like(even, np.nan)
