"""`x[…]` in a traced graph: a single slice of all dimensions, then a reshape for removed and inserted dimensions."""

from __future__ import annotations

from typing import Any

from ...diagnostics import UnsupportedError
from ...dialects.sym.expr import SymExpr
from ...handles.relax.expr import Expr, ShapeExpr, TupleGetItem
from ...handles.struct_info import TupleStructInfo
from ..importing.relax_operators import R
from .emitter import Emitter, Extent, plain, rank_of, shape_of
from .table import lookup


def sliced(e: Emitter, x: Any, index: Any, keeps_items: bool = False) -> Any:
    """Index a tuple, a shape or a tensor. With `keeps_items`, `x[0]` keeps its dimension."""
    if isinstance(x, list | tuple):
        return x[index]
    if isinstance(x, ShapeExpr):
        return plain(list(x)[index]) if isinstance(index, int) else ShapeExpr(list(x)[index])
    if isinstance(x.struct_info, TupleStructInfo):
        return TupleGetItem(x, index)
    items = index if isinstance(index, list | tuple) else [index]
    if any(isinstance(item, Expr) for item in items):
        return _gathered(e, x, list(items))
    return _strided(e, x, _expanded(list(items), rank_of(x)), keeps_items)


def _expanded(items: list[Any], rank: int) -> list[Any]:
    """Expand `...` and missing trailing items into full slices."""
    full = slice(None)
    missing = rank - sum(item is not None and item is not Ellipsis for item in items)
    at = next((i for i, item in enumerate(items) if item is Ellipsis), None)
    if at is None:
        return [*items, *[full] * missing]
    return [*items[:at], *[full] * missing, *items[at + 1 :]]


def _gathered(e: Emitter, x: Expr, items: list[Any]) -> Any:
    """Gather by items that are full slices and tensors only."""
    items = _expanded(items, rank_of(x))
    others = [item for item in items if not isinstance(item, Expr)]
    if any(item != slice(None) for item in others):
        raise UnsupportedError("tensors and slices together are an index")
    table = lookup("index", "Tensor")
    assert table is not None
    return table(e, x, [item if isinstance(item, Expr) else None for item in items])


def _strided(e: Emitter, x: Expr, items: list[Any], keeps_items: bool) -> Expr:
    shape = shape_of(x)
    begin: list[Extent] = []
    end: list[Extent] = []
    strides: list[int] = []
    for extent, item in zip(shape, (item for item in items if item is not None), strict=True):
        first, last, step = _bounds(item, extent) if isinstance(item, slice) else _one(item, extent)
        begin.append(first)
        end.append(last)
        strides.append(step)
    axes = list(range(len(shape)))
    cut = e.emit(R.strided_slice(x, axes=axes, begin=begin, end=end, strides=strides))
    return R.reshape(cut, ShapeExpr(_extents(items, shape_of(cut), keeps_items)))


def _extents(items: list[Any], cut: list[Extent], keeps_items: bool) -> list[Extent]:
    """Return the extents of the result: those of the slice, without single items, and 1 for each None."""
    left = iter(cut)
    extents: list[Extent] = []
    for item in items:
        extent = 1 if item is None else next(left)
        if item is None or isinstance(item, slice) or keeps_items:
            extents.append(extent)
    return extents


def _one(item: Any, extent: Extent) -> tuple[Extent, Extent, int]:
    first = _position(item, extent)
    return first, plain(first + 1), 1


def _position(item: Any, extent: Extent) -> Extent:
    if isinstance(item, bool) or not isinstance(item, int | SymExpr):
        raise UnsupportedError("an index of this kind", found=type(item).__name__)
    return plain(item + extent) if isinstance(item, int) and item < 0 else item


def _bounds(item: slice, extent: Extent) -> tuple[Extent, Extent, int]:
    step = 1 if item.step is None else item.step
    if not isinstance(step, int) or step < 1:
        raise UnsupportedError("a slice whose step is not a positive number")
    first = 0 if item.start is None else _position(item.start, extent)
    last = extent if item.stop is None else _position(item.stop, extent)
    if isinstance(extent, int) and isinstance(first, int) and isinstance(last, int):
        first = min(max(first, 0), extent)
        return first, min(max(last, first), extent), step
    return first, last, step
