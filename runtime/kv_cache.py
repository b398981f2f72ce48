"""Packed functions of nn's effects: caches of attention, and functions called to look at values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import ArgumentError, DTypeError, ShapeError
from .ndarray import NDArray, empty
from .registry import get_global_func, register_func


class AttentionKVCache:
    """Rows of keys or values: `data` has room for more than the `fill_count` rows that were appended."""

    __slots__ = ("data", "fill_count")

    def __init__(self, data: NDArray, fill_count: int):
        self.data = data
        self.fill_count = fill_count

    def __repr__(self) -> str:
        return f"AttentionKVCache({self.fill_count} rows of {self.data.shape[1:]}, {self.data.dtype})"

    def append(self, rows: np.ndarray) -> None:
        """Append rows; where the room does not suffice it is doubled. Raises `ShapeError`, `DTypeError`."""
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
    """A cache with room for `reserve_shape`, with the first `init_fill_count` rows of `init_data`, all if it is -1.

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
    """The cache, with rows appended. Raises as `AttentionKVCache.append`."""
    cache.append(rows)
    return cache


@register_func("vm.builtin.attention_kv_cache_view")
def view(cache: AttentionKVCache, shape: tuple[int, ...]) -> NDArray:
    """All rows of a cache, without a copy. Raises `ShapeError` where `shape` is not theirs."""
    rows = cache.data[: cache.fill_count]
    if rows.shape != tuple(shape):
        raise ShapeError("the rows in the cache have another shape", expected=tuple(shape), found=rows.shape)
    return rows.view(NDArray)


@register_func("vm.builtin.attention_kv_cache_array_clear")
def array_clear(caches: Sequence[AttentionKVCache]) -> None:
    """Take all rows out of caches, which keep their room."""
    for cache in caches:
        cache.fill_count = 0


@register_func("vm.builtin.attention_kv_cache_array_popn")
def array_popn(caches: Sequence[AttentionKVCache], count: int) -> None:
    """Take the last rows out of each cache. Raises `ArgumentError` where one has fewer."""
    for cache in caches:
        if not 0 <= count <= cache.fill_count:
            raise ArgumentError("a cache has fewer rows than are to go", expected=cache.fill_count, found=count)
    for cache in caches:
        cache.fill_count -= count


@register_func("vm.builtin.invoke_debug_func")
def invoke_debug_func(io: Any, name: str, line: str, *args: Any) -> Any:
    """Call the packed function `name` with where it is called and the values. Raises `NameLookupError`."""
    function = get_global_func(name)
    assert function is not None
    function(line, *args)
    return io


@register_func("vm.builtin.debug_print")
def debug_print(line: str, value: Any) -> None:
    """Print a value, and where it is printed."""
    kind = f" shape = {value.shape}, dtype = {value.dtype}, data =" if isinstance(value, np.ndarray) else ""
    print(f"{line}:{kind}\n{value}")
