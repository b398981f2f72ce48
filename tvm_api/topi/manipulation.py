"""Shape manipulation, joining, slicing, grids, products, sorting, scans, scattering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import topi as _topi
from ...diagnostics import ShapeError
from ...dialects.dtypes import dtype_of
from ...dialects.relax.indexing import Slice, slice_of
from ...dialects.sym.expr import Const, SymExpr
from ...handles.tir import prim_expr as tx
from ...handles.tir import variables
from ...handles.tir.prim_expr import PrimExpr, as_sym, from_sym
from ...te import reduction as red
from ...te.axis import IterVar, dim, shape_dims
from ...te.broadcast import Indices, over_axes
from ...te.tensor import Tensor
from ...topi import indexing as _indexing
from ...topi import linear_algebra as _algebra
from ...topi import scan as _scan
from ...topi import scatter as _scatter
from ...topi.manipulation import concatenate as _concatenate
from ...topi.rearrangement import collapse_sum, flip
from ...topi.sequences import (
    matrix_set_diag,
    reverse_sequence,
    sequence_mask,
    shape_of,
    size_of,
    sparse_to_dense,
    unravel_index,
)
from ...topi.sequences import sliding_window as _sliding_window
from ...topi.tvm_forms import reshape
from ...topi.util import normalize_axis
from ..handles.data_layout import bijective_layout
from .arguments import axes, constant_like, element_type, integer, integers, tensors


def transpose(a: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """Permute dimensions, so that dimension i of the result is axes[i] of `a` (None: reversed)."""
    return _topi.transpose(a, None if axes is None else [integer(x) for x in axes])


def expand_dims(a: Tensor, axis: int, num_newaxis: int = 1) -> Tensor:
    """Insert `num_newaxis` dimensions of extent 1 at the position `axis`."""
    place = normalize_axis(integer(axis), a.ndim + 1)
    return _topi.expand_dims(a, list(range(place, place + num_newaxis)))


def expand_like(a: Tensor, shape_like: Tensor, axis: Any) -> Tensor:
    """Expand `a` along new dimensions `axis` to the shape of another tensor."""
    return _topi.broadcast_to(_topi.expand_dims(a, axes(axis) or 0), shape_like.shape)


def squeeze(a: Tensor, axis: Any = None) -> Tensor:
    """Remove the dimensions `axis` of extent 1 (None: all of extent 1)."""
    return _topi.squeeze(a, axes(axis))


def concatenate(a_tuple: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Concatenate tensors along `axis`."""
    return _concatenate(tensors(a_tuple), integer(axis))


def stack(a: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Stack tensors of one shape along a new dimension."""
    return _topi.stack(list(a), integer(axis))


def split(ary: Tensor, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Split `ary` along `axis` into equal sections, or at positions."""
    if isinstance(indices_or_sections, list | tuple):
        return _topi.split(ary, [integer(i) for i in indices_or_sections], integer(axis))
    return _topi.split(ary, integer(indices_or_sections), integer(axis))


def take(a: Tensor, indices: Any, axis: int | None = None, batch_dims: int = 0, mode: str = "clip") -> Tensor:
    """Return the slices of `a` at `indices` along `axis` (None: of flattened `a`), paired in `batch_dims`
    dimensions.
    """
    place = None if axis is None else integer(axis)
    if batch_dims and place is not None and isinstance(indices, Tensor):
        count = batch_dims if batch_dims > 0 else batch_dims + indices.ndim
        return _topi.take_batched(a, indices, place, count, mode)
    return _topi.take(a, indices, place, mode)


def tile(a: Tensor, reps: Any) -> Tensor:
    """Repeat `a` `reps` times along each dimension."""
    return _topi.tile(a, integers(reps, len(reps) if isinstance(reps, list | tuple) else 1))


def dyn_tile(a: Tensor, new_shape: Any, rdim: int) -> Tensor:
    """Repeat `a` to fill `new_shape` of rank `rdim`."""
    dims = shape_dims(new_shape)
    return over_axes(
        dims,
        lambda i: a(*(tx.floormod(v, from_sym(d)) for v, d in zip(i[len(dims) - a.ndim :], a.dims, strict=True))),
        "T_tile",
        "broadcast",
    )


def repeat(a: Tensor, repeats: int, axis: int) -> Tensor:
    """Repeat each element `repeats` times along `axis`."""
    return _topi.repeat(a, integer(repeats), integer(axis))


def meshgrid(a_tuple: Sequence[Tensor], indexing: str) -> list[Tensor]:
    """Repeat each vector along the dimensions of the others; `xy` swaps the first two dimensions."""
    return _topi.meshgrid(list(a_tuple), indexing)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: str = "float32") -> Tensor:
    """Return start, start + step, … up to `stop`, exclusive; from 0 to `start` without a stop."""
    low, high = (0, start) if stop is None else (start, stop)
    return _topi.arange([_count(low, high, step)], low, step, dtype)


