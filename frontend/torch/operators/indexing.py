"""Elements and slices taken and written by position."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from ....diagnostics import UnsupportedError
from ....dialects.sym.expr import maximum, minimum
from ....handles.relax.expr import Expr, PrimValue, ShapeExpr, const
from ...importing.relax_operators import R
from ..emitter import Emitter, Extent, axis_of, cast_to, count_of, dtype_of, plain, rank_of, shape_of
from ..table import row

_TO_THE_END = sys.maxsize


def in_range(position: Extent | None, extent: Extent, default: Extent) -> Extent:
    """An end of a slice, counted from the front and limited to the dimension."""
    if position is None or (isinstance(position, int) and position >= _TO_THE_END):
        return default if position is None else extent
    if isinstance(position, int) and isinstance(extent, int):
        return min(max(position + extent if position < 0 else position, 0), extent)
    if isinstance(position, int):
        return position if position == 0 else plain(
            minimum(position, extent) if position > 0 else maximum(position + extent, 0)
        )  # fmt: skip
    return plain(minimum(position, extent))


@row("slice.Tensor", "slice_copy.Tensor")
def slice_(
    e: Emitter, x: Expr, dim: int = 0, start: Extent | None = None, end: Extent | None = None, step: Extent = 1
) -> Expr:
    """x[start:end:step] along a dimension."""
    extent = shape_of(x)[axis_of(dim, rank_of(x))]
    begin, stop = in_range(start, extent, 0), in_range(end, extent, extent)
    if isinstance(begin, int) and begin == 0 and step == 1 and (stop is extent or stop == extent):
        return x
    if isinstance(begin, int) and isinstance(stop, int):  # as the program has them, which is what TVM prints
        begin, stop = start or 0, _TO_THE_END if end is None else end
        return R.strided_slice(x, axes=[dim], begin=[begin], end=[stop], strides=[step])
    result = e.result_shape()
    if result is None or step != 1:
        return R.strided_slice(x, axes=[dim], begin=[begin], end=[stop], strides=[step])
    count = result[axis_of(dim, len(result))]  # as PyTorch found out: less is left to prove
    if stop is extent:
        begin = plain(extent - count)
    return R.strided_slice(x, axes=[dim], begin=[begin], end=[plain(begin + count)], strides=[1], assume_inbound=True)


@row("narrow", "narrow_copy")
def narrow(e: Emitter, x: Expr, dim: int, start: Extent, length: Extent) -> Expr:
    """So many elements along a dimension, from start on."""
    begin = start + shape_of(x)[axis_of(dim, rank_of(x))] if isinstance(start, int) and start < 0 else start
    return R.strided_slice(x, axes=[dim], begin=[begin], end=[plain(begin + length)])


@row("select.int", "select_copy.int")
def select(e: Emitter, x: Expr, dim: int, index: Extent) -> Expr:
    """The slice at a position along a dimension."""
    extent = shape_of(x)[axis_of(dim, rank_of(x))]
    if isinstance(index, int):
        if index < 0 and not isinstance(extent, int):
            return R.squeeze(e.emit(slice_(e, x, dim, index, None if index == -1 else index + 1)), axis=[dim])
        position = index + extent if index < 0 else index
        return R.take(x, const(position, "int64"), axis=axis_of(dim, rank_of(x)))
    return R.take(x, e.tensor(index, "int64"), axis=axis_of(dim, rank_of(x)))


@row("index_select")
def index_select(e: Emitter, x: Expr, dim: int, index: Expr) -> Expr:
    """The slices at positions along a dimension."""
    if not rank_of(x):
        return x if not rank_of(index) else R.broadcast_to(R.reshape(x, (1,)), ShapeExpr(shape_of(index)))
    index = R.reshape(index, (1,)) if not rank_of(index) else index
    return R.take(x, index, axis=dim)


@row("take")
def take(e: Emitter, x: Expr, index: Expr) -> Expr:
    """The elements at positions of the flattened tensor."""
    flat = e.emit(R.reshape(x, ShapeExpr([count_of(shape_of(x))])))
    return R.take(flat, e.bound(wrapped(index, count_of(shape_of(x)), e)), axis=0)


def wrapped(index: Expr, extent: Extent, e: Emitter) -> Expr:
    """Positions counted from the front."""
    zero = const(0, dtype_of(index))
    return R.where(R.less(index, zero), R.add(index, e.tensor(extent, dtype_of(index))), index)


@row("gather")
def gather(e: Emitter, x: Expr, dim: int, index: Expr, sparse_grad: bool = False) -> Expr:
    """x at the position of each index, the coordinate along a dimension replaced by the index."""
    if rank_of(x) == 0 or rank_of(index) == 0:
        result = R.gather_elements(*(_vector(v) for v in (x, index)), axis=0)
        return R.reshape(result, ShapeExpr(shape_of(index)))
    return R.gather_elements(x, index, axis=dim)


def _vector(x: Expr) -> Expr:
    return x if rank_of(x) else R.reshape(x, (1,))


@row("embedding")
def embedding(
    e: Emitter, weight: Expr, indices: Expr, padding_idx: Extent = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Expr:  # fmt: skip
    """The rows of a matrix at positions."""
    positions = e.emit(R.astype(indices, dtype="int32"))
    shape = shape_of(indices)
    if len(shape) < 2:
        return R.take(weight, positions, axis=0)
    flat = e.emit(R.reshape(positions, ShapeExpr([count_of(shape)])))
    rows = e.emit(R.take(weight, flat, axis=0))
    return R.reshape(rows, ShapeExpr([*shape, shape_of(weight)[1]]))


@row("index.Tensor", "_unsafe_index.Tensor")
def index(e: Emitter, x: Expr, indices: Sequence[Expr | None]) -> Expr:
    """x at tensors of positions, which broadcast; None stands for all of a dimension."""
    places, tensors = _positions(e, x, indices)
    front, order = _to_the_front(x, places)
    moved = R.permute_dims(x, axes=front) if front != sorted(front) else x
    result = e.emit(R.index_tensor(e.bound(moved), tensors))
    back = order(rank_of(result)) if places[0] and _adjacent(places) else None
    return result if back is None else R.permute_dims(result, axes=back)


def _positions(e: Emitter, x: Expr, indices: Sequence[Expr | None]) -> tuple[list[int], list[Expr]]:
    """The dimensions that are indexed, and their positions as integers."""
    places: list[int] = []
    tensors: list[Expr] = []
    shape = shape_of(x)
    for place, tensor in enumerate(indices):
        if tensor is None:
            continue
        if dtype_of(tensor) in ("bool", "uint8"):
            raise UnsupportedError("a tensor is indexed by a mask: the size of the result depends on data")
        places.append(place)
        tensors.append(e.bound(wrapped(cast_to(tensor, "int64"), shape[place], e)))
    return places, tensors


def _adjacent(places: list[int]) -> bool:
    return places == list(range(places[0], places[-1] + 1))


def _to_the_front(x: Expr, places: list[int]) -> tuple[list[int], Any]:
    """The dimensions with those that are indexed first, and how to put those of the result back in their place."""
    rest = [d for d in range(rank_of(x)) if d not in places]

    def order(rank: int) -> list[int]:
        indexed = rank - len(rest)  # as many dimensions as the positions have together
        before = places[0]
        return [*range(indexed, indexed + before), *range(indexed), *range(indexed + before, rank)]

    return [*places, *rest], order


@row("index_put")
def index_put(e: Emitter, x: Expr, indices: Sequence[Expr | None], values: Expr, accumulate: bool = False) -> Expr:
    """x with values written at tensors of positions (added to what is there where `accumulate`)."""
    values = cast_to(values, dtype_of(x))
    masks = [i for i in indices if i is not None and dtype_of(i) == "bool"]
    if masks:
        return _masked_put(e, x, indices, values, accumulate)
    places, tensors = _positions(e, x, indices)
    if places != list(range(len(places))):
        raise UnsupportedError("values are written at positions of dimensions that are not the first")
    return R.index_put(x, tensors, values, accumulate=accumulate)


def _masked_put(e: Emitter, x: Expr, indices: Sequence[Expr | None], values: Expr, accumulate: bool) -> Expr:
    (mask,) = [i for i in indices if i is not None]
    if indices[0] is None or count_of(shape_of(values)) != 1 or accumulate:
        raise UnsupportedError("several values are written where a mask holds")
    shape = [*shape_of(mask), *[1] * (rank_of(x) - rank_of(mask))]
    return R.where(R.reshape(mask, ShapeExpr(shape)), R.reshape(values, ()), x)


@row("scatter.src")
def scatter(e: Emitter, x: Expr, dim: int, index: Expr, src: Expr) -> Expr:
    """x with each element of src at its own position, the coordinate along a dimension replaced by the index."""
    return _scattered(e, x, dim, index, src, "update")


@row("scatter.value")
def scatter_value(e: Emitter, x: Expr, dim: int, index: Expr, value: Any) -> Expr:
    """x with a value at positions."""
    source = R.full(ShapeExpr(shape_of(index)), e.tensor(value, dtype_of(x)), dtype=dtype_of(x))
    return _scattered(e, x, dim, index, source, "update")


@row("scatter_add")
def scatter_add(e: Emitter, x: Expr, dim: int, index: Expr, src: Expr) -> Expr:
    """x with each element of src added at its own position."""
    return _scattered(e, x, dim, index, src, "add")


def _scattered(e: Emitter, x: Expr, dim: int, index: Expr, src: Expr, reduction: str) -> Expr:
    if not rank_of(x):
        vectors = [R.reshape(v, (1,)) for v in (x, index, src)]
        return R.reshape(_scattered(e, vectors[0], 0, vectors[1], vectors[2], reduction), ())
    corner = [(0, n) for n in shape_of(index)]
    if shape_of(src) != shape_of(index):
        axes = list(range(len(corner)))
        src = R.strided_slice(src, axes=axes, begin=[b for b, _ in corner], end=[n for _, n in corner])
    return R.scatter_elements(x, index, cast_to(src, dtype_of(x)), axis=dim, reduction=reduction)


@row("slice_scatter")
def slice_scatter(
    e: Emitter, x: Expr, src: Expr, dim: int = 0, start: Extent | None = None, end: Extent | None = None,
    step: Extent = 1,
) -> Expr:  # fmt: skip
    """x with src written into x[start:end:step] along a dimension."""
    extent = shape_of(x)[axis_of(dim, rank_of(x))]
    bounds = (in_range(start, extent, 0), in_range(end, extent, extent), step)
    return R.slice_scatter(x, cast_to(src, dtype_of(x)), *(PrimValue(b) for b in bounds), axis=dim)


@row("select_scatter")
def select_scatter(e: Emitter, x: Expr, src: Expr, dim: int, index: Extent) -> Expr:
    """x with src written at a position along a dimension."""
    axis = axis_of(dim, rank_of(x))
    extent = shape_of(x)[axis]
    at = index + extent if isinstance(index, int) and index < 0 else index
    return slice_scatter(e, x, e.emit(R.expand_dims(cast_to(src, dtype_of(x)), axis)), axis, at, plain(at + 1))


@row("one_hot")
def one_hot(e: Emitter, x: Expr, num_classes: Extent = -1) -> Expr:
    """1 at the index along a new last dimension, 0 elsewhere."""
    if not isinstance(num_classes, int) or num_classes < 0:
        raise UnsupportedError("the number of classes depends on data")
    return R.one_hot(x, PrimValue(1), PrimValue(0), depth=num_classes, axis=-1)
