"""Packed functions that compiled programs call for operators without kernels, under TVM's names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .dtypes import to_dtype
from .errors import ArgumentError, AssertionFailedError, DTypeError, ShapeError
from .ndarray import NDArray, ShapeTuple, array, empty
from .registry import get_global_func, register_func
from .thread_pool import num_threads, set_num_threads


@register_func("vm.builtin.shape_of")
def shape_of(x: np.ndarray) -> ShapeTuple:
    """Return the shape of an array."""
    return ShapeTuple(x.shape)


@register_func("vm.builtin.reshape")
def reshape(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array with another shape, without a copy if it is contiguous."""
    return x.reshape(shape)


@register_func("vm.builtin.tuple_reset_item")
def tuple_reset_item(values: tuple[object, ...], index: int) -> tuple[()]:
    """Do nothing: a tuple of arguments belongs to the caller, who releases it."""
    return ()


@register_func("vm.builtin.tensor_to_shape")
def tensor_to_shape(x: np.ndarray) -> ShapeTuple:
    """Return a rank-1 array as a shape. Raises `ArgumentError` if an extent is negative."""
    if np.any(x < 0):
        raise ArgumentError("a shape has no negative extents", found=x.tolist())
    return ShapeTuple(x.tolist())


@register_func("relax.run.shape_to_tensor")
def shape_to_tensor(shape: tuple[int, ...]) -> NDArray:
    """Return a shape as an array of int64."""
    return array(np.array(shape, np.int64))


@register_func("runtime.TVMArrayCreateView")
def create_view(x: np.ndarray, shape: tuple[int, ...], dtype: str, offset: int) -> NDArray:
    """Return the bytes of an array from `offset` on as an array of another shape and dtype.

    Raises `ArgumentError` if the array is too short.
    """
    kind = to_dtype(dtype)
    end = offset + math.prod(shape) * kind.itemsize
    if offset < 0 or end > x.nbytes:
        raise ArgumentError("a view is longer than its array", expected=f"at most {x.nbytes} bytes", found=end)
    return array(np.frombuffer(x.tobytes()[offset:end], kind).reshape(shape))


@register_func("runtime.NumThreads")
def _num_threads() -> int:
    return num_threads()


@register_func("runtime.config_threadpool")
def _config_threadpool(affinity_mode: int, threads: int, *_: object) -> None:
    """Accept TVM's call; `affinity_mode` has no effect, since the system assigns threads to cores."""
    set_num_threads(threads or None)