def _count(low: Any, high: Any, step: Any) -> SymExpr | int:
    """Return the number of elements of a range."""
    ends = [v.constant if isinstance(v, PrimExpr) else v for v in (low, high, step)]
    if None not in ends:
        first, last, by = (float(v) for v in ends if v is not None)
        return max(0, int(-((last - first) // -by)))
    span, by = as_sym(tx.convert(high) - low), dim(step)
    return (span + (by - 1)) // by


def eye(n: Any, m: Any = None, k: int = 0, dtype: str = "float32") -> Tensor:
    """Return an n × m (default: n × n) matrix with ones where column - row == k, and zeros elsewhere."""
    return _topi.eye([n, n if m is None else m], k, dtype)


def trilu(data: Tensor, k: Any, upper: Any) -> Tensor:
    """Return the upper or lower triangle of the last two dimensions from the diagonal `k` on, with zeros elsewhere."""
    return _topi.trilu(data, k, bool(int(upper)))


def hamming_window(window_size: Any, periodic: Any, alpha: Any, beta: Any, dtype: str) -> Tensor:
    """Return alpha - beta * cos(2π i / N), where N is the size if `periodic`, else the size - 1."""
    return _topi.hamming_window([window_size], periodic, alpha, beta, dtype)


def one_hot(indices: Tensor, on_value: Any, off_value: Any, depth: int, axis: int, dtype: str) -> Tensor:
    """Return on_value where the coordinate along the new dimension is the index, else off_value."""
    on, off = (tx.cast(dtype, tx.convert(v)) for v in (on_value, off_value))
    return _topi.one_hot(indices, on, off, integer(depth), integer(axis))


def gather(data: Tensor, axis: int, indices: Tensor) -> Tensor:
    """Return `data` at the position of each index, with the coordinate along `axis` replaced by the index."""
    return _topi.gather(data, integer(axis), indices)


def gather_nd(a: Tensor, indices: Tensor, batch_dims: int = 0) -> Tensor:
    """Return the slices of `a` at the positions in the first dimension of `indices`."""
    return _indexing.gather_nd_first(a, indices, integer(batch_dims))


def adv_index(data: Tensor, indices: Sequence[Tensor]) -> Tensor:
    """Return data[indices], where the indices broadcast and select the first dimensions."""
    return _topi.index_tensor(data, list(indices))


index_tensor = adv_index


def strided_slice(
    a: Tensor,
    begin: Any,
    end: Any,
    strides: Any = None,
    axes: Any = None,
    slice_mode: str = "end",
    assume_inbound: bool = True,
) -> Tensor:
    """Return a[begin:end:strides] along `axes` (None: the first ones).

    If `slice_mode` is `size`, `end` contains extents, with -1 for the remaining ones, and strides are 1.
    """
    if isinstance(begin, Tensor):
        by = strides if isinstance(strides, Tensor) else _topi.full([a.ndim], begin.dtype, 1)
        return dynamic_strided_slice(
            a, begin, end, by, [dim(variables.SizeVar(f"s{n}", "int64")) for n in range(a.ndim)]
        )
    slices = _slices(a, begin, end, strides, axes, slice_mode, assume_inbound)
    name = None if axes is not None else "T_strided_slice"
    return _indexing.strided_slice(a, slices, name)


def _slices(
    a: Tensor, begin: Any, end: Any, strides: Any, axes: Any, slice_mode: str, assume_inbound: bool
) -> Mapping[int, Slice]:
    places = [normalize_axis(integer(x), a.ndim) for x in axes] if axes is not None else range(len(begin))
    steps = [1] * len(begin) if not strides else [integer(s) for s in strides]
    out: dict[int, Slice] = {}
    for n, first, last, step in zip(places, begin, end, steps, strict=False):
        extent = a.dims[n]
        low = dim(first) if first is not None else Const(0, extent.dtype) if step > 0 else extent - 1
        high = dim(last) if last is not None else extent
        if slice_mode == "size":
            full = high.constant is not None and high.constant < 0
            step, high = 1, extent if full else low + high
        symbolic = any(e.constant is None for e in (low, high))
        part = slice_of(low, high, step, extent, assume_inbound and symbolic)
        out[n] = Slice(constant_like(part.begin, extent), constant_like(part.extent, extent), step)
    return out


def dynamic_strided_slice(a: Tensor, begin: Tensor, end: Tensor, strides: Tensor, output_shape: Any) -> Tensor:
    """Return a[begin:end:strides] with the extents `output_shape`."""
    return _topi.dynamic_strided_slice(a, begin, end, strides, shape_dims(output_shape))


def strided_set(a: Tensor, v: Tensor, begin: Any, end: Any, strides: Any = None) -> Tensor:
    """Return `a` with a[begin:end:strides] replaced by `v`; positions are numbers or tensors."""
    count = begin.dims[0].constant if isinstance(begin, Tensor) else len(begin)
    if count is None:
        raise ShapeError("strided_set needs a known number of positions", found=str(begin.dims[0]))
    steps = [1] * count if strides is None else strides
    rows = [(tx.convert(first[n]), tx.convert(by[n])) for first, by in [(begin, steps)] for n in range(count)]
    return _indexing.strided_set(
        a, v, [_from_front(b, s, d) for (b, s), d in zip(rows, a.dims, strict=False)], [s for _, s in rows]
    )


def _from_front(begin: PrimExpr, step: PrimExpr, extent: SymExpr) -> PrimExpr:
    """Return the first position of a slice, counted from the front and clamped to the dimension."""
    size = from_sym(extent).astype(begin.type)
    at = tx.select(begin < 0, begin + size, begin)
    return tx.select(step < 0, tx.minimum(at, size - 1), tx.maximum(at, 0))


def slice_scatter(input_tensor: Tensor, src: Tensor, start: Any, end: Any, step: int, axis: int) -> Tensor:
    """Return `input_tensor` with start:end:step along `axis` replaced by `src`."""
    extent = input_tensor.dims[normalize_axis(integer(axis), input_tensor.ndim)]
    part = slice_of(dim(start), dim(end), integer(step), extent)
    return _topi.slice_scatter(input_tensor, src, part, integer(axis))


def sliding_window(data: Tensor, axis: int, window_shape: Sequence[int], strides: Sequence[int]) -> Tensor:
    """Return all windows of `window_shape` over the dimensions from `axis` on."""
    return _sliding_window(data, integer(axis), [integer(w) for w in window_shape], [integer(s) for s in strides])


def shape(array: Tensor, dtype: str = "int32") -> Tensor:
    """Return the extents of a tensor."""
    return shape_of(array, dtype)


def tensor_size(array: Tensor, dtype: str = "int32") -> Tensor:
    """Return the number of elements of a tensor."""
    return size_of(array, dtype)


ndarray_size = tensor_size


def layout_transform(array: Tensor, src_layout: str, dst_layout: str, schedule_rule: str = "None") -> Tensor:
    """Convert `array` between layouts, padding blocks with 0. Raises for layouts of different letters."""
    if src_layout == dst_layout:
        return array
    layouts: Any = bijective_layout(src_layout, dst_layout)
    if layouts is None:
        raise ShapeError("the layouts have different dimensions", expected=src_layout, found=dst_layout)
    dims = [as_sym(e) for e in layouts.forward_shape(array.shape)]
    filled = [as_sym(e) for e in layouts.backward_shape(layouts.forward_shape(array.shape))]
    padded = any((a - b).constant != 0 for a, b in zip(filled, array.dims, strict=True))
    return _topi.layout_transform(array, dims, layouts.backward_index, padded)


def matmul(a: Tensor, b: Tensor, transp_a: bool = False, transp_b: bool = False) -> Tensor:
    """Return the product of two matrices, optionally transposed. Raises `ShapeError` for other ranks."""
    for tensor in (a, b):
        if tensor.ndim != 2:
            raise ShapeError("matmul takes matrices", expected="2 dimensions", found=f"{tensor.ndim} dimensions")
    extent = a.dims[0 if transp_a else 1]
    k = IterVar("k", Const(0, extent.dtype), extent, is_reduction=True)

    def element(i: Indices) -> Any:
        left = a(k, i[0]) if transp_a else a(i[0], k)
        return red.sum(left * (b(i[1], k) if transp_b else b(k, i[1])), axis=k)

    return over_axes([a.dims[1 if transp_a else 0], b.dims[0 if transp_b else 1]], element, "T_matmul", "matmul")


def tensordot(a: Tensor, b: Tensor, axes: Any) -> Tensor:
    """Return the sum of products over the last dimensions of `a` and the first of `b`, or over pairs of axes."""
    if isinstance(axes, int):
        pairs = [(a.ndim - axes + n, n) for n in range(axes)]
    elif isinstance(axes[0], int):
        pairs = [(normalize_axis(axes[0], a.ndim), normalize_axis(axes[1], b.ndim))]
    else:
        rows = zip(axes[0], axes[1], strict=True)
        pairs = [(normalize_axis(x, a.ndim), normalize_axis(y, b.ndim)) for x, y in rows]
    return _algebra.tensordot(a, b, pairs)


def einsum(subscripts: str, *operand: Any) -> Tensor:
    """Return Einstein's sum, like numpy's `einsum` (without `...`)."""
    operands = list(operand[0]) if len(operand) == 1 and isinstance(operand[0], list | tuple) else list(operand)
    return _algebra.einsum_of(subscripts, operands)


def make_idx(b: Any, e: Any, s: Any, z: Any, i: Any) -> PrimExpr:
    """Return the index of `i` within the slice b:e:s of a dimension of extent z, or z if it is not in it."""
    low, step = tx.convert(b), tx.convert(s)
    up = tx.floordiv(i - low, step)
    down = tx.floordiv(low - i, step * -1)
    inside = within_index(b, e, s, i)
    return tx.if_then_else(inside, tx.select(step < 0, down, up), tx.convert(z))


def within_index(b: Any, e: Any, s: Any, i: Any) -> PrimExpr:
    """Return whether `i` is in the slice b:e:s."""
    low, high, step, at = (tx.convert(v) for v in (b, e, s, i))
    up = tx.logical_and(low <= at, at < high, tx.equal(tx.floormod(at - low, step), 0))
    down = tx.logical_and(high < at, at <= low, tx.equal(tx.floormod(low - at, step * -1), 0))
    return tx.select(step < 0, down, up)


# Sorting, searching, scans and scattering.


def sort(data: Tensor, axis: int = -1, is_ascend: Any = 1) -> Tensor:
    """Return the sorted elements along `axis`."""
    return _scan.sort(data, integer(axis), not int(is_ascend))


def argsort(
    data: Tensor, valid_count: Tensor | None = None, axis: int = -1, is_ascend: Any = 1, dtype: str = "float32"
) -> Tensor:
    """Return the positions that sort the elements along `axis`; the sort is stable.

    With `valid_count`, only the first elements of each row are sorted, and the others remain in place.
    """
    element = dtype_of(dtype)
    return _scan.argsort(data, integer(axis), not int(is_ascend), element, valid_count)


def topk(
    data: Tensor, k: Any = 1, axis: int = -1, ret_type: str = "both", is_ascend: Any = False, dtype: str = "int64"
) -> Tensor | list[Tensor]:
    """Return the first `k` elements (all if 0 or less) in sorted order along `axis`: `values`, `indices` or `both`."""
    count = dim(k)
    if count.constant is not None and count.constant < 1:
        count = data.dims[integer(axis)]
    out = _scan.topk(data, count, integer(axis), ret_type, not int(is_ascend), dtype_of(dtype))
    return out if ret_type == "both" else out[0]


def searchsorted(sorted_sequence: Tensor, values: Tensor, right: Any = False, out_dtype: str = "int64") -> Tensor:
    """Return the number of sorted elements less than (`right`: less than or equal to) each value.

    A sequence with several dimensions contains one sequence for each row of `values`.
    """
    return _scan.searchsorted(sorted_sequence, values, bool(int(right)), dtype_of(out_dtype))


def cumsum(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: Any = None) -> Tensor:
    """Return the prefix sums along `axis` (None: of flattened `data`), without the element itself if `exclusive`."""
    return _scan.scan(data, "cumsum", axis, element_type(dtype, data.type), bool(exclusive))


def cumprod(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: Any = None) -> Tensor:
    """Return the prefix products along `axis` (None: of flattened `data`), without the element itself if
    `exclusive`.
    """
    return _scan.scan(data, "cumprod", axis, element_type(dtype, data.type), bool(exclusive))


def scanop(
    data: Tensor,
    binop: Callable[[PrimExpr, PrimExpr], PrimExpr],
    identity_value: Any,
    op_name: str,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: Any = None,
) -> Tensor:
    """Return the prefix results of `binop` along `axis`, starting from `identity_value`."""
    start = tx.convert(identity_value)
    return _scan.running(data, op_name, binop, start, axis, element_type(dtype, data.type), bool(exclusive))


def scatter_elements(
    data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "update"
) -> Tensor:
    """Write each update to `data` at its position, with the coordinate along `axis` replaced by the index."""
    return _scatter.scatter_elements(data, indices, updates, integer(axis), _scatter.known_reduction(reduction))


def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str) -> Tensor:
    """Write slices of updates to `data` at the positions in the first dimension of `indices`."""
    return _scatter.scatter_nd_first(data, indices, updates, _scatter.known_reduction(mode))


def index_put(data: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """Return `data` after data[indices] = values (+= if `accumulate`), where indices and values broadcast."""
    return _scatter.index_put(data, list(indices), values, bool(accumulate))


__all__ = [
    "adv_index", "arange", "argsort", "collapse_sum", "concatenate", "cumprod", "cumsum", "dyn_tile",
    "dynamic_strided_slice", "einsum", "expand_dims", "expand_like", "eye", "flip", "gather", "gather_nd",
    "hamming_window", "index_put", "index_tensor", "layout_transform", "make_idx", "matmul", "matrix_set_diag",
    "meshgrid", "ndarray_size", "one_hot", "repeat", "reshape", "reverse_sequence", "scanop",
    "scatter_elements", "scatter_nd", "searchsorted", "sequence_mask", "shape", "slice_scatter",
    "sliding_window", "sort", "sparse_to_dense", "split", "squeeze", "stack", "strided_set", "strided_slice",
    "take", "tensor_size", "tensordot", "tile", "topk", "transpose", "trilu", "unravel_index", "within_index",
]  # fmt: skip
