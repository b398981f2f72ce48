"""Reshaping, joining, splitting, repeating and permuting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....diagnostics import UnsupportedError
from ....dialects.sym.expr import SymExpr, floordiv
from ....handles.relax.expr import Expr, ShapeExpr, Tuple, TupleGetItem
from ...importing.relax_operators import R
from ..emitter import Emitter, Extent, axes_of, axis_of, cast_to, count_of, plain, rank_of, shape_of
from ..promotion import common_dtype
from ..table import row


def reshaped(x: Expr, extents: Sequence[Extent]) -> Expr:
    """Reshape x; one extent may be -1."""
    extents = list(extents)
    unknown = [i for i, extent in enumerate(extents) if isinstance(extent, int) and extent == -1]
    if unknown:
        rest = count_of(extent for extent in extents if not (isinstance(extent, int) and extent == -1))
        extents[unknown[0]] = 0 if rest == 0 else plain(_quotient(count_of(shape_of(x)), rest))
    return R.reshape(x, ShapeExpr(extents))


def _quotient(a: Extent, b: Extent) -> Extent:
    return a // b


@row("view", "reshape", "_unsafe_view", "view_copy", "_reshape_copy", "_reshape_alias")
def view(e: Emitter, x: Expr, size: Sequence[Extent], stride: Any = None) -> Expr:
    """Reshape x."""
    return reshaped(x, size)


@row("view.dtype")
def view_dtype(e: Emitter, x: Expr, dtype: str) -> Expr:
    """Reinterpret the bytes of x as another dtype."""
    raise UnsupportedError("the bytes of a tensor are not read as another dtype")


@row("flatten.using_ints")
def flatten(e: Emitter, x: Expr, start_dim: int = 0, end_dim: int = -1) -> Expr:
    """Merge the dimensions from start_dim to end_dim."""
    shape = shape_of(x)
    first, last = axis_of(start_dim, len(shape)), axis_of(end_dim, len(shape))
    if not shape:
        return R.reshape(x, (1,))
    return R.reshape(x, ShapeExpr([*shape[:first], count_of(shape[first : last + 1]), *shape[last + 1 :]]))


@row("unflatten.int")
def unflatten(e: Emitter, x: Expr, dim: int, sizes: Sequence[Extent]) -> Expr:
    """Split a dimension into several."""
    shape = shape_of(x)
    at = axis_of(dim, len(shape))
    extents = [*sizes]
    if -1 in [s for s in extents if isinstance(s, int)]:
        rest = count_of(s for s in extents if s != -1)
        extents = [plain(_quotient(shape[at], rest)) if s == -1 else s for s in extents]
    return R.reshape(x, ShapeExpr([*shape[:at], *extents, *shape[at + 1 :]]))


@row("unsqueeze", "unsqueeze_copy")
def unsqueeze(e: Emitter, x: Expr, dim: int) -> Expr:
    """Insert a dimension of extent 1."""
    return R.expand_dims(x, dim)


@row("squeeze", "squeeze.dims", "squeeze_copy", "squeeze_copy.dims")
def squeeze(e: Emitter, x: Expr, dim: Sequence[int] | None = None) -> Expr:
    """Remove dimensions of extent 1."""
    if dim is None:
        return R.squeeze(x, axis=None)
    return _without(x, list(dim))


@row("squeeze.dim", "squeeze_copy.dim")
def squeeze_dim(e: Emitter, x: Expr, dim: int) -> Expr:
    """Remove a dimension if its extent is 1."""
    return _without(x, [dim])


def _without(x: Expr, dims: list[int]) -> Expr:
    shape = shape_of(x)
    single = [d for d in dims if shape and shape[axis_of(d, len(shape))] == 1]
    return R.squeeze(x, axis=single) if single else x


@row("expand", "expand_copy", "broadcast_to")
def expand(e: Emitter, x: Expr, size: Sequence[Extent], implicit: bool = False) -> Expr:
    """Broadcast dimensions of extent 1 and new leading ones; -1 keeps an extent."""
    old = [1] * (len(size) - rank_of(x)) + shape_of(x)
    kept = [o if isinstance(s, int) and s == -1 else s for o, s in zip(old, size, strict=True)]
    return R.broadcast_to(x, ShapeExpr(kept))


@row("expand_as")
def expand_as(e: Emitter, x: Expr, other: Expr) -> Expr:
    """Broadcast x to the shape of another tensor."""
    return R.broadcast_to(x, ShapeExpr(shape_of(other)))


@row("permute", "permute_copy")
def permute(e: Emitter, x: Expr, dims: Sequence[int]) -> Expr:
    """Permute the dimensions."""
    return R.permute_dims(x, axes=axes_of(dims, rank_of(x)) if dims else []) if rank_of(x) else x


@row("transpose.int", "transpose_copy.int", "swapaxes", "swapdims")
def transpose(e: Emitter, x: Expr, dim0: int, dim1: int) -> Expr:
    """Swap two dimensions."""
    axes = list(range(rank_of(x)))
    if not axes:
        return x
    i, j = axis_of(dim0, len(axes)), axis_of(dim1, len(axes))
    axes[i], axes[j] = axes[j], axes[i]
    return R.permute_dims(x, axes=axes)


@row("t", "t_copy", "numpy_T", "mT", "mH")
def t(e: Emitter, x: Expr) -> Expr:
    """Swap the last two dimensions."""
    return transpose(e, x, -2, -1) if rank_of(x) > 1 else x


@row("movedim.int")
def movedim(e: Emitter, x: Expr, source: int, destination: int) -> Expr:
    """Move a dimension."""
    return _moved(x, [source], [destination])


@row("movedim.intlist", "moveaxis.intlist")
def movedims(e: Emitter, x: Expr, source: Sequence[int], destination: Sequence[int]) -> Expr:
    """Move dimensions."""
    return _moved(x, source, destination)


def _moved(x: Expr, source: Sequence[int], destination: Sequence[int]) -> Expr:
    rank = rank_of(x)
    if not rank:
        return x
    sources = [axis_of(s, rank) for s in source]
    axes = [d for d in range(rank) if d not in sources]
    for to, axis in sorted((axis_of(d, rank), s) for d, s in zip(destination, sources, strict=True)):
        axes.insert(to, axis)
    return R.permute_dims(x, axes=axes)


@row("flip")
def flip(e: Emitter, x: Expr, dims: Sequence[int]) -> Expr:
    """Reverse x along dimensions."""
    if rank_of(x):
        for dim in dims:
            x = R.flip(x, axis=dim)
    return x


@row("roll")
def roll(e: Emitter, x: Expr, shifts: Sequence[int], dims: Sequence[int] = ()) -> Expr:
    """Shift the elements by `shifts`, wrapping around."""
    shape = shape_of(x)
    if not shape:
        return x
    if not dims:
        return reshaped(_rolled(e, e.emit(reshaped(x, [-1])), shifts[0], 0), shape)
    for shift, dim in zip(shifts, dims, strict=True):
        x = _rolled(e, x, shift, axis_of(dim, len(shape)))
    return x


def _rolled(e: Emitter, x: Expr, shift: Extent, axis: int) -> Expr:
    extent = shape_of(x)[axis]
    if isinstance(extent, int) and (extent == 0 or (isinstance(shift, int) and shift % extent == 0)):
        return x
    at = plain((-shift) % extent)
    head = R.strided_slice(x, axes=[axis], begin=[0], end=[at])
    tail = R.strided_slice(x, axes=[axis], begin=[at], end=[extent])
    return e.emit(R.concat([tail, head], axis=axis))


@row("cat", "concat", "concatenate")
def cat(e: Emitter, tensors: Sequence[Expr], dim: int = 0) -> Expr:
    """Concatenate tensors along a dimension, ignoring empty vectors as PyTorch does."""
    dtype = common_dtype(tensors)
    full = [x for x in tensors if shape_of(x) != [0]] or list(tensors[:1])
    parts = [cast_to(x, dtype) for x in full]
    return parts[0] if len(parts) == 1 else R.concat(parts, axis=dim)


@row("stack")
def stack(e: Emitter, tensors: Sequence[Expr], dim: int = 0) -> Expr:
    """Stack tensors of one shape along a new dimension."""
    dtype = common_dtype(tensors)
    shape = shape_of(tensors[0])
    axis = dim % (len(shape) + 1)
    if axis:
        return R.stack([cast_to(x, dtype) for x in tensors], axis=axis)
    if not shape:
        parts = [R.reshape(cast_to(x, dtype), (1,)) for x in tensors]
        return R.concat(parts, axis=0)
    joined = e.emit(R.concat([cast_to(x, dtype) for x in tensors], axis=0))
    return R.reshape(joined, ShapeExpr([len(tensors), *shape]))


@row("split.Tensor", "split_copy.Tensor", "unsafe_split.Tensor")
def split(e: Emitter, x: Expr, split_size: Extent, dim: int = 0) -> Any:
    """Split x into parts of size `split_size`; the last one may be smaller."""
    extent = shape_of(x)[axis_of(dim, rank_of(x))]
    if not (isinstance(extent, int) and isinstance(split_size, int)):
        return _slices(e, x, _traced(e, axis_of(dim, rank_of(x)), extent), axis_of(dim, rank_of(x)))
    if split_size == 0 or extent <= split_size:
        return [x]
    if extent % split_size == 0:
        return R.split(x, indices_or_sections=extent // split_size, axis=dim)
    return R.split(x, indices_or_sections=list(range(split_size, extent, split_size)), axis=dim)


@row("split_with_sizes", "split.sizes", "split_with_sizes_copy", "unsafe_split_with_sizes")
def split_with_sizes(e: Emitter, x: Expr, split_sizes: Sequence[Extent], dim: int = 0) -> Any:
    """Split x into parts of the given sizes."""
    if len(split_sizes) == 1:
        return [x]
    if all(isinstance(s, int) for s in split_sizes):
        ends = [sum(split_sizes[: i + 1]) for i in range(len(split_sizes) - 1)]  # pyright: ignore[reportArgumentType]
        return R.split(x, indices_or_sections=ends, axis=dim)
    return _slices(e, x, split_sizes, axis_of(dim, rank_of(x)))


def _slices(e: Emitter, x: Expr, sizes: Sequence[Extent], axis: int) -> list[Expr]:
    begin: Extent = 0
    parts: list[Expr] = []
    for size in sizes:
        end = plain(begin + size)
        parts.append(e.emit(R.strided_slice(x, axes=[axis], begin=[begin], end=[end], assume_inbound=True)))
        begin = end
    return parts


def _traced(e: Emitter, axis: int, extent: Extent) -> list[Extent]:
    """Return the sizes of the parts of a dimension as PyTorch traced them."""
    parts = () if e.node is None else e.node.meta.get("val") or ()
    shapes = [e.traced_shape(i) for i in range(len(parts))]
    if not shapes or None in shapes:
        raise UnsupportedError("a dimension of unknown extent is cut into parts", found=extent)
    return [shape[axis] for shape in shapes if shape is not None]


@row("chunk", "unsafe_chunk")
def chunk(e: Emitter, x: Expr, chunks: int, dim: int = 0) -> Any:
    """Split x into at most `chunks` parts of equal size."""
    extent = shape_of(x)[axis_of(dim, rank_of(x))]
    if not isinstance(extent, int):
        return _slices(e, x, _traced(e, axis_of(dim, rank_of(x)), extent), axis_of(dim, rank_of(x)))
    size = -(-extent // chunks)
    if extent and extent % chunks == 0 and chunks > 1:
        return R.split(x, indices_or_sections=chunks, axis=dim)
    return [x] * chunks if extent == 0 else split(e, x, size, dim)


@row("tensor_split.sections")
def tensor_split(e: Emitter, x: Expr, sections: int, dim: int = 0) -> Any:
    """Split x into `sections` parts, of which the first ones may be longer by one."""
    extent = shape_of(x)[axis_of(dim, rank_of(x))]
    if not isinstance(extent, int):
        parts = [floordiv(extent + (sections - 1 - i), sections) for i in range(sections)]
        return _slices(e, x, parts, axis_of(dim, rank_of(x)))
    least, more = divmod(extent, sections)
    return split_with_sizes(e, x, [least + (i < more) for i in range(sections)], dim)


@row("unbind.int", "unbind_copy.int")
def unbind(e: Emitter, x: Expr, dim: int = 0) -> Any:
    """Return the slices along a dimension."""
    axis = axis_of(dim, rank_of(x))
    extent = shape_of(x)[axis]
    if not isinstance(extent, int):
        raise UnsupportedError("the slices along a dimension of unknown extent are wanted one by one", found=extent)
    if extent == 0:
        return []
    parts = e.emit(R.split(x, indices_or_sections=list(range(1, extent + 1)), axis=dim))
    slices = [e.emit(R.squeeze(e.emit(TupleGetItem(parts, i)), axis=[dim])) for i in range(extent)]
    return e.emit(Tuple(slices))


@row("repeat")
def repeat(e: Emitter, x: Expr, repeats: Sequence[Extent]) -> Expr:
    """Repeat x along each dimension; additional leading dimensions are new."""
    return _tiled(e, x, list(repeats))


@row("tile")
def tile(e: Emitter, x: Expr, dims: Sequence[Extent]) -> Expr:
    """Repeat x along each dimension, counted from the last."""
    return _tiled(e, x, list(dims))


def _tiled(e: Emitter, x: Expr, repeats: list[Extent]) -> Expr:
    if not repeats:
        return x
    if all(isinstance(r, int) for r in repeats):
        return R.tile(x, repeats)
    shape = [1] * (len(repeats) - rank_of(x)) + shape_of(x)
    repeats = [1] * (len(shape) - len(repeats)) + repeats
    between = [extent for s in shape for extent in (1, s)]
    wide = [extent for r, s in zip(repeats, shape, strict=True) for extent in (r, s)]
    spread = R.broadcast_to(e.emit(R.reshape(x, ShapeExpr(between))), ShapeExpr(wide))
    return R.reshape(e.emit(spread), ShapeExpr([r * s for r, s in zip(repeats, shape, strict=True)]))


@row("repeat_interleave.self_int")
def repeat_interleave(e: Emitter, x: Expr, repeats: Extent, dim: int | None = None, output_size: Any = None) -> Expr:
    """Repeat each element."""
    if isinstance(repeats, int) and repeats:
        return R.repeat(x, repeats, axis=dim)
    x = x if dim is not None and rank_of(x) else e.emit(R.reshape(x, ShapeExpr([count_of(shape_of(x))])))
    axis, shape = axis_of(dim or 0, rank_of(x)), shape_of(x)
    wide = ShapeExpr([*shape[: axis + 1], repeats, *shape[axis + 1 :]])
    spread = e.emit(R.broadcast_to(R.expand_dims(x, axis + 1), wide))
    return R.reshape(spread, ShapeExpr([*shape[:axis], shape[axis] * repeats, *shape[axis + 1 :]]))


# Sizes, as Python values at import.


@row("sym_size.int", "size.int")
def sym_size(e: Emitter, x: Expr, dim: int) -> Extent:
    """Return an extent."""
    return shape_of(x)[axis_of(dim, rank_of(x))]


@row("sym_numel", "numel")
def sym_numel(e: Emitter, x: Expr) -> Extent:
    """Return the number of elements."""
    return count_of(shape_of(x))


@row("sym_stride.int", "stride.int")
def sym_stride(e: Emitter, x: Expr, dim: int) -> Extent:
    """Return the stride of a dimension: tensors are row-major here."""
    shape = shape_of(x)
    return count_of(shape[axis_of(dim, len(shape)) + 1 :])


@row("sym_storage_offset", "storage_offset")
def sym_storage_offset(e: Emitter, x: Expr) -> int:
    """Return the offset of a tensor in its storage."""
    return 0


def known_int(value: Extent, what: str) -> int:
    """Return a number that must be constant. Raises `UnsupportedError` if it is symbolic."""
    if isinstance(value, SymExpr):
        raise UnsupportedError(f"{what} is not constant", found=value)
    return value
