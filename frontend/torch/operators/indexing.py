"""Indexing: elements and slices read by position."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....diagnostics import UnsupportedError
from ....dialects.sym.expr import floordiv
from ....dialects.sym.operators import maximum, minimum
from ....handles.relax.expr import Expr, PrimValue, ShapeExpr, const
from ....handles.struct_info import ShapeStructInfo, TensorStructInfo
from ...importing.relax_operators import R
from ..emitter import Emitter, Extent, axis_of, cast_to, count_of, dtype_of, is_float, plain, rank_of, shape_of
from ..promotion import in_single
from ..table import row
from .linear_algebra import norm

_TO_THE_END = sys.maxsize


def in_range(position: Extent | None, extent: Extent, default: Extent) -> Extent:
    """Return a slice bound counted from the front and clamped to the dimension."""
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
    """Return x[start:end:step] along a dimension."""
    extent = shape_of(x)[axis_of(dim, rank_of(x))]
    begin, stop = in_range(start, extent, 0), in_range(end, extent, extent)
    if isinstance(begin, int) and begin == 0 and step == 1 and (stop is extent or stop == extent):
        return x
    if isinstance(begin, int) and isinstance(stop, int):  # in the form of the program, which TVM prints
        begin, stop = start or 0, _TO_THE_END if end is None else end
        return R.strided_slice(x, axes=[dim], begin=[begin], end=[stop], strides=[step])
    result = e.result_shape()
    if result is None or step != 1 or e.node.meta.get("unbacked_bindings"):  # its count is new
        return R.strided_slice(x, axes=[dim], begin=[begin], end=[stop], strides=[step])
    count = result[axis_of(dim, len(result))]  # PyTorch has proved this: less remains to be proved
    if stop is extent:
        begin = plain(extent - count)
    return R.strided_slice(x, axes=[dim], begin=[begin], end=[plain(begin + count)], strides=[1], assume_inbound=True)


@row("narrow", "narrow_copy")
def narrow(e: Emitter, x: Expr, dim: int, start: Extent, length: Extent) -> Expr:
    """Return `length` elements along a dimension, from start on."""
    begin = start + shape_of(x)[axis_of(dim, rank_of(x))] if isinstance(start, int) and start < 0 else start
    return R.strided_slice(x, axes=[dim], begin=[begin], end=[plain(begin + length)])


@row("select.int", "select_copy.int")
def select(e: Emitter, x: Expr, dim: int, index: Extent) -> Expr:
    """Return the slice at an index of a dimension."""
    extent = shape_of(x)[axis_of(dim, rank_of(x))]
    if isinstance(index, int):
        if index < 0 and not isinstance(extent, int):
            ends = {"begin": [plain(extent + index)], "end": [plain(extent + index + 1)], "strides": [1]}
            return R.squeeze(e.emit(R.strided_slice(x, axes=[dim], **ends, assume_inbound=True)), axis=[dim])
        position = index + extent if index < 0 else index
        return R.take(x, const(position, "int64"), axis=axis_of(dim, rank_of(x)))
    return R.take(x, e.tensor(index, "int64"), axis=axis_of(dim, rank_of(x)))


@row("index_select")
def index_select(e: Emitter, x: Expr, dim: int, index: Expr) -> Expr:
    """Return the slices at indices of a dimension."""
    if not rank_of(x):
        return x
    index = R.reshape(index, (1,)) if not rank_of(index) else index
    return R.take(x, index, axis=dim)


@row("take")
def take(e: Emitter, x: Expr, index: Expr) -> Expr:
    """Return the elements at indices of the flattened tensor."""
    flat = e.emit(R.reshape(x, ShapeExpr([count_of(shape_of(x))])))
    return R.take(flat, e.bound(wrapped(index, count_of(shape_of(x)), e)), axis=0)


def wrapped(index: Expr, extent: Extent, e: Emitter) -> Expr:
    """Return indices counted from the front."""
    zero = const(0, dtype_of(index))
    return R.where(R.less(index, zero), R.add(index, e.tensor(extent, dtype_of(index))), index)


@row("gather")
def gather(e: Emitter, x: Expr, dim: int, index: Expr, sparse_grad: bool = False) -> Expr:
    """Return x at the position of each index, with one coordinate replaced by the index."""
    if rank_of(x) == 0 or rank_of(index) == 0:
        result = R.gather_elements(*(_vector(v) for v in (x, index)), axis=0)
        return R.reshape(result, ShapeExpr(shape_of(index)))
    if 0 in shape_of(index):  # of any rank: PyTorch then ignores everything else
        return R.zeros(ShapeExpr(shape_of(index)), dtype=dtype_of(x))
    return R.gather_elements(x, index, axis=dim)


def _vector(x: Expr) -> Expr:
    return x if rank_of(x) else R.reshape(x, (1,))


@row("embedding")
def embedding(
    e: Emitter, weight: Expr, indices: Expr, padding_idx: Extent = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Expr:  # fmt: skip
    """Return the rows of a matrix at indices."""
    positions = e.emit(R.astype(indices, dtype="int32"))
    shape = shape_of(indices)
    if len(shape) < 2:
        return R.take(weight, positions, axis=0)
    flat = e.emit(R.reshape(positions, ShapeExpr([count_of(shape)])))
    rows = e.emit(R.take(weight, flat, axis=0))
    return R.reshape(rows, ShapeExpr([*shape, shape_of(weight)[1]]))


@row("index.Tensor", "_unsafe_index.Tensor")
def index(e: Emitter, x: Expr, indices: Sequence[Expr | None]) -> Expr:
    """Index x by broadcasting index tensors; None selects a full dimension, and a mask its true positions."""
    places = indexed_places(indices)
    shape = e.result_shape()
    rank = max(index_rank(i) for i in indices if i is not None)
    count = shape[(places[0] if _adjacent(places) else 0) + rank - 1] if shape and rank else None
    tensors = positions(e, x, indices, count)
    order = to_the_front(places, rank_of(x))
    moved = R.permute_dims(x, axes=order) if order != sorted(order) else x
    result = e.emit(R.index_tensor(e.bound(moved), tensors))
    back = from_the_front(places, rank_of(x), rank)
    return R.permute_dims(result, axes=back) if back != sorted(back) else result


def is_mask(index: Expr) -> bool:
    """Return whether an index is a boolean mask."""
    return dtype_of(index) in ("bool", "uint8")


def index_rank(index: Expr) -> int:
    """Return the rank of an index as positions; a mask becomes a vector of positions."""
    return 1 if is_mask(index) else rank_of(index)


def indexed_places(indices: Sequence[Expr | None]) -> list[int]:
    """Return the indexed dimensions: a mask of several dimensions indexes as many."""
    places: list[int] = []
    place = 0
    for tensor in indices:
        count = rank_of(tensor) if tensor is not None and is_mask(tensor) else 1
        places += [] if tensor is None else range(place, place + count)
        place += count
    return places


def positions(e: Emitter, x: Expr, indices: Sequence[Expr | None], count: Extent | None = None) -> list[Expr]:
    """Return non-negative integer positions for each indexed dimension.

    `count` is the number of true elements of a mask, or None if it depends on data.
    """
    tensors: list[Expr] = []
    for tensor in indices:
        if tensor is not None and is_mask(tensor):
            tensors += _rows(e, _positions(e, cast_to(tensor, "bool"), count))
        elif tensor is not None:
            tensors.append(tensor)
    extents = [shape_of(x)[place] for place in indexed_places(indices)]
    return [e.bound(wrapped(cast_to(t, "int64"), n, e)) for t, n in zip(tensors, extents, strict=True)]


def _rows(e: Emitter, matrix: Expr) -> list[Expr]:
    return [e.emit(R.take(matrix, const(i, "int64"), axis=0)) for i in range(int(str(shape_of(matrix)[0])))]


def _adjacent(places: list[int]) -> bool:
    return places == list(range(places[0], places[-1] + 1))


def to_the_front(places: list[int], rank: int) -> list[int]:
    """Return the order of dimensions that brings the indexed ones to the front."""
    return [*places, *(d for d in range(rank) if d not in places)]


def from_the_front(places: list[int], rank: int, indexed: int) -> list[int]:
    """Return the order of a result's dimensions, starting with the `indexed` dimensions of positions, as in PyTorch.

    The dimensions of positions replace the indexed dimensions if these are adjacent; otherwise they come first.
    """
    total = indexed + rank - len(places)
    before = places[0] if _adjacent(places) else 0
    return [*range(indexed, indexed + before), *range(indexed), *range(indexed + before, total)]


@row("one_hot")
def one_hot(e: Emitter, x: Expr, num_classes: Extent = -1) -> Expr:
    """Return 1 at the index along a new last dimension, and 0 elsewhere."""
    if not isinstance(num_classes, int) or num_classes < 0:
        raise UnsupportedError("the number of classes depends on data")
    return R.one_hot(x, PrimValue(1), PrimValue(0), depth=num_classes, axis=-1)


@row("diagonal", "diagonal_copy", "linalg_diagonal")
def diagonal(e: Emitter, x: Expr, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Expr:
    """Return the diagonal of two dimensions as the last dimension."""
    shape = e.result_shape()
    return diagonal_of(e, x, offset, dim1, dim2, None if shape is None else shape[-1])


def diagonal_of(e: Emitter, x: Expr, offset: int, dim1: int, dim2: int, length: Extent | None) -> Expr:
    """Return the diagonal of two dimensions as the last dimension, whose extent PyTorch knows to be `length`."""
    rank = rank_of(x)
    a, b = axis_of(dim1, rank), axis_of(dim2, rank)
    axes = [*(d for d in range(rank) if d not in (a, b)), a, b]
    if axes != list(range(rank)):
        x = e.emit(R.permute_dims(x, axes=axes))
    *outer, n, m = shape_of(x)
    flat = e.emit(R.reshape(x, ShapeExpr([*outer, plain(n * m)])))
    if not (isinstance(n, int) and isinstance(m, int)):
        if length is None:
            raise UnsupportedError("the diagonal of a matrix of a size that is not constant")
        first = offset if offset >= 0 else -offset * m
        steps = R.multiply(_count_up(length), e.tensor(m + 1, "int64"))
        return R.take(flat, e.emit(R.add(steps, e.tensor(first, "int64"))), axis=len(outer))
    count = max(min(n, m - offset) if offset >= 0 else min(n + offset, m), 0)
    start = offset if offset >= 0 else -offset * m
    return R.take(flat, const(start + (m + 1) * np.arange(count), "int64"), axis=len(outer))


@row("as_strided", "as_strided_copy")
def as_strided(
    e: Emitter, x: Expr, size: Sequence[Extent], stride: Sequence[Extent], storage_offset: Extent | None = None
) -> Expr:
    """Return the elements of a row-major tensor with explicit strides."""
    places = strided_places(e, size, stride, storage_offset)
    flat = e.emit(R.reshape(x, ShapeExpr([count_of(shape_of(x))])))
    return R.take(flat, places, axis=0)


@row("resize")
def resize(e: Emitter, x: Expr, size: Sequence[Extent]) -> Expr:
    """Return the first elements of a row-major tensor in another shape."""
    before, after = count_of(shape_of(x)), count_of(size)
    if not e.is_row_major(0) and list(size) != shape_of(x):
        raise UnsupportedError("a tensor that is not row major is resized")
    if before == after:
        return R.reshape(x, ShapeExpr(size))
    if not isinstance(before, int) or not isinstance(after, int) or before < after:
        raise UnsupportedError(
            "a tensor is resized to more elements, which hold anything", found=f"{after} of {before}"
        )
    flat = e.emit(R.reshape(x, ShapeExpr([before])))
    return R.reshape(e.emit(R.strided_slice(flat, axes=[0], begin=[0], end=[after])), ShapeExpr(size))


def strided_places(e: Emitter, size: Sequence[Extent], stride: Sequence[Extent], offset: Extent | None) -> Expr:
    """Return the places of a strided view in the node's first argument, which is row-major."""
    if not e.is_row_major(0):
        raise UnsupportedError("a view of memory that is not row major")
    steps = [*size, *stride, offset or 0]
    if not all(isinstance(s, int) for s in steps):
        return _computed_places(e, size, stride, offset or 0)
    places = np.full([int(str(s)) for s in size], offset or 0)
    for axis, step in enumerate(stride):
        along = np.arange(size[axis]) * step  # pyright: ignore[reportArgumentType, reportCallIssue]
        places = places + along.reshape([-1] + [1] * (len(size) - axis - 1))
    return const(places, "int64")


