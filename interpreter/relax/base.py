"""Reference semantics of operators on shapes, and of those with side effects. Rows as in `operators`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...dialects.dtypes import numpy_dtype
from ...dialects.relax.types import ShapeType
from ..scalars import wide


def _print(op: Any, values: tuple[Any, ...]) -> tuple[()]:
    from ...runtime.builtins import print_values

    return print_values(op.attr("format"), *values)


def _assert(op: Any, condition: Any, values: tuple[Any, ...]) -> tuple[()]:
    from ...runtime.builtins import assert_holds

    return assert_holds(condition, op.attr("format"), *values)


def _unique(op: Any, x: Any, sorted_: Any, index: Any, inverse: Any, counts: Any, axis: Any = None) -> Any:
    """Return the unique elements as numpy does; unsorted, they are in order of first occurrence."""
    _, *more = np.unique(wide(x), return_index=True, return_inverse=True, return_counts=True, axis=axis)
    values = np.take(x, more[0], axis=axis)
    more[1] = more[1].reshape(-1)
    if not sorted_:
        order = np.argsort(more[0])
        values, rank = np.take(values, order, axis=axis or 0), np.argsort(order)
        more = [more[0][order], rank[more[1]], more[2][order]]
    fields = [values, *(m for m, requested in zip(more, (index, inverse, counts), strict=True) if requested)]
    return tuple(fields) if len(fields) > 1 else values


def _view(op: Any, x: Any, shape: Any, _dtype: Any, offset: Any) -> Any:
    """Reinterpret the bytes of x; shape and dtype default to those of x."""
    kind = numpy_dtype(op.element())
    start = 0 if offset == () else int(offset)
    extents = shape if isinstance(op.shape.type, ShapeType) else np.shape(x)
    data = np.ascontiguousarray(x).tobytes()[start:]
    return np.frombuffer(data[: math.prod(extents) * kind.itemsize], kind).reshape(extents)


def _dynamic_strided_slice(_op: Any, x: Any, begin: Any, end: Any, strides: Any) -> Any:
    rows = zip(x.shape, begin, end, strides, strict=True)
    return x[np.ix_(*(range(*slice(int(b), int(e), int(s)).indices(n)) for n, b, e, s in rows))]


def _nonzero(_op: Any, x: Any) -> Any:
    return np.argwhere(np.atleast_1d(x)).T


BASE: dict[str, Callable[..., Any]] = {
    "shape_of": lambda _op, x: tuple(np.shape(x)),
    "tensor_to_shape": lambda _op, x: tuple(int(v) for v in x),
    "shape_to_tensor": lambda _op, shape: np.array(shape, np.int64),
    "dynamic_strided_slice": _dynamic_strided_slice,
    "memory.view": _view,
    "unique": _unique,
    "wrap_param": lambda _op, x: x,
    "nonzero": _nonzero,
    "to_vdevice": lambda _op, x: x,
    "hint_on_device": lambda _op, x: x,
    "memory.ensure_zero_offset": lambda _op, x: x,
    "print": _print,
    "assert_op": _assert,
}
"""Operators by name, without the prefix `relax.`."""
