"""numpy's functions on arrays of terms: reductions, products, and those that only move elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import fingerprints as fp
from .algebra import Algebra, Level
from .elementwise import compute, is_positive, operands_of
from .terms import NotCoveredError, Terms, is_unknown, marked

Array = Any

_NEUTRAL: dict[str, Any] = {"add": 0, "multiply": 1, "logical_or": False, "logical_and": True}


def reduce(
    name: str,
    x: Terms,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
) -> Any:
    """Return the reduction of axes, in the order of memory where the order matters."""
    if out is not None or (dtype is not None and np.dtype(dtype) != x.dtype):
        raise NotCoveredError(f"a reduction ({name}) in another dtype")
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = [a % x.ndim for a in axes]
    rest = [a for a in range(x.ndim) if a not in axes]
    moved = x.transpose([*rest, *axes]).reshape(*(x.shape[a] for a in rest), -1) if x.size else x
    shape = [1 if a in axes else n for a, n in enumerate(x.shape)] if keepdims else [x.shape[a] for a in rest]
    start = _NEUTRAL.get(name) if initial is None else initial
    if not x.size:
        if start is None:
            raise ValueError(f"{name} of no elements")
        return Terms.lift(x.algebra, np.full(shape, start, x.dtype))
    if name == "add" and (x.algebra.level is not Level.BITS or x.dtype.kind in "iub"):
        total = _sums(moved)
    else:
        total = moved[..., 0]
        for i in range(1, moved.shape[-1]):
            total = compute(name, total, moved[..., i])
    if initial is not None and start is not None and np.isfinite(start):
        total = compute(name, total, x.dtype.type(start))
    return total.reshape(shape)


def _sums(x: Terms) -> Terms:
    """Return the sums of the last dimension at once."""
    kind, term = x.algebra.kind(x.dtype), x.data["term"]
    if x.algebra.level is Level.REAL and x.dtype.kind not in "iub":
        rows = [fp.total(term[..., row, :], -2, primes) for row, primes in ((0, fp.P), (1, fp.Q))]
        result = Terms.of(x.algebra, x.dtype, kind._of_rows(*rows))  # pyright: ignore[reportPrivateUsage,reportAttributeAccessIssue]
    else:
        result = Terms.of(x.algebra, x.dtype, kind.of(fp.total(term[..., 0, :], -2)))
    if x.shape[-1] == 1:
        return x[..., 0]
    known = x.data["known"].all(axis=-1)
    if known.any():
        values = Terms.lift(x.algebra, x.data["value"].sum(axis=-1).astype(x.dtype))
        result = result.with_data(np.where(known, values.data, result.data))
    result.data["unwritten"] |= x.data["unwritten"].any(axis=-1)
    positive = is_positive(x)
    nowhere_less = positive | (x.data["known"] & (x.data["value"] == 0))
    result.data["positive"] |= nowhere_less.all(axis=-1) & positive.any(axis=-1)
    if x.algebra.history is not None:
        x.algebra.history.gather("sum", result, x)
    return result


_MOST_PRODUCTS = 1 << 20


def _matmul(algebra: Algebra, a: Any, b: Any) -> Terms:
    a, b = operands_of(algebra, (a, b))
    first, second = a.ndim == 1, b.ndim == 1
    a, b = (a[None] if first else a), (b[:, None] if second else b)
    inner = a.shape[-1]
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    step = max(1, _MOST_PRODUCTS // max(1, int(np.prod(shape))))
    total: Any = Terms.lift(algebra, np.zeros(shape, a.dtype))
    for k in range(0, inner, step):
        left = a[..., :, None, k : k + step]
        right = b.swapaxes(-1, -2)[..., None, :, k : k + step]
        total = total + reduce("add", left * right, -1)
    if second:
        total = total[..., 0]
    return (total[..., 0] if second else total[..., 0, :]) if first else total


def _records(algebra: Algebra, values: Sequence[Any]) -> tuple[np.dtype[Any], list[Array]]:
    terms = operands_of(algebra, values)
    return terms[0].dtype, [t.data for t in terms]


def _moving(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the version for terms of a function of one array that moves elements."""

    def run(algebra: Algebra, x: Any, *args: Any, **options: Any) -> Any:
        if not isinstance(x, Terms):
            raise NotCoveredError(f"numpy.{function.__name__} by data")
        result = function(x.data, *args, **options)
        if isinstance(result, list | tuple):
            return type(result)(x.with_data(r) for r in result)
        return x.with_data(result)

    return run


