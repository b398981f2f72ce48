"""Reference semantics of random numbers, in numpy. Rows as in `operators`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...dialects.dtypes import numpy_dtype
from ...runtime import philox

Array = Any

_OF = philox.NumpyArithmetic()


def _block(seed: Array, offset: Array, count: int) -> tuple[Array, Array, Array, Array]:
    """Return the random words of `count` elements."""
    key, counter = (np.asarray(v).reshape(1).astype(np.uint64) for v in (seed, offset))
    return philox.block(_OF, key, counter, np.arange(count, dtype=np.uint64))


def _rounded(op: Any, numbers: Array) -> Array:
    """Convert float64 to the dtype of the result, through float32 if it has fewer than 32 bits."""
    dtype = numpy_dtype(op.result_type.element)
    return numbers.astype(np.float32).astype(dtype) if dtype.itemsize < 4 else numbers.astype(dtype)


def _floats(numbers: Callable[[Any, Any], Array]) -> Callable[..., Array]:
    def run(op: Any, seed: Array, offset: Array, shape: tuple[int, ...]) -> Array:
        with np.errstate(over="ignore"):
            return _rounded(op, numbers(op, _block(seed, offset, math.prod(shape)))).reshape(shape)

    return run


def _uniform(op: Any, words: Any) -> Array:
    low, high = op.attr("low"), op.attr("high")
    digits = philox.DIGITS[numpy_dtype(op.result_type.element).name]
    numbers = philox.uniform(_OF, philox.fraction(_OF, words[0], words[1], digits), low, high)
    rounded = _rounded(op, numbers)
    return np.where(rounded < np.asarray(high).astype(rounded.dtype), rounded, np.asarray(low).astype(rounded.dtype))


def _bernoulli(_op: Any, seed: Array, offset: Array, shape: tuple[int, ...], p: Array) -> Array:
    words = _block(seed, offset, math.prod(shape))
    return philox.fraction(_OF, words[0], words[1]).reshape(shape) < np.asarray(p).astype(np.float64)


def _randint(op: Any, seed: Array, offset: Array, shape: tuple[int, ...], low: int, high: int) -> Array:
    first, second, *_ = _block(seed, offset, math.prod(shape))
    drawn = philox.integer(first, second) % np.uint64(max(high - low, 1))
    return (drawn + np.int64(low).astype(np.uint64)).astype(numpy_dtype(op.result_type.element)).reshape(shape)


def _bits(op: Any, seed: Array, offset: Array, shape: tuple[int, ...]) -> Array:
    dtype = numpy_dtype(op.result_type.element)
    first, second, *_ = _block(seed, offset, math.prod(shape))
    return (first if dtype.itemsize == 4 else philox.integer(first, second)).astype(dtype).reshape(shape)


def _permutation(_op: Any, seed: Array, offset: Array, n: int) -> Array:
    first, second, *_ = _block(seed, offset, n)
    return np.argsort(philox.integer(first, second).astype(np.int64), kind="stable")


def _multinomial(op: Any, seed: Array, offset: Array, weights: Array) -> Array:
    """Return the indices of the greatest quotients of weights and exponential random numbers."""
    count, rows = op.attr("num_samples"), np.asarray(weights).astype(np.float64)
    if op.attr("replacement"):
        rows = np.broadcast_to(rows[..., None, :], (*rows.shape[:-1], count, rows.shape[-1]))
    with np.errstate(invalid="ignore", divide="ignore"):
        races = rows / philox.exponential(_OF, _block(seed, offset, rows.size), 1.0).reshape(rows.shape)
    if op.attr("replacement"):
        return np.argmax(races, axis=-1)
    return np.argsort(-races, axis=-1, kind="stable")[..., :count]


RANDOM: dict[str, Callable[..., Any]] = {
    "random.uniform": _floats(_uniform),
    "random.normal": _floats(lambda op, words: philox.normal(_OF, words, op.attr("mean"), op.attr("std"))),
    "random.exponential": _floats(lambda op, words: philox.exponential(_OF, words, op.attr("rate"))),
    "random.bernoulli": _bernoulli,
    "random.randint": _randint,
    "random.bits": _bits,
    "random.permutation": _permutation,
    "random.multinomial": _multinomial,
}
"""Operators by name, without the prefix `relax.`."""
