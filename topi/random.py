"""Random numbers: tensors whose elements are functions of a seed, an offset and their index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute

from ..dialects.dtypes import bit_width, dtype_name, ui64
from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir import math_functions
from ..handles.tir import prim_expr as tx
from ..handles.tir.intrinsics import reinterpret
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..runtime import philox
from ..te.axis import shape_dims
from ..te.broadcast import Indices, broadcast_indices, over_axes
from ..te.extern_body import Statements, filled
from ..te.tensor import Tensor
from .reduction import argmax
from .scan import argsort, topk

Element = Callable[[philox.Arithmetic, Any, Indices], PrimExpr]
"""A function from the random words and the indices of an element to its value."""


class _TirArithmetic:
    """Arithmetic on tir expressions, within the statements of a block."""

    where = staticmethod(tx.select)
    sqrt = staticmethod(math_functions.sqrt)
    absolute = staticmethod(math_functions.abs_)

    def __init__(self, statements: Statements):
        self._statements = statements

    def let(self, value: PrimExpr) -> PrimExpr:
        return self._statements.let("v", value)

    def product(self, a: PrimExpr, b: PrimExpr | float) -> PrimExpr:
        return tx.call_intrin(f64, "strict_multiply", a, b if isinstance(b, PrimExpr) else tx.const(b, f64))

    def real(self, word: PrimExpr) -> PrimExpr:
        return word.astype(i64).astype(f64)

    def bits(self, x: PrimExpr) -> PrimExpr:
        return reinterpret(i64, x)

    def of_bits(self, bits: PrimExpr) -> PrimExpr:
        return reinterpret(f64, bits)


def _generate(
    seed: Tensor, offset: Tensor, shape: Any, dtype: Attribute, element: Element, *inputs: Tensor, name: str = "random"
) -> Tensor:
    """Return a tensor whose elements `element` computes from the random words of their index."""
    dims = shape_dims(shape)

    def body(b: Statements, out: Tensor) -> None:
        of = _TirArithmetic(b)
        key, counter = (b.let("word", reinterpret(ui64, v())) for v in (seed, offset))
        with b.loops("i", dims, parallel=True) as i:
            words = philox.block(of, key, counter, b.let("index", _row_major(dims, i)))
            b.store(out, i, element(of, words, i))

    return filled([(name, dims, dtype)], [seed, offset, *inputs], body, name)[0]


def _row_major(dims: Sequence[SymExpr], indices: Indices) -> PrimExpr:
    """Return the row-major index of an element, a uint64."""
    place: PrimExpr = tx.const(0, i64)
    for extent, i in zip(dims, indices, strict=True):
        place = place * from_sym(extent).astype(i64) + i.astype(i64)
    return reinterpret(ui64, place)


def _rounded(x: PrimExpr, dtype: Attribute) -> PrimExpr:
    """Convert float64 to `dtype`, through float32 if it has fewer than 32 bits."""
    return x.astype(f32).astype(dtype) if bit_width(dtype) < 32 else x.astype(dtype)


def uniform(seed: Tensor, offset: Tensor, shape: Any, low: float, high: float, dtype: Attribute) -> Tensor:
    """Return uniform numbers in [low, high)."""
    digits = philox.DIGITS[dtype_name(dtype)]

    def element(of: philox.Arithmetic, words: Any, _: Indices) -> PrimExpr:
        number = of.let(_rounded(philox.uniform(of, philox.fraction(of, words[0], words[1], digits), low, high), dtype))
        return tx.select(tx.less(number, tx.const(high, dtype)), number, tx.const(low, dtype))

    return _generate(seed, offset, shape, dtype, element, name="uniform")


def normal(seed: Tensor, offset: Tensor, shape: Any, mean: float, std: float, dtype: Attribute) -> Tensor:
    """Return normally distributed numbers."""

    def element(of: philox.Arithmetic, words: Any, _: Indices) -> PrimExpr:
        return _rounded(philox.normal(of, words, mean, std), dtype)

    return _generate(seed, offset, shape, dtype, element, name="normal")


def exponential(seed: Tensor, offset: Tensor, shape: Any, rate: float, dtype: Attribute) -> Tensor:
    """Return exponentially distributed numbers with mean 1 / `rate`."""

    def element(of: philox.Arithmetic, words: Any, _: Indices) -> PrimExpr:
        return _rounded(philox.exponential(of, words, rate), dtype)

    return _generate(seed, offset, shape, dtype, element, name="exponential")


def bernoulli(seed: Tensor, offset: Tensor, shape: Any, p: Tensor, dtype: Attribute) -> Tensor:
    """Return 1 with probability `p`, which broadcasts to `shape`, else 0."""
    dims = shape_dims(shape)

    def element(of: philox.Arithmetic, words: Any, i: Indices) -> PrimExpr:
        chance = p(*broadcast_indices(p.dims, i, dims)).astype(f64)
        return tx.less(philox.fraction(of, words[0], words[1]), chance).astype(dtype)

    return _generate(seed, offset, shape, dtype, element, p, name="bernoulli")


def randint(seed: Tensor, offset: Tensor, shape: Any, low: PrimExpr, high: PrimExpr, dtype: Attribute) -> Tensor:
    """Return uniform integers in [low, high)."""
    first, end = (tx.convert(v).astype(i64) for v in (low, high))

    def element(_of: philox.Arithmetic, words: Any, _i: Indices) -> PrimExpr:
        width = reinterpret(ui64, tx.select(tx.less(first, end), end - first, tx.const(1, i64)))
        drawn = tx.floormod(philox.integer(*words[:2]), width)
        return (reinterpret(i64, drawn) + first).astype(dtype)

    return _generate(seed, offset, shape, dtype, element, name="randint")


def bits(seed: Tensor, offset: Tensor, shape: Any, dtype: Attribute) -> Tensor:
    """Return the first words of Philox, as many as fit `dtype`."""

    def element(_of: philox.Arithmetic, words: Any, _i: Indices) -> PrimExpr:
        return (words[0] if bit_width(dtype) == 32 else philox.integer(*words[:2])).astype(dtype)

    return _generate(seed, offset, shape, dtype, element, name="bits")


def permutation(seed: Tensor, offset: Tensor, shape: Any, dtype: Attribute) -> Tensor:
    """Return the integers below the extent, in random order."""
    return argsort(bits(seed, offset, shape, i64), 0, False, dtype)


def multinomial(
    seed: Tensor, offset: Tensor, weights: Tensor, count: int, replacement: bool, dtype: Attribute
) -> Tensor:
    """Return positions along the last dimension: those of the greatest quotients of weights and exponential numbers."""
    extent = weights.dims[-1]
    samples = Const(count, extent.dtype)
    dims = [*weights.dims[:-1], samples, extent] if replacement else weights.dims
    times = exponential(seed, offset, dims, 1.0, f64)

    def race(i: Indices) -> PrimExpr:
        at = (*i[:-2], i[-1]) if replacement else i
        return tx.div(weights(*at).astype(f64), times(*i))

    races = over_axes(dims, race, "races", "injective")
    if not replacement:
        return topk(races, samples, -1, "indices", True, dtype)[0]
    winners = argmax(races, axis=len(dims) - 1)
    return over_axes(dims[:-1], lambda i: winners(*i).astype(dtype), "T_multinomial", "injective")


__all__ = ["bernoulli", "bits", "exponential", "multinomial", "normal", "permutation", "randint", "uniform"]
