"""Fourier transforms of a fixed length: mixed-radix passes in Stockham's order, and Bluestein's algorithm.

Complex numbers are pairs in the last dimension of tensors. Rows are computed in planes of real and imaginary parts, so
that loops over contiguous numbers are vectorized. An inverse transform is a forward one with the planes exchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import cos, pi, sin
from typing import NamedTuple

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr
from ..te.extern_body import Array, Indices, Statements, filled
from ..te.tensor import Tensor
from .fft_plan import Bluestein, Columns, Pass, Plan, Smooth


class Pair(NamedTuple):
    """A complex number."""

    re: PrimExpr
    im: PrimExpr

    def plus(self, other: Pair) -> Pair:
        return Pair(self.re + other.re, self.im + other.im)

    def minus(self, other: Pair) -> Pair:
        return Pair(self.re - other.re, self.im - other.im)

    def times(self, other: Pair) -> Pair:
        return Pair(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def turned(self) -> Pair:
        """Return the product with -i."""
        return Pair(self.im, self.re * -1.0)

    def exchanged(self) -> Pair:
        return Pair(self.im, self.re)


_APART = 40
"""Elements between the end of a plane and the next one."""

Source = Callable[[PrimExpr], Pair]


@dataclass(frozen=True)
class Planes:
    """A row of complex numbers in local memory."""

    re: Array
    im: Array

    def __call__(self, i: PrimExpr) -> Pair:
        return Pair(self.re(i), self.im(i))

    def set(self, i: PrimExpr, value: Pair) -> None:
        self.re.set(i, value.re)
        self.im.set(i, value.im)


class RowTransform:
    """Writes the transform of one row into statements."""

    def __init__(self, b: Statements, tables: Tensor, dtype: Attribute, size: int):
        self.b, self._tables, self._dtype = b, tables, dtype
        names = ("re", "im", "re_next", "im_next")
        # of no power of two, so that the same element of two planes has different bits that select a cache line
        arrays = [b.array(name, dtype, size + _APART) for name in names]
        self._planes = [Planes(arrays[0], arrays[1]), Planes(arrays[2], arrays[3])]

    def table(self, place: PrimExpr | int) -> Pair:
        """Return an element of the tables."""
        return Pair(self._tables(0, place), self._tables(1, place))

    def bound(self, name: str, value: Pair) -> Pair:
        return Pair(self.b.let(f"{name}_re", value.re), self.b.let(f"{name}_im", value.im))

    def run(self, transform: Smooth | Bluestein, source: Source | None) -> Planes:
        """Transform the numbers of `source`, or those of the current planes, and return where they are."""
        if isinstance(transform, Bluestein):
            return self._bluestein(transform, source or self._planes[0])
        return self._smooth(transform, source)

    @property
    def current(self) -> Planes:
        return self._planes[0]

    def _smooth(self, transform: Smooth, source: Source | None) -> Planes:
        if not transform.first.passes:  # of length 1
            if source is not None:
                self.current.set(tx.const(0, i64), source(tx.const(0, i64)))
            return self.current
        self._columns(transform.first, source)
        if transform.second is not None:
            self._transpose(transform, transform.first.n, transform.second.n)
            self._columns(transform.second, None)
        return self.current

    def _columns(self, columns: Columns, source: Source | None) -> None:
        for each in columns.passes:
            data, out = source or self.current, self._planes[1]
            self._pass(each, columns.width, data, out)
            self._planes.reverse()
            source = None

    def _pass(self, step: Pass, width: int, data: Source, out: Planes) -> None:
        """data[p + m · k][q], transformed over k, times the root of p · k -> out[p · radix + k][q], q contiguous."""
        b, radix, run = self.b, step.radix, step.stride * width
        m = step.length // radix
        with b.loop("p", Const(m)) as p:
            twiddles = [
                self.bound(f"w{k}", self.table(p * radix + (step.twiddles + k))) for k in range(1, radix) if m > 1
            ]
            with b.loop("q", Const(run)) as q:
                values = [self.bound(f"x{k}", data(p * run + q + m * run * k)) for k in range(radix)]
                for k, value in enumerate(self._butterfly(values)):
                    place = p * (radix * run) + q + run * k
                    out.set(place, value.times(twiddles[k - 1]) if k and twiddles else value)

    def _transpose(self, transform: Smooth, rows: int, columns: int) -> None:
        """data[r][c] · root of r · c -> out[c][r]"""
        data, out = self._planes
        with self.b.loop("c", Const(columns)) as c, self.b.loop("r", Const(rows)) as r:
            root = self.table(c * rows + r + transform.twiddles)
            out.set(c * rows + r, data(r * columns + c).times(root))
        self._planes.reverse()

    def _bluestein(self, transform: Bluestein, source: Source) -> Planes:
        b, n = self.b, transform.n
        start = self._planes[1]
        with b.loop("j", Const(n)) as j:
            start.set(j, self.bound("x", source(j)).times(self.table(j + transform.chirp)))
        with b.loop("j", Const(transform.inner.n - n)) as j:
            zero = tx.const(0.0, self._dtype)
            start.set(j + n, Pair(zero, zero))
        self._planes.reverse()
        data = self._smooth(transform.inner, None)
        with b.loop("j", Const(transform.inner.n)) as j:
            product = self.bound("x", data(j).times(self.table(j + transform.kernel)))
            data.set(j, product.exchanged())
        data = self._smooth(transform.inner, None)
        with b.loop("j", Const(n)) as j:
            product = self.bound("x", data(j).exchanged().times(self.table(j + transform.chirp)))
            data.set(j, product)
        return data

    # Transforms of length radix.

    def _butterfly(self, x: list[Pair]) -> list[Pair]:
        if len(x) in (2, 4, 8):
            return self._power_of_two(x)
        return self._odd(x)

    def _power_of_two(self, x: list[Pair]) -> list[Pair]:
        if len(x) == 1:
            return x
        even, odd = self._power_of_two(x[::2]), self._power_of_two(x[1::2])
        moved = [self.bound("t", _times_root(v, k, len(x))) if k else v for k, v in enumerate(odd)]
        pairs = list(zip(even, moved, strict=True))
        sums = [self.bound("s", a.plus(c)) for a, c in pairs]
        differences = [self.bound("d", a.minus(c)) for a, c in pairs]
        return [*sums, *differences]

    def _odd(self, x: list[Pair]) -> list[Pair]:
        """Return the transform of odd length, whose roots are pairs of conjugates."""
        r = len(x)
        half = range(1, r // 2 + 1)
        sums = [self.bound("s", x[j].plus(x[r - j])) for j in half]
        differences = [self.bound("d", x[j].minus(x[r - j])) for j in half]
        out: list[Pair] = [reduce(Pair.plus, sums, x[0])] * r
        for k in half:
            angles = [2 * pi * (j * k % r) / r for j in half]
            even = reduce(Pair.plus, (_scaled(s, cos(a)) for s, a in zip(sums, angles, strict=True)), x[0])
            odd = reduce(Pair.plus, (_scaled(d, sin(a)) for d, a in zip(differences, angles, strict=True)))
            even, turned = self.bound("e", even), self.bound("o", odd).turned()
            out[k], out[r - k] = even.plus(turned), even.minus(turned)
        return out


def _scaled(x: Pair, factor: float) -> Pair:
    return Pair(x.re * factor, x.im * factor)


def _times_root(x: Pair, k: int, n: int) -> Pair:
    """Return x · exp(-2πi k / n), for n = 4 or 8."""
    if 4 * k == n:
        return x.turned()
    return x.times(Pair(*(tx.const(v, x.re.type) for v in (cos(2 * pi * k / n), -sin(2 * pi * k / n)))))


# Whole tensors.


def _outer(dims: Sequence[SymExpr], axis: int) -> list[SymExpr]:
    return [d for i, d in enumerate(dims) if i != axis]


def _at(rest: Indices, axis: int, place: PrimExpr) -> Indices:
    return (*rest[:axis], place, *rest[axis:])


def _scratch(plan: Plan) -> int:
    inner = plan.complex
    return inner.inner.n if isinstance(inner, Bluestein) else inner.n


def _rows(
    x: Tensor, tables: Tensor, plan: Plan, axis: int, dims: Sequence[SymExpr], outer: Sequence[SymExpr],
    row: Callable[[RowTransform, Indices, Callable[..., None]], None], name: str,
) -> Tensor:  # fmt: skip
    """Return a tensor of extents `dims`, whose rows along `axis` the statements of `row` write."""

    def body(b: Statements, out: Tensor) -> None:
        with b.loops("i", outer, parallel=True) as rest:
            transform = RowTransform(b, tables, x.type, _scratch(plan))

            def write(place: PrimExpr, *parts: PrimExpr) -> None:
                for k, part in enumerate(parts):
                    at = _at(rest, axis, place)
                    b.store(out, (*at, tx.const(k, i64)) if len(dims) > len(outer) + 1 else at, part)

            row(transform, rest, write)

    return filled([(name, dims, x.type)], [x, tables], body, name)[0]


def fft(x: Tensor, tables: Tensor, plan: Plan, axis: int, inverse: bool, scale: float) -> Tensor:
    """Return the transforms of complex numbers (..., n, ..., 2) along `axis`, times `scale`."""
    n = plan.complex.n

    def row(t: RowTransform, rest: Indices, write: Callable[..., None]) -> None:
        def source(i: PrimExpr) -> Pair:
            at = _at(rest, axis, i)
            value = Pair(x(*at, 0), x(*at, 1))
            return value.exchanged() if inverse else value

        result = t.run(plan.complex, source)
        with t.b.loop("k", Const(n)) as k:
            value = result(k).exchanged() if inverse else result(k)
            write(k, *_scaled(value, scale))

    return _rows(x, tables, plan, axis, x.dims, _outer(x.dims[:-1], axis), row, "fft")


def rfft(x: Tensor, tables: Tensor, plan: Plan, axis: int, n: int, scale: float) -> Tensor:
    """Return the n // 2 + 1 complex numbers of the transforms of real numbers along `axis`, times `scale`."""
    count, outer = n // 2 + 1, _outer(x.dims, axis)
    dims = [*outer[:axis], Const(count, x.dims[axis].dtype), *outer[axis:], Const(2, x.dims[axis].dtype)]

    def row(t: RowTransform, rest: Indices, write: Callable[..., None]) -> None:
        zero = tx.const(0.0, x.type)
        if n % 2:
            result = t.run(plan.complex, lambda i: Pair(x(*_at(rest, axis, i)), zero))
            with t.b.loop("k", Const(count)) as k:
                write(k, *_scaled(result(k), scale))
            return
        half = n // 2
        z = t.run(plan.complex, lambda i: Pair(*(x(*_at(rest, axis, i * 2 + k)) for k in (0, 1))))
        first = z(tx.const(0, i64))
        write(tx.const(0, i64), (first.re + first.im) * scale, zero)
        write(tx.const(half, i64), (first.re - first.im) * scale, zero)
        with t.b.loop("k", Const(half - 1)) as k:
            a, c = t.bound("a", z(k + 1)), t.bound("c", z(tx.const(half - 1, i64) - k))
            even = Pair(a.re + c.re, a.im - c.im)
            odd = t.bound("o", Pair(a.im + c.im, c.re - a.re))
            write(k + 1, *_scaled(even.plus(odd.times(t.table(k + (plan.halves + 1)))), scale / 2))

    return _rows(x, tables, plan, axis, dims, outer, row, "rfft")