def _computed_places(e: Emitter, size: Sequence[Extent], stride: Sequence[Extent], offset: Extent) -> Expr:
    places = e.emit(R.full(ShapeExpr(size), e.tensor(offset, "int64"), dtype="int64"))
    for axis, (extent, step) in enumerate(zip(size, stride, strict=True)):
        along = e.emit(R.multiply(_count_up(extent), e.tensor(step, "int64")))
        shape = ShapeExpr([extent, *[1] * (len(size) - axis - 1)])
        places = e.emit(R.add(places, e.emit(R.reshape(along, shape))))
    return places


def _count_up(extent: Extent) -> Expr:
    return R.arange(PrimValue(0), PrimValue(extent), PrimValue(1), dtype="int64")


@row("unfold")
def unfold(e: Emitter, x: Expr, dimension: int, size: int, step: int) -> Expr:
    """Return the windows along a dimension as a new last dimension."""
    if not rank_of(x):
        return R.reshape(x, (1,)) if size else R.zeros(ShapeExpr([0]), dtype=dtype_of(x))
    axis = axis_of(dimension, rank_of(x))
    extent = shape_of(x)[axis]
    if not isinstance(extent, int):
        count = plain(floordiv(extent - size, step) + 1)
        begins = R.expand_dims(R.multiply(_count_up(count), const(step, "int64")), 1)
        places = e.emit(R.add(begins, const(np.arange(size), "int64")))
    else:
        begins = np.arange(0, extent - size + 1, step)
        places = const(begins[:, None] + np.arange(size), "int64")
    windows = e.emit(R.take(x, places, axis=axis))
    axes = [d for d in range(rank_of(windows)) if d != axis + 1]
    return R.permute_dims(windows, axes=[*axes, axis + 1])


