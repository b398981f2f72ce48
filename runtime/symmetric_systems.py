"""Packed functions of LDLᵀ factorizations: P · L · D · Lᵀ · Pᵀ, D having blocks of one or two rows.

numpy has no routine for them. Pivots are those of Bunch and Kaufman (1977), which LAPACK's sytrf chooses too, so that
its factors, and PyTorch's, are the same. Factors and pivots are stored as there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .errors import AssertionFailedError
from .linear_algebra import PREFIX
from .registry import register_func

Array = Any
_GROWTH = (1 + 17**0.5) / 8
"""How large a diagonal element must be beside its column to be a pivot: it bounds the growth of elements best."""


@register_func(PREFIX + "ldl")
def ldl(x: Array, check: int, out: Array, pivots: Array, info: Array) -> None:
    """Write L and D below the diagonal and on it, the pivots, and the position of the first zero block of D.

    Raises `AssertionFailedError` for a matrix with such a block if `check`.
    """
    np.copyto(out, np.tril(x))
    for i in np.ndindex(x.shape[:-2]):
        with np.errstate(all="ignore"):
            info[i] = _factor(out[i], pivots[i])
        if check and info[i]:
            where = f" {i}" if i else ""
            raise AssertionFailedError(f"linalg.ldl: the matrix{where} is not invertible", found=f"info {info[i]}")


def _factor(a: Array, pivots: Array) -> int:
    """Replace the lower triangle of a symmetric matrix by its factors, write the pivots, and return `info`."""
    n, k, info = a.shape[0], 0, 0
    while k < n:
        row, size = _pivot(a, k)
        if size == 0:  # nothing to eliminate
            info, size = info or k + 1, 1
        _exchange(a, k, k + size - 1, row)
        _eliminate(a, k, size)
        pivots[k : k + size] = row + 1 if size == 1 else -(row + 1)
        k += size
    return info


def _pivot(a: Array, k: int) -> tuple[int, int]:
    """Return the row to exchange for the next block of D, and the number of its rows: 0 if the column is 0."""
    own, column = abs(a[k, k]), np.abs(a[k + 1 :, k])
    largest = k + 1 + int(np.argmax(column)) if column.size else k
    beside = column[largest - k - 1] if column.size else 0
    if max(own, beside) == 0 or np.isnan(own):
        return k, 0
    if own >= _GROWTH * beside:
        return k, 1
    others = np.concatenate([np.abs(a[largest, k:largest]), np.abs(a[largest + 1 :, largest])])
    across = others.max()
    if own >= _GROWTH * beside * (beside / across):
        return k, 1
    return largest, 1 if abs(a[largest, largest]) >= _GROWTH * across else 2


def _exchange(a: Array, first: int, last: int, row: int) -> None:
    """Exchange rows and columns `last` and `row` of the lower triangle that begins at `first`."""
    if row == last:
        return
    a[row + 1 :, [last, row]] = a[row + 1 :, [row, last]]
    below = a[last + 1 : row, last].copy()
    a[last + 1 : row, last] = a[row, last + 1 : row]
    a[row, last + 1 : row] = below
    a[last, last], a[row, row] = a[row, row], a[last, last]
    if last > first:
        a[last, first], a[row, first] = a[row, first], a[last, first]


def _eliminate(a: Array, k: int, size: int) -> None:
    """Subtract a block's part from the rest of the lower triangle, and divide its columns by it."""
    end = k + size
    left = a[end:, k:end].copy()
    if size == 2:
        a[end:, k:end] = _by_block(a, k, left.T).T
    elif a[k, k] != 0:
        a[end:, k] /= a[k, k]
    a[end:, end:] -= np.tril(a[end:, k:end] @ left.T)


def _by_block(a: Array, k: int, b: Array) -> Array:
    """Return two rows multiplied by the inverse of the block of D at k; scaled, so that products do not overflow."""
    beside = a[k + 1, k]
    first, second = a[k, k] / beside, a[k + 1, k + 1] / beside
    scaled = b / beside
    return np.stack([second * scaled[0] - scaled[1], first * scaled[1] - scaled[0]]) / (first * second - 1)


@register_func(PREFIX + "ldl_solve")
def ldl_solve(x: Array, pivots: Array, b: Array, out: Array) -> None:
    """Write the solution of A · out = b, for the factors and pivots of A."""
    batch = out.shape[:-2]
    factors = np.broadcast_to(x, (*batch, *x.shape[-2:]))
    rows = np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    np.copyto(out, b)
    for i in np.ndindex(batch):
        with np.errstate(all="ignore"):
            _substitute(factors[i], rows[i], out[i])


def _substitute(a: Array, pivots: Array, b: Array) -> None:
    blocks = [*_blocks(pivots)]
    for k, size, row in blocks:
        end = k + size
        b[[end - 1, row]] = b[[row, end - 1]]
        b[end:] -= a[end:, k:end] @ b[k:end]
        b[k:end] = b[k:end] / a[k, k] if size == 1 else _by_block(a, k, b[k:end])
    for k, size, row in reversed(blocks):
        end = k + size
        b[k:end] -= a[end:, k:end].T @ b[end:]
        b[[end - 1, row]] = b[[row, end - 1]]


def _blocks(pivots: Array) -> Iterator[tuple[int, int, int]]:
    """Yield the position of each block of D, the number of its rows, and the row that is exchanged with its last."""
    k = 0
    while k < len(pivots):
        size = 1 if pivots[k] > 0 else 2
        yield k, size, abs(int(pivots[k])) - 1
        k += size
