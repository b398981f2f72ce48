"""How a Fourier transform of a fixed length is computed: factors, and the tables of its roots of unity."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from math import isqrt
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
RADICES = (8, 4, 2, 3, 5, 7, 11, 13)
"""The lengths of the transforms that a pass writes out."""


class Tables:
    """Tables of complex numbers one after another; `add` returns where one begins."""

    def __init__(self) -> None:
        self._parts: list[Array] = []
        self.size = 0

    def add(self, values: Array) -> int:
        start, self.size = self.size, self.size + values.size
        self._parts.append(values.reshape(-1))
        return start

    def array(self, dtype: str) -> Array:
        """Return all tables: their real parts, and their imaginary parts."""
        values = np.concatenate([*self._parts, np.zeros(1)])
        return np.stack([values.real, values.imag]).astype(dtype)


def roots(count: Array, length: int) -> Array:
    """Return exp(-2 πi · count / length), with angles reduced before they are multiplied by π."""
    phases = np.asarray(count) % length
    return np.exp(-2j * np.pi * phases / length)


@dataclass(frozen=True)
class Pass:
    """A pass over columns of `length` · `stride` numbers, by transforms of `radix`; `twiddles` begins its table."""

    radix: int
    length: int
    stride: int
    twiddles: int


@dataclass(frozen=True)
class Columns:
    """Transforms of length `n` along the rows of a matrix with `width` columns, in passes."""

    n: int
    width: int
    passes: tuple[Pass, ...]


@dataclass(frozen=True)
class Smooth:
    """n = rows · columns: transforms along the columns, a product with the table at `twiddles`, transposed, and again.

    So all passes work on runs of contiguous numbers. `second` is None if there is only one column.
    """

    n: int
    first: Columns
    second: Columns | None
    twiddles: int


@dataclass(frozen=True)
class Bluestein:
    """A transform as a convolution of length `inner.n` with the table at `kernel`, between products with `chirp`."""

    n: int
    inner: Smooth
    chirp: int
    kernel: int


@dataclass(frozen=True)
class Plan:
    """The transform of one row; `tables` has all its constants, `halves` begins the roots that join real halves."""

    complex: Smooth | Bluestein
    tables: Tables = field(compare=False)
    halves: int = 0


def factors(n: int) -> list[int] | None:
    """Return radices whose product is `n`, or None if it has a greater prime factor."""
    found: list[int] = []
    for radix in RADICES:
        while n % radix == 0 and not (radix == 8 and n == 16):  # 16 is 4 · 4, not 8 · 2
            found.append(radix)
            n //= radix
    return found if n == 1 else None


@cache
def smooth_at_least(n: int) -> int:
    """Return the least length from `n` on of the form 2ᵃ · (1, 3, 5, 9, 15)."""
    sizes = [k << a for k in (1, 3, 5, 9, 15) for a in range(n.bit_length() + 1)]
    return min(s for s in sizes if s >= n)


def _columns(n: int, width: int, tables: Tables) -> Columns:
    passes: list[Pass] = []
    length, stride = n, 1
    for radix in factors(n) or []:
        m = length // radix
        table = roots(np.outer(np.arange(m), np.arange(radix)), length)
        passes.append(Pass(radix, length, stride, tables.add(table) if m > 1 else 0))
        length, stride = m, stride * radix
    return Columns(n, width, tuple(passes))


def _smooth(n: int, tables: Tables) -> Smooth:
    rows = next(d for d in range(isqrt(n), 0, -1) if n % d == 0)
    first, second = n // rows, rows
    if n < 64 or second == 1:
        return Smooth(n, _columns(n, 1, tables), None, 0)
    table = roots(np.outer(np.arange(second), np.arange(first)), n)
    return Smooth(n, _columns(first, second, tables), _columns(second, first, tables), tables.add(table))


def _complex(n: int, tables: Tables) -> Smooth | Bluestein:
    if factors(n) is not None:
        return _smooth(n, tables)
    inner = _smooth(smooth_at_least(2 * n - 1), tables)
    squares = np.array([k * k % (2 * n) for k in range(n)])
    chirp = np.exp(-1j * np.pi * squares / n)
    kernel = np.zeros(inner.n, complex)
    kernel[:n] = chirp.conj()
    kernel[inner.n - n + 1 :] = chirp[:0:-1].conj()
    return Bluestein(n, inner, tables.add(chirp), tables.add(np.fft.fft(kernel) / inner.n))


def plan(n: int, real: bool) -> Plan:
    """Return the plan for rows of length `n`; `real` ones of even length are half as many complex numbers."""
    tables = Tables()
    half = real and n % 2 == 0
    transform = _complex(n // 2 if half else n, tables)
    return Plan(transform, tables, tables.add(roots(np.arange(n // 2 + 1), n)) if half else 0)