def irfft(x: Tensor, tables: Tensor, plan: Plan, axis: int, n: int, scale: float) -> Tensor:
    """Return the n real numbers whose transforms along `axis` are the complex x (n // 2 + 1 along it), times `scale`.

    The imaginary parts of the first number, and of the last one if n is even, are not read.
    """
    outer = _outer(x.dims[:-1], axis)
    dims = [*outer[:axis], Const(n, x.dims[axis].dtype), *outer[axis:]]

    def row(t: RowTransform, rest: Indices, write: Callable[..., None]) -> None:
        def given(i: PrimExpr) -> Pair:
            at = _at(rest, axis, i)
            return Pair(x(*at, 0), x(*at, 1))

        zero, start = tx.const(0, i64), t.current
        if n % 2:
            start.set(zero, Pair(tx.const(0.0, x.type), given(zero).re))
            with t.b.loop("k", Const(n // 2)) as k:
                value = t.bound("x", given(k + 1))
                start.set(k + 1, value.exchanged())
                start.set(tx.const(n - 1, i64) - k, Pair(value.im * -1.0, value.re))
            result = t.run(plan.complex, None)
            with t.b.loop("k", Const(n)) as k:
                write(k, result(k).im * scale)
            return
        half = n // 2
        first, last = given(zero).re, given(tx.const(half, i64)).re
        start.set(zero, Pair(first - last, first + last))
        with t.b.loop("k", Const(half - 1)) as k:
            a, c = t.bound("a", given(k + 1)), t.bound("c", given(tx.const(half - 1, i64) - k))
            even = Pair(a.re + c.re, a.im - c.im)
            root = t.table(k + (plan.halves + 1))
            odd = t.bound("o", Pair(a.re - c.re, a.im + c.im).times(Pair(root.re, root.im * -1.0)))
            start.set(k + 1, Pair(even.re - odd.im, even.im + odd.re).exchanged())
        result = t.run(plan.complex, None)
        with t.b.loop("k", Const(half)) as k:
            value = result(k)
            write(k * 2, value.im * scale)
            write(k * 2 + 1, value.re * scale)

    return _rows(x, tables, plan, axis, dims, outer, row, "irfft")
