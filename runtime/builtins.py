"""Packed functions that compiled programs call for operators without kernels, under TVM's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import ArgumentError, AssertionFailedError
from .ndarray import NDArray, ShapeTuple, array
from .registry import register_func


@register_func("vm.builtin.shape_of")
def shape_of(x: np.ndarray) -> ShapeTuple:
    """The shape of an array."""
    return ShapeTuple(x.shape)


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
