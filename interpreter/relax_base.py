"""Reference semantics of operators on shapes, and of those with effects. The rows are as in `relax_operators`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _print(op: Any, values: tuple[Any, ...]) -> tuple[()]:
    from ..runtime.builtins import print_values

    return print_values(op.attr("format"), *values)


def _assert(op: Any, condition: Any, values: tuple[Any, ...]) -> tuple[()]:
    from ..runtime.builtins import assert_holds

    return assert_holds(condition, op.attr("format"), *values)


BASE: dict[str, Callable[..., Any]] = {
    "shape_of": lambda _op, x: tuple(np.shape(x)),
    "tensor_to_shape": lambda _op, x: tuple(int(v) for v in x),
    "shape_to_tensor": lambda _op, shape: np.array(shape, np.int64),
    "to_vdevice": lambda _op, x: x,
    "hint_on_device": lambda _op, x: x,
    "memory.ensure_zero_offset": lambda _op, x: x,
    "print": _print,
    "assert_op": _assert,
}
"""Operators by name, without the prefix `relax.`."""