# Data-dependent results.


@row("item", "_local_scalar_dense")
def item(e: Emitter, x: Expr) -> Extent | Expr:
    """Return the only element of an integer tensor as a size, of others as a tensor."""
    symbol = e.new_symbol()
    if is_float(dtype_of(x)) or (dtype_of(x) == "bool" and symbol is None):  # a number among others, never a size
        return R.reshape(x, ())
    number = e.traced_number() if symbol is None else 0
    if number is None or number < 0:
        raise UnsupportedError("the number in a tensor is wanted while the program is built")
    vector = e.emit(R.reshape(cast_to(x, "int64"), (1,)))
    if symbol is None:  # a run with another number is an error
        e.builder.match_cast(e.emit(R.tensor_to_shape(vector)), ShapeStructInfo([number]))
        return number
    if not e.may_be_negative():
        e.builder.match_cast(e.emit(R.tensor_to_shape(vector)), ShapeStructInfo([symbol]))
        return symbol
    zero = const([0], "int64")  # sizes are not negative: the number is the difference of two
    parts = R.concat([R.maximum(vector, zero), R.maximum(e.emit(R.negative(vector)), zero)], axis=0)
    positive, negative = e.fresh_size(), e.fresh_size()
    e.builder.match_cast(e.emit(R.tensor_to_shape(e.emit(parts))), ShapeStructInfo([positive, negative]))
    return e.define_result(positive - negative)


