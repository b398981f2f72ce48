"""Application of index maps to arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from ..diagnostics import ShapeError
from ..dialects.sym.expr import Algebra, Const, SymExpr, Var
from ..dialects.sym.index_map import IndexMapping
from . import scalars


class _OverArrays(Algebra[Any]):
    """Evaluation of an expression on arrays of indices."""

    def __init__(self, values: Mapping[SymExpr, Any]):
        self.values = values

    def const(self, e: Const) -> Any:
        return np.int64(e.value)

    def var(self, e: Var) -> Any:
        return self.values[e]

    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def mul(self, a: Any, b: Any) -> Any:
        return a * b

    def apply(self, kind: str, args: list[Any]) -> Any:
        return _NUMPY[kind](*args)


_NUMPY: dict[str, Callable[..., Any]] = {
    **scalars.BINARY,
    "truncdiv": scalars.trunc_div,
    "select": scalars.select,
    "not": np.logical_not,
}


def move_elements(mapping: IndexMapping, array: Any, pad_value: Any = 0) -> Any:
    """Return the array with element i moved to `mapping(i)`, and `pad_value` at positions without a source.

    Raises `ShapeError` if the map takes another number of indices, or has free variables.
    """
    unknown = mapping.free_vars()
    if unknown:
        raise ShapeError("the index map has variables that are no indices", found=", ".join(map(str, unknown)))
    dims = [Const(n) for n in array.shape]
    shape = [cast(int, d.constant) for d in mapping.shape(dims)]
    out = np.full(shape, pad_value, array.dtype)
    values: dict[SymExpr, Any] = dict(zip(mapping.params, np.indices(array.shape), strict=True))
    places = [np.broadcast_to(r.fold(_OverArrays(values)), array.shape) for r in mapping.results]
    out[tuple(places)] = array
    return out
