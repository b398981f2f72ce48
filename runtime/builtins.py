"""Packed functions that compiled programs call for operators without kernels, under TVM's names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .dtypes import to_dtype
from .errors import ArgumentError, AssertionFailedError
from .ndarray import NDArray, ShapeTuple, array
from .registry import register_func
from .thread_pool import num_threads, set_num_threads


@register_func("vm.builtin.shape_of")
def shape_of(x: np.ndarray) -> ShapeTuple:
    """The shape of an array."""
    return ShapeTuple(x.shape)


@register_func("vm.builtin.reshape")
def reshape(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The elements of an array in another shape, without a copy where they lie in order."""
    return x.reshape(shape)


@register_func("vm.builtin.tensor_to_shape")
def tensor_to_shape(x: np.ndarray) -> ShapeTuple:
    """An array of rank 1 as a shape. Raises `ArgumentError` where an extent is negative."""
    if np.any(x < 0):
        raise ArgumentError("a shape has no negative extents", found=x.tolist())
    return ShapeTuple(x.tolist())


@register_func("relax.run.shape_to_tensor")
def shape_to_tensor(shape: tuple[int, ...]) -> NDArray:
    """A shape as an array of int64."""
    return array(np.array(shape, np.int64))


@register_func("runtime.TVMArrayCreateView")
def create_view(x: np.ndarray, shape: tuple[int, ...], dtype: str, offset: int) -> NDArray:
    """The bytes of an array from `offset` on as another shape and dtype.

    Raises `ArgumentError` where it is too short.
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
    """TVM's call: which cores the threads run on is the system's business, so `affinity_mode` changes nothing."""
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
    """The distinct elements, or slices along `axis`; not `sorted`, in the order in which they come first."""
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    order = np.arange(len(first)) if sorted else np.argsort(first)
    found = [np.take(values, order, axis=axis or 0)]
    found += [first[order]] * bool(return_index)
    found += [np.argsort(order)[inverse.reshape(-1)]] * bool(return_inverse)
    found += [counts[order]] * bool(return_counts)
    distinct, *more = [array(v if i == 0 else v.astype(np.int64)) for i, v in enumerate(found)]
    return (distinct, *more) if more else distinct


@register_func("relax.run.nonzero")
def nonzero(x: np.ndarray) -> NDArray:
    """The positions of what is not zero: a row for each dimension, one of a scalar."""
    return array(np.stack(np.atleast_1d(x).nonzero()).astype(np.int64))


@register_func("relax.run.print")
def print_values(text: str, *values: Any) -> tuple[()]:
    """Print `text` with the values in place of its `{}`, the values one after the other where it is empty."""
    print(_filled(text, values) if text else " ".join(map(str, values)))
    return ()


@register_func("relax.run.assert_op")
def assert_holds(condition: Any, text: str, *values: Any) -> tuple[()]:
    """Raise `AssertionFailedError` with `text`, filled with the values, where the condition does not hold."""
    if not bool(condition):
        shown = _filled(text, values) if text else " ".join(map(str, values))
        raise AssertionFailedError("an assertion of the program does not hold" + (f": {shown}" if shown else ""))
    return ()


def _filled(text: str, values: tuple[Any, ...]) -> str:
    try:
        return text.format(*values)
    except (IndexError, KeyError, ValueError, AttributeError) as error:
        raise ArgumentError(f"the format {text!r} does not fit {len(values)} values: {error}") from error