@row("nonzero")
def nonzero(e: Emitter, x: Expr) -> Expr:
    """Return the positions of the nonzero elements, one per row."""
    if not rank_of(x):  # a row without numbers, or none
        rows = e.emit(nonzero(e, e.emit(R.reshape(x, (1,)))))
        return R.strided_slice(rows, axes=[1], begin=[0], end=[0])
    shape = e.result_shape()
    return R.permute_dims(_positions(e, x, shape[0] if shape else None), axes=[1, 0])


@row("nonzero_static")
def nonzero_static(e: Emitter, x: Expr, *, size: Extent, fill_value: int = -1) -> Expr:
    """Return the positions of the first `size` nonzero elements, one per row, then rows of `fill_value`."""
    shape = shape_of(x)
    if not shape:
        return R.zeros(ShapeExpr([size, 0]), dtype="int64")
    extent = count_of(shape)
    found = cast_to(e.bound(R.reshape(x, ShapeExpr([extent]))), "bool")
    place = R.subtract(e.emit(R.cumsum(e.bound(found), axis=0, dtype="int64")), const(1, "int64"))
    end = e.tensor(size, "int64")
    place = e.emit(R.where(R.logical_and(found, R.less(place, end)), place, end))
    none = e.emit(R.full(ShapeExpr([plain(size + 1)]), const(-1, "int64"), dtype="int64"))
    flat = e.emit(R.scatter_elements(none, place, e.emit(_count_up(extent)), axis=0, reduction="update"))
    flat = e.emit(R.strided_slice(flat, axes=[0], begin=[0], end=[size]))
    columns: list[Expr] = []
    for axis, length in enumerate(shape):
        step = e.tensor(count_of(shape[axis + 1 :]), "int64")
        column = R.floor_mod(R.floor_divide(flat, step), e.tensor(length, "int64"))
        columns.append(e.emit(R.where(R.less(flat, const(0, "int64")), const(fill_value, "int64"), column)))
    return R.stack(columns, axis=1)


def _positions(e: Emitter, x: Expr, count: Extent | None) -> Expr:
    """Return the positions of the nonzero elements, a row for each dimension; None means a data-dependent count."""
    count = e.fresh_size() if count is None else count
    return e.builder.match_cast(e.emit(R.nonzero(x)), TensorStructInfo([rank_of(x), count], "int64"))


