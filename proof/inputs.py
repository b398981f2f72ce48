"""Inputs that may show that functions differ: random numbers, whole ones, and those near the functions' constants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation

from ..dialects import relax, tir
from ..interpreter.compare import Disagreement, Function, random_inputs
from ..interpreter.scalars import InterpreterError

Inputs = Callable[[Function, Mapping[str, int], int], list[Any]]
"""The type of functions that draw inputs: of a function, sizes, and a seed."""
Draw = Callable[[np.random.Generator, np.ndarray], np.ndarray]

_MOST_CONSTANTS = 64
_EXTENTS = (2, 4, 8, 16)


def candidates(*functions: Function) -> Iterator[tuple[int, Inputs]]:
    """Yield seeds and functions that draw inputs for the first of two functions that differ, or may."""
    near = around_constants(functions)
    for seed in range(3):
        for inputs in (random_inputs, whole_inputs, near):
            yield seed, inputs
    for seed in range(3, 30):
        yield seed, near


def zeros(func: Function, sizes: Mapping[str, int], seed: int) -> list[Any]:
    """Return inputs that are 0, beside which a small number shows."""
    return _drawn(lambda _rng, like: np.zeros(like.shape), func, sizes, seed)


def whole_inputs(func: Function, sizes: Mapping[str, int], seed: int) -> list[Any]:
    """Return random inputs whose floats are small whole numbers, and whose integers have signs and reach their limits.

    Sums and products of small whole numbers are exact, so that their order does not show.
    """

    def draw(rng: np.random.Generator, like: np.ndarray) -> np.ndarray:
        if like.dtype.kind not in "iu":
            return rng.integers(-4, 5, like.shape)
        info = np.iinfo(like.dtype)
        low, high = (info.min, info.max) if info.bits == 8 else (max(info.min, -100), 100)
        return rng.integers(low, high, like.shape, endpoint=True)

    return _drawn(draw, func, sizes, seed)


def around_constants(functions: Sequence[Operation]) -> Inputs:
    """Return a function that draws inputs whose floats are near constants of functions, and whose integers are indices.

    A branch, a clamp or a bound of an index depends on a constant; numbers that are far from it do not show it. Draws
    take turns: indices, with floats that are near any constant, all numbers beyond one constant, and near any.
    """
    constants = sorted({c for f in functions for c in _constants(f)})[:_MOST_CONSTANTS] or [0.0]
    extents = sorted({int(c) + n for c in constants for n in (0, 1) if 0 < c + n < 1 << 15 and c == int(c)})

    def draw(seed: int, rng: np.random.Generator, like: np.ndarray) -> np.ndarray:
        if like.dtype.kind in "iu" and seed % 3 == 0:
            high = min(int(rng.choice([*extents, *_EXTENTS])), int(np.iinfo(like.dtype).max))
            inside = rng.integers(0, high, like.shape)
            return np.where(rng.random(like.shape) < 0.3, rng.choice([0, high - 1], like.shape), inside)
        if seed % 3 == 1:
            constant = constants[-1 - seed // 3 % len(constants)]
            drawn = 1.5 * constant + np.sign(constant) + rng.random(like.shape) / 16
        else:
            drawn = _near(constants, rng, like.shape)
        if like.dtype.kind in "iu":
            info = np.iinfo(like.dtype)
            return np.clip(np.rint(drawn), max(info.min, -(1 << 40)), min(info.max, 1 << 40))
        return drawn

    return lambda func, sizes, seed: _drawn(partial(draw, seed), func, sizes, seed)


def _near(constants: Sequence[float], rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    exact = rng.choice(constants, shape)
    near = exact * rng.choice([1, 1 - 2**-10, 1 + 2**-10, 2], shape) + rng.choice(
        [0, 0, 2**-12, -(2**-12), 1, -1], shape
    )
    kind = rng.random(shape)
    return np.where(kind < 0.2, rng.random(shape) * 2 - 1, np.where(kind < 0.5, exact, near))


def _constants(func: Operation) -> Iterator[float]:
    """Yield the constants of a function, and the extents of its buffers and tensors, as far as they are finite."""
    for op in func.walk():
        if isinstance(op, tir.ConstOp) and isinstance(op.value, IntegerAttr | FloatAttr):
            yield from _finite(op.value.value.data)
        elif isinstance(op, relax.ConstantOp):
            data = op.value.numpy()
            yield from _finite(data.item()) if data.size == 1 else ()
        for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
            if isinstance(value.type, tir.BufferType | relax.TensorType):
                dims = (d.constant for d in value.type.dims or ())
                yield from (float(d) for d in dims if d is not None)


def _finite(value: float) -> list[float]:
    return [float(value)] if np.isfinite(value) and abs(value) < 1e6 else []


def _drawn(draw: Draw, func: Function, sizes: Mapping[str, int], seed: int) -> list[Any]:
    """Return inputs whose arrays of numbers are drawn by a function."""
    rng = np.random.default_rng(seed)

    def redrawn(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(redrawn, value))
        if not isinstance(value, np.ndarray) or value.dtype.kind == "b":
            return value
        return np.asarray(draw(rng, value)).astype(value.dtype)

    return [redrawn(v) for v in random_inputs(func, sizes, seed)]


def is_rounding(function: Callable[[list[Any]], Any], found: Disagreement) -> bool:
    """Return whether a difference is what a last bit of the inputs makes, too: numbers that are large, and cancel.

    All floats become larger, then all smaller: where a branch begins, one of them changes nothing.
    """
    if isinstance(found.after, str):
        return False
    least = np.inf
    for sign in (1, -1):
        rng = np.random.default_rng(0)
        moved = [_moved(v, sign, rng) for v in found.inputs]
        try:
            least = min(least, _distance(found.before, function(moved)))
        except InterpreterError:
            continue
    return bool(np.isfinite(least) and _distance(found.before, found.after) <= 64 * least)


def _moved(value: Any, sign: int, rng: np.random.Generator) -> Any:
    if isinstance(value, tuple):
        return tuple(_moved(v, sign, rng) for v in value)
    if not isinstance(value, np.ndarray) or value.dtype.kind in "iub":
        return value
    step = sign * 2.0 ** (-22 if value.dtype.itemsize >= 4 else -8)
    return (value + np.abs(value) * step * rng.random(value.shape)).astype(value.dtype)


def _distance(a: Any, b: Any) -> float:
    """Return the largest difference of elements; infinity where integers, shapes or structures differ, or what is not
    finite.
    """
    one, other = list(_arrays(a)), list(_arrays(b))
    if len(one) != len(other):
        return np.inf
    most = 0.0
    for x, y in zip(one, other, strict=True):
        if x.shape != y.shape or (x.dtype.kind in "iub" and not np.array_equal(x, y)):
            return np.inf
        if x.dtype.kind not in "iub":
            x, y = x.astype(np.float64), y.astype(np.float64)
            finite = np.isfinite(x)
            if not np.array_equal(x[~finite], y[~finite], equal_nan=True) or not np.isfinite(y[finite]).all():
                return np.inf
            most = max(most, float(np.abs(x - y)[finite].max(initial=0)))
    return most


def _arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        for part in value:
            yield from _arrays(part)
    elif isinstance(value, np.ndarray | np.generic):
        yield np.asarray(value)