@register_func("relax.run.unique")
def unique(
    x: np.ndarray,
    sorted: bool = True,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> NDArray | tuple[NDArray, ...]:
    """Return the distinct elements, or slices along `axis`; if not `sorted`, in order of first occurrence."""
    # numpy has no order of bfloat16 in which NaN is last
    wide = x if x.dtype.isbuiltin == 1 else x.astype(np.float32)
    _, first, inverse, counts = np.unique(wide, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    order = np.arange(len(first)) if sorted else np.argsort(first)
    results = [np.take(x, first[order], axis=axis)]
    results += [first[order]] * bool(return_index)
    results += [np.argsort(order)[inverse.reshape(-1)]] * bool(return_inverse)
    results += [counts[order]] * bool(return_counts)
    distinct, *more = [array(v if i == 0 else v.astype(np.int64)) for i, v in enumerate(results)]
    return (distinct, *more) if more else distinct


@register_func("relax.run.nonzero")
def nonzero(x: np.ndarray) -> NDArray:
    """Return the indices of the nonzero elements: a row per dimension, one row for a scalar."""
    return array(np.stack(np.atleast_1d(x).nonzero()).astype(np.int64))


@register_func("relax.run.print")
def print_values(text: str, *values: Any) -> tuple[()]:
    """Print `text` with its `{}` replaced by the values, or just the values if it is empty."""
    print(_filled(text, values) if text else " ".join(map(str, values)))
    return ()


@register_func("relax.run.assert_op")
def assert_holds(condition: Any, text: str, *values: Any) -> tuple[()]:
    """Raise `AssertionFailedError` with `text`, formatted with the values, if the condition is false."""
    if not bool(condition):
        shown = _filled(text, values) if text else " ".join(map(str, values))
        raise AssertionFailedError("an assertion of the program does not hold" + (f": {shown}" if shown else ""))
    return ()


def _filled(text: str, values: tuple[Any, ...]) -> str:
    try:
        return text.format(*values)
    except (IndexError, KeyError, ValueError, AttributeError) as error:
        raise ArgumentError(f"the format {text!r} does not fit {len(values)} values: {error}") from error


# Packed functions of nn's effects: caches of attention, and functions called to look at values.


class AttentionKVCache:
    """Rows of keys or values: `data` has capacity for more than the `fill_count` rows appended so far."""

    __slots__ = ("data", "fill_count")

    def __init__(self, data: NDArray, fill_count: int):
        self.data = data
        self.fill_count = fill_count

    def __repr__(self) -> str:
        return f"AttentionKVCache({self.fill_count} rows of {self.data.shape[1:]}, {self.data.dtype})"

    def append(self, rows: np.ndarray) -> None:
        """Append rows, doubling the capacity if necessary. Raises `ShapeError`, `DTypeError`."""
        if rows.shape[1:] != self.data.shape[1:]:
            raise ShapeError("rows do not fit the cache", expected=self.data.shape[1:], found=rows.shape[1:])
        if rows.dtype != self.data.dtype:
            raise DTypeError("the cache has another dtype", expected=self.data.dtype, found=rows.dtype)
        end = self.fill_count + rows.shape[0]
        if end > self.data.shape[0]:
            room = max(end, 2 * self.data.shape[0])
            old, self.data = self.data, empty((room, *self.data.shape[1:]), self.data.dtype)
            self.data[: self.fill_count] = old[: self.fill_count]
        self.data[self.fill_count : end] = rows
        self.fill_count = end


@register_func("vm.builtin.attention_kv_cache_create")
def create(init_data: np.ndarray, reserve_shape: tuple[int, ...], init_fill_count: int) -> AttentionKVCache:
    """Return a cache with capacity `reserve_shape`, filled with the first `init_fill_count` rows of `init_data`, or all
    if that is -1.

    Raises `ShapeError`, `ArgumentError`.
    """
    if not reserve_shape:
        raise ShapeError("a cache has rows", expected="rank 1 or more", found=tuple(reserve_shape))
    count = init_data.shape[0] if init_fill_count < 0 else int(init_fill_count)
    if count > init_data.shape[0]:
        raise ArgumentError("a cache cannot begin with more rows than it is given", found=count)
    cache = AttentionKVCache(empty(tuple(reserve_shape), init_data.dtype), 0)
    cache.append(init_data[:count])
    return cache


@register_func("vm.builtin.attention_kv_cache_append")
def append(cache: AttentionKVCache, rows: np.ndarray) -> AttentionKVCache:
    """Append rows to a cache and return it. Raises like `AttentionKVCache.append`."""
    cache.append(rows)
    return cache


@register_func("vm.builtin.attention_kv_cache_view")
def view(cache: AttentionKVCache, shape: tuple[int, ...]) -> NDArray:
    """Return all rows of a cache, without a copy. Raises `ShapeError` if they do not have `shape`."""
    rows = cache.data[: cache.fill_count]
    if rows.shape != tuple(shape):
        raise ShapeError("the rows in the cache have another shape", expected=tuple(shape), found=rows.shape)
    return rows.view(NDArray)


@register_func("vm.builtin.attention_kv_cache_array_clear")
def array_clear(caches: Sequence[AttentionKVCache]) -> None:
    """Remove all rows from caches, which keep their capacity."""
    for cache in caches:
        cache.fill_count = 0


@register_func("vm.builtin.attention_kv_cache_array_popn")
def array_popn(caches: Sequence[AttentionKVCache], count: int) -> None:
    """Remove the last `count` rows from each cache. Raises `ArgumentError` if one has fewer."""
    for cache in caches:
        if not 0 <= count <= cache.fill_count:
            raise ArgumentError("a cache has fewer rows than are to go", expected=cache.fill_count, found=count)
    for cache in caches:
        cache.fill_count -= count


@register_func("vm.builtin.invoke_debug_func")
def invoke_debug_func(io: Any, name: str, line: str, *args: Any) -> Any:
    """Call the packed function `name` with the location of the call and the values. Raises `NameLookupError`."""
    function = get_global_func(name)
    assert function is not None
    function(line, *args)
    return io


@register_func("vm.builtin.debug_print")
def debug_print(line: str, value: Any) -> None:
    """Print a value with the location of the call."""
    kind = f" shape = {value.shape}, dtype = {value.dtype}, data =" if isinstance(value, np.ndarray) else ""
    print(f"{line}:{kind}\n{value}")