@row("masked_select")
def masked_select(e: Emitter, x: Expr, mask: Expr) -> Expr:
    """Return the elements where a mask is true."""
    shape = broadcast(shape_of(x), shape_of(mask))
    flat = [e.emit(R.reshape(R.broadcast_to(v, ShapeExpr(shape)), ShapeExpr([count_of(shape)]))) for v in (x, mask)]
    result = e.result_shape()
    places = e.emit(R.squeeze(_positions(e, flat[1], result[0] if result else None), axis=[0]))
    return R.take(flat[0], places, axis=0)


def broadcast(a: Sequence[Extent], b: Sequence[Extent]) -> list[Extent]:
    """Return the broadcast shape of two shapes."""
    longest = max(len(a), len(b))
    pairs = zip([1] * (longest - len(a)) + list(a), [1] * (longest - len(b)) + list(b), strict=True)
    return [m if n == 1 else n for n, m in pairs]


@row("_embedding_bag", "_embedding_bag_forward_only")
@in_single
def embedding_bag(
    e: Emitter, weight: Expr, indices: Expr, offsets: Expr, scale_grad_by_freq: bool = False, mode: int = 0,
    sparse: bool = False, per_sample_weights: Expr | None = None, include_last_offset: bool = False,
    padding_idx: int = -1,
) -> list[Any]:  # fmt: skip
    """Return the sum, mean or maximum of the rows at indices, for each bag."""
    count, bags, width = shape_of(indices)[0], shape_of(offsets)[0], shape_of(weight)[1]
    if any(e.is_used(i) for i in (1, 2, 3)):
        raise UnsupportedError("the sizes of bags, or where their elements are")
    bag = e.emit(R.bucketize(e.counted(count, dtype_of(offsets)), offsets, out_int32=False, right=True))
    places = e.emit(R.reshape(R.subtract(bag, const(1, dtype_of(bag))), ShapeExpr([count, 1])))
    rows = e.emit(R.take(weight, indices, axis=0))
    if per_sample_weights is not None:
        rows = e.emit(R.multiply(rows, R.expand_dims(per_sample_weights, 1)))
    zeros = e.emit(R.zeros(ShapeExpr([bags, width]), dtype=dtype_of(weight)))
    ones = e.emit(R.ones(ShapeExpr([count, 1]), dtype=dtype_of(weight)))
    if padding_idx >= 0:
        counts_too = e.emit(R.expand_dims(R.not_equal(indices, const(padding_idx, dtype_of(indices))), 1))
        ones = e.emit(R.astype(counts_too, dtype=dtype_of(weight)))
        rows = e.emit(R.where(counts_too, rows, const(-np.inf if mode == 2 else 0, dtype_of(weight))))
    empty = R.zeros(ShapeExpr([bags, 1]), dtype=dtype_of(weight))
    counts = e.emit(R.scatter_nd(empty, places, ones, reduction="add"))
    if mode == 2:
        least = R.full(ShapeExpr([bags, width]), const(-np.inf, dtype_of(weight)), dtype=dtype_of(weight))
        most = e.emit(R.scatter_nd(e.emit(least), places, rows, reduction="max"))
        is_empty = R.equal(counts, const(0, dtype_of(weight)))
        result = e.emit(R.where(is_empty, const(0, dtype_of(weight)), most))
    else:
        result = e.emit(R.scatter_nd(zeros, places, rows, reduction="add"))
        least = R.maximum(counts, const(1, dtype_of(weight)))
        result = result if mode == 0 else e.emit(R.divide(result, least))
    if include_last_offset:  # after it there is no bag
        result = e.emit(R.strided_slice(result, axes=[0], begin=[0], end=[bags - 1]))
    return [result, None, None, None]


@row("embedding_renorm")
def embedding_renorm(e: Emitter, x: Expr, indices: Expr, max_norm: float, norm_type: float) -> Expr:
    """Return a table whose rows at indices have norms of at most `max_norm`."""
    size = e.emit(R.expand_dims(norm(e, x, norm_type), -1))
    factor = R.divide(const(max_norm, dtype_of(x)), R.add(size, const(1e-7, dtype_of(x))))
    is_long = R.greater(size, const(max_norm, dtype_of(x)))
    shorter = e.emit(R.where(is_long, R.multiply(x, factor), x))
    places = e.emit(R.reshape(indices, ShapeExpr([count_of(shape_of(indices)), 1])))
    none = e.emit(R.zeros(ShapeExpr([shape_of(x)[0], 1]), dtype="int32"))
    ones = e.emit(R.ones(ShapeExpr([count_of(shape_of(indices)), 1]), dtype="int32"))
    used = e.emit(R.scatter_nd(none, places, ones, reduction="max"))
    return R.where(R.greater(used, const(0, "int32")), shorter, x)
