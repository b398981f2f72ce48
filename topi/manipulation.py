"""Operators that move elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import i64

from ..diagnostics import ShapeError, unknown_name
from ..dialects.relax.manipulation import sections
from ..dialects.sym.expr import Const, SymExpr, add, product
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te.axis import shape_dims
from ..te.broadcast import Indices, over_axes, zero_like
from ..te.tensor import Tensor, compute
from .util import divisor, normalize_axes, normalize_axis, unit_like


def transpose(a: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """Permute dimensions: dimension i of the result is dimension axes[i] of `a`; None reverses them."""
    order = [normalize_axis(x, a.ndim) for x in axes] if axes is not None else list(range(a.ndim))[::-1]

    def element(i: Indices) -> PrimExpr:
        return a(*(i[order.index(d)] for d in range(a.ndim)))

    return over_axes([a.dims[x] for x in order], element, "T_transpose", "injective")


def _groups(old: Sequence[SymExpr], new: Sequence[SymExpr]) -> list[tuple[range, range]]:
    """Split two shapes into the shortest runs of dimensions with equal numbers of elements."""
    groups: list[tuple[range, range]] = []
    i = j = 0
    for end_i in range(1, len(old) + 1):
        before = product(old[i:end_i])
        for end_j in range(j + 1, len(new) + 1):
            if product(new[j:end_j]) == before:
                groups.append((range(i, end_i), range(j, end_j)))
                i, j = end_i, end_j
                break
    if i == len(old) and j == len(new):
        return groups
    if groups and all(d.constant == 1 for d in (*old[i:], *new[j:])):
        first, last = groups.pop()
        return [*groups, (range(first.start, len(old)), range(last.start, len(new)))]
    return [*groups, (range(i, len(old)), range(j, len(new)))]


def _flat(dims: Sequence[SymExpr], indices: Sequence[PrimExpr]) -> PrimExpr:
    """Return the row-major position of `indices`."""
    out: PrimExpr | None = None
    for d, i in zip(dims, indices, strict=True):
        if d.constant != 1:
            out = i if out is None else out * from_sym(d) + i
    return out if out is not None else tx.const(0, dims[0].dtype if dims else i64)


def _unflat(dims: Sequence[SymExpr], position: PrimExpr) -> list[PrimExpr]:
    """Return the indices at a row-major position; the outermost needs no modulo."""
    out: list[PrimExpr] = []
    outermost = next((n for n, d in enumerate(dims) if d.constant != 1), None)
    for n, d in enumerate(dims):
        if d.constant == 1:
            out.append(zero_like(d))
            continue
        index = tx.floordiv(position, divisor(product(dims[n + 1 :], d.dtype)))
        out.append(index if n == outermost else tx.floormod(index, divisor(d)))
    return out


def reshape(a: Tensor, newshape: Any) -> Tensor:
    """Return the elements in row-major order, in another shape."""
    dims = shape_dims(newshape)
    groups = _groups(a.dims, dims)

    def element(i: Indices) -> PrimExpr:
        own: list[PrimExpr] = []
        for old, new in groups:
            position = _flat([dims[n] for n in new], [i[n] for n in new])
            own += _unflat([a.dims[n] for n in old], position)
        return a(*own)

    return over_axes(dims, element, "T_reshape", "injective")


def flatten(a: Tensor) -> Tensor:
    """Return all elements in one dimension."""
    return reshape(a, [product(a.dims)])


def expand_dims(a: Tensor, axis: int | Sequence[int]) -> Tensor:
    """Insert dimensions of extent 1 at the positions `axis` of the result."""
    count = 1 if isinstance(axis, int) else len(axis)
    axes = normalize_axes(axis, a.ndim + count)
    old = iter(a.dims)
    dims = [unit_like(a.dims) if n in axes else next(old) for n in range(a.ndim + count)]
    return compute(dims, lambda *i: a(*(v for n, v in enumerate(i) if n not in axes)), "expand_dims", "broadcast")


def squeeze(a: Tensor, axis: int | Sequence[int] | None = None) -> Tensor:
    """Remove the dimensions `axis` of extent 1; None removes all of them."""
    unit = [n for n, d in enumerate(a.dims) if d.constant == 1]
    axes = unit if axis is None else normalize_axes(axis, a.ndim)

    def element(i: Indices) -> PrimExpr:
        rest = iter(i)
        return a(*(zero_like(d) if n in axes else next(rest) for n, d in enumerate(a.dims)))

    return over_axes([d for n, d in enumerate(a.dims) if n not in axes], element, "T_squeeze", "injective")


MOST_JOINED, MOST_SYMBOLIC, _FEW_TERMS = 64, 16, 8
"""The maximum number of tensors that one element selects from; fewer if a tensor begins at a sum of many sizes."""


def concatenate(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Concatenate tensors along `axis`. Raises `ShapeError` for an empty list.

    Many tensors are first concatenated in groups, so that an element does not select from all of them:
    x0 ++ x1 ++ … ++ x127 is (x0 ++ … ++ x63) ++ (x64 ++ … ++ x127).
    """
    if not tensors:
        raise ShapeError("there is nothing to concatenate", expected="one tensor or more", found=0)
    place = normalize_axis(axis, tensors[0].ndim)
    while len(tensors) > (most := _most_joined([t.dims[place] for t in tensors])):
        tensors = [_joined(tensors[n : n + most], place) for n in range(0, len(tensors), most)]
    return _joined(tensors, place)


def _most_joined(extents: Sequence[SymExpr]) -> int:
    """Return the maximum number of tensors of these extents to concatenate at once."""
    return MOST_SYMBOLIC if begins_at_sums(extents) else MOST_JOINED