def _joining(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the version for terms of a function that moves elements of several arrays."""

    def run(algebra: Algebra, arrays: Sequence[Any], *args: Any, **options: Any) -> Terms:
        dtype, data = _records(algebra, arrays)
        return Terms(algebra, dtype, function(data, *args, **options))

    return run


def _where(algebra: Algebra, condition: Any, a: Any, b: Any) -> Any:
    x, y = operands_of(algebra, (a, b))
    if not is_unknown(condition):
        chosen = condition.numbers() if isinstance(condition, Terms) else np.asarray(condition)
        return Terms(algebra, x.dtype, np.where(chosen, x.data, y.data))
    shape = np.broadcast_shapes(condition.shape, x.shape, y.shape)
    c, x, y = (t.with_data(np.broadcast_to(t.data, shape)) for t in (condition, x, y))
    kind = algebra.kind(x.dtype)
    term = kind.select(c.data["term"], x.data["term"], y.data["term"])
    result = Terms.of(algebra, x.dtype, term)
    result.data["positive"] = is_positive(x) & is_positive(y)
    picked = np.where(c.data["value"].astype(bool), x.data, y.data)
    result = result.with_data(np.where(c.data["known"], picked, marked(result, c, x, y).data))
    if algebra.history is not None:
        algebra.history.note("where", result, c, x, y)
    return result


def _pad(algebra: Algebra, x: Terms, widths: Any, mode: str = "constant", **options: Any) -> Terms:
    pairs = np.broadcast_to(np.asarray(widths), (x.ndim, 2))
    if mode == "constant":
        shape = [n + int(b) + int(a) for n, (b, a) in zip(x.shape, pairs, strict=True)]
        result = Terms.lift(algebra, np.full(shape, options.get("constant_values", 0), x.dtype))
        where = tuple(slice(int(b), int(b) + n) for n, (b, _) in zip(x.shape, pairs, strict=True))
        result[where] = x
        return result
    places = np.ix_(*(np.pad(np.arange(n), tuple(p), mode=mode) for n, p in zip(x.shape, pairs, strict=True)))  # pyright: ignore[reportCallIssue,reportArgumentType]
    return x[places]


def _broadcast_arrays(algebra: Algebra, *arrays: Any, **_: Any) -> list[Any]:
    shape = np.broadcast_shapes(*(np.shape(a) for a in arrays))
    return [_broadcast_to(algebra, a, shape) if isinstance(a, Terms) else np.broadcast_to(a, shape) for a in arrays]


def _broadcast_to(_algebra: Algebra, x: Terms, shape: Any, **_: Any) -> Terms:
    return x.with_data(np.broadcast_to(x.data, shape))


def _take(algebra: Algebra, x: Any, indices: Any, axis: Any = None, **_: Any) -> Terms:
    x = Terms.lift(algebra, x)
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis %= x.ndim
    if not is_unknown(indices):
        where = indices.numbers() if isinstance(indices, Terms) else np.asarray(indices)
        return x.with_data(np.take(x.data, where, axis=axis))
    rank = indices.ndim
    outer = [np.arange(n).reshape([-1 if d == i else 1 for d in range(x.ndim - 1 + rank)])
             for i, n in _places(x.shape, axis, rank)]  # fmt: skip
    inner = indices.reshape([1] * axis + list(indices.shape) + [1] * (x.ndim - axis - 1))
    return load(x, [*outer[:axis], inner, *outer[axis:]])


def _places(shape: Sequence[int], axis: int, rank: int) -> list[tuple[int, int]]:
    """Return for each dimension but `axis` its place in the result of `take`, and its extent."""
    return [(d if d < axis else d - 1 + rank, n) for d, n in enumerate(shape) if d != axis]


def load(buffer: Any, indices: Sequence[Any]) -> Terms:
    """Return the elements at indices, some of which are data: functions of the buffer and of the place in it."""
    algebra = next(x.algebra for x in (buffer, *indices) if isinstance(x, Terms))
    buffer = Terms.lift(algebra, buffer)
    place: Any = 0
    for index, extent in zip(indices, buffer.shape, strict=True):
        index = _within(index, extent) if is_unknown(index) else _numbers(index)
        place = place * extent + (index.astype(np.int64) if isinstance(index, Terms) else np.asarray(index, np.int64))
    at = fp.packed(place.data["term"][..., 0, :])
    algebra.bounds.update(dict.fromkeys(words_of(place), (0, buffer.size - 1)))
    words = fp.packed(buffer.data["term"][..., 0, :]).reshape(-1)
    with np.errstate(over="ignore"):
        order = fp.mix(np.arange(words.size, dtype=np.uint64)) | np.uint64(1)
        contents = fp.mix((fp.mix(words) * order).sum(dtype=np.uint64))
    result = Terms.of(algebra, buffer.dtype, algebra.kind(buffer.dtype).opaque("load", contents, at))
    result.data["unwritten"] = buffer.data["unwritten"].any()
    if algebra.history is not None:
        algebra.history.note("element at", result, place)
    return marked(result, place)


def _within(index: Terms, extent: int) -> Terms:
    """Return an index in the form that bounds checks give it; within bounds, which is assumed, that is the same."""
    bounds = (index.algebra.bounds.get(word, (-math.inf, math.inf)) for word in words_of(index))
    if all(low >= 0 and high < extent for low, high in bounds):
        return index
    return compute("maximum", compute("minimum", index, extent - 1), 0)


def words_of(x: Terms) -> list[int]:
    """Return the terms of an array as 64-bit words."""
    return fp.packed(x.data["term"][..., 0, :]).reshape(-1).tolist()


def _numbers(x: Any) -> Any:
    return x.numbers() if isinstance(x, Terms) else x


def _like(value: Any) -> Callable[..., Any]:
    return lambda algebra, x, *_, **__: np.full(x.shape, value, x.dtype)


def _method(name: str) -> Callable[..., Any]:
    def run(algebra: Algebra, x: Any, *args: Any, **options: Any) -> Any:
        return getattr(x, name)(*args, **options)

    return run


def _einsum(algebra: Algebra, text: str, a: Any, b: Any) -> Terms:
    """Return the products of two arrays, summed over the letters that the result does not have."""
    a, b = operands_of(algebra, (a, b))
    inputs, output = text.split("->")
    left, right = inputs.split(",")
    rest = "".join(chr(ord("A") + i) for i in range(max(a.ndim - len(left) + 3, 0))) if "..." in text else ""
    left, right, output = (t.replace("...", rest) for t in (left, right, output))
    letters = output + "".join(dict.fromkeys(c for c in left + right if c not in output))

    def laid(x: Terms, own: str) -> Terms:
        order = sorted(range(len(own)), key=lambda d: letters.index(own[d]))
        shape = [x.shape[own.index(c)] if c in own else 1 for c in letters]
        return x.transpose(order).reshape(shape)

    products = compute("multiply", laid(a, left), laid(b, right))
    axes = tuple(range(len(output), len(letters)))
    return reduce("add", products, axes) if axes else products


_MOVING = (
    np.transpose, np.reshape, np.expand_dims, np.squeeze, np.repeat, np.tile, np.flip, np.split, np.moveaxis,
    np.swapaxes, np.ravel, np.atleast_1d, np.array_split, np.rollaxis, np.roll,
)  # fmt: skip

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{f: _moving(f) for f in _MOVING},
    **{f: _joining(f) for f in (np.concatenate, np.stack)},
    np.matmul: _matmul,
    np.where: _where,
    np.pad: _pad,
    np.take: _take,
    np.broadcast_arrays: _broadcast_arrays,
    np.broadcast_to: _broadcast_to,
    np.einsum: _einsum,
    np.shape: lambda _algebra, x: x.shape,
    np.ndim: lambda _algebra, x: x.ndim,
    np.size: lambda _algebra, x: x.size,
    np.zeros_like: _like(0),
    np.ones_like: _like(1),
    np.result_type: lambda _algebra, *xs: np.result_type(*(x.dtype if isinstance(x, Terms) else x for x in xs)),
    np.may_share_memory: lambda _algebra, a, b, *_: (
        isinstance(a, Terms) and isinstance(b, Terms) and np.may_share_memory(a.data, b.data)
    ),
    **{getattr(np, name): _method(name) for name in ("sum", "prod", "max", "min", "mean", "var", "std", "any", "all")},
}
"""numpy's functions on arrays of terms."""

Terms.reduction = staticmethod(reduce)
Terms.functions = FUNCTIONS