def begins_at_sums(extents: Sequence[SymExpr]) -> bool:
    """Return whether an element after tensors of these extents begins at a sum of many sizes."""
    return len({v for extent in extents for v in extent.free_vars()}) > _FEW_TERMS


def _joined(tensors: Sequence[Tensor], place: int) -> Tensor:
    starts: list[SymExpr] = [Const(0, tensors[0].dims[place].dtype)]
    for t in tensors:
        starts.append(add(starts[-1], t.dims[place]))
    dims = [*tensors[0].dims[:place], starts[-1], *tensors[0].dims[place + 1 :]]

    def element(i: Indices) -> PrimExpr:
        out = tensors[0](*i)
        for t, start in zip(tensors[1:], starts[1:], strict=False):
            at = i[place]
            own = t(*i[:place], at - from_sym(start), *i[place + 1 :])
            out = tx.if_then_else(tx.less_equal(from_sym(start), at), own, out)
        return out

    return over_axes(dims, element, "T_concat", "injective")


def split(a: Tensor, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """Split `a` along `axis`: into this many sections (of equal extent, rounded up), or at positions."""
    place = normalize_axis(axis, a.ndim)
    name = "T_split_sections" if isinstance(indices_or_sections, int) else "T_split"
    parts = sections(a.dims[place], indices_or_sections)
    return [_section(a, place, low, extent, name) for low, extent in parts]


def _section(a: Tensor, axis: int, low: SymExpr, extent: SymExpr, name: str) -> Tensor:
    dims = [*a.dims[:axis], extent, *a.dims[axis + 1 :]]
    return over_axes(dims, lambda i: a(*i[:axis], i[axis] + from_sym(low), *i[axis + 1 :]), name, "injective")


def take(a: Tensor, indices: Tensor | PrimExpr | int, axis: int | None = None, mode: str = "clip") -> Tensor:
    """Return the slices of `a` along `axis` (of flattened `a` if None) at `indices`.

    `mode` handles indices out of bounds: `fast` assumes that there are none; `clip`, `wrap`, or `nan` (fills with NaN).
    """
    if axis is None:
        a, axis = (a if a.ndim == 1 else flatten(a)), 0
    place = normalize_axis(axis, a.ndim)
    middle = indices.dims if isinstance(indices, Tensor) else ()
    bounded = _BOUNDED.get(mode)
    if bounded is None:
        raise unknown_name("mode of take", mode, _BOUNDED)

    def element(i: Indices) -> PrimExpr:
        at = indices(*i[place : place + len(middle)]) if isinstance(indices, Tensor) else tx.convert(indices)
        return bounded(a, i[:place], at, i[place + len(middle) :], a.dims[place])

    return over_axes([*a.dims[:place], *middle, *a.dims[place + 1 :]], element, "T_take", "injective")


def take_batched(a: Tensor, indices: Tensor, axis: int, batch_dims: int, mode: str = "clip") -> Tensor:
    """Compute `take` with `batch_dims` common leading dimensions. Raises `ShapeError` if they differ."""
    place = normalize_axis(axis, a.ndim)
    if not batch_dims <= min(place, indices.ndim):
        raise ShapeError(
            "take: the axis is one of the batch", expected=f"at most {place} batch dimensions", found=batch_dims
        )
    middle = indices.dims[batch_dims:]
    bounded = _BOUNDED.get(mode)
    if bounded is None:
        raise unknown_name("mode of take", mode, _BOUNDED)

    def element(i: Indices) -> PrimExpr:
        inner = i[place : place + len(middle)]
        at = indices(*i[:batch_dims], *inner)
        return bounded(a, i[:place], at, i[place + len(middle) :], a.dims[place])

    return over_axes([*a.dims[:place], *middle, *a.dims[place + 1 :]], element, "T_take", "injective")


def layout_transform(
    x: Tensor, dims: Sequence[SymExpr], source: Callable[[Sequence[PrimExpr]], Sequence[PrimExpr]], padded: bool
) -> Tensor:
    """Return the tensor of shape `dims` whose element i is that of `x` at source(i), or 0 outside `x` if `padded`."""

    def element(i: Indices) -> PrimExpr:
        at = source(i)
        if not padded:
            return x(*at)
        inside = tx.logical_and(*(tx.less(v, from_sym(d)) for v, d in zip(at, x.dims, strict=True)))
        return tx.if_then_else(inside, x(*at), tx.const(0, x.type))

    return over_axes(dims, element, "T_layout_trans", "injective")


def _take_fast(a: Tensor, before: Indices, at: PrimExpr, after: Indices, extent: SymExpr) -> PrimExpr:
    return a(*before, at, *after)


def _take_clip(a: Tensor, before: Indices, at: PrimExpr, after: Indices, extent: SymExpr) -> PrimExpr:
    return a(*before, tx.minimum(tx.maximum(0, at), from_sym(extent - 1)), *after)


def _take_wrap(a: Tensor, before: Indices, at: PrimExpr, after: Indices, extent: SymExpr) -> PrimExpr:
    size = from_sym(extent)
    return a(*before, tx.truncmod(tx.truncmod(at, size) + size, size), *after)


def _take_nan(a: Tensor, before: Indices, at: PrimExpr, after: Indices, extent: SymExpr) -> PrimExpr:
    inside = tx.logical_and(tx.less_equal(0, at), tx.less(at, from_sym(extent)))
    return tx.if_then_else(inside, a(*before, at, *after), tx.const(float("nan"), a.type))


_BOUNDED = {"fast": _take_fast, "clip": _take_clip, "wrap": _take_wrap, "nan": _take_nan}


__all__ = [
    "concatenate",
    "expand_dims",
    "flatten",
    "layout_transform",
    "reshape",
    "split",
    "squeeze",
    "take",
    "take_batched",
    "transpose",
]
