"""Operators that repeat, flip and stack tensors, and the sum that reverses broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te import reduction as red
from ..te.axis import IterVar, shape_dims
from ..te.broadcast import Indices, over_axes
from ..te.tensor import Tensor
from .manipulation import MOST_JOINED, concatenate, reshape
from .util import divisor, normalize_axis, unit_like


def repeat(x: Tensor, repeats: int, axis: int | None = None) -> Tensor:
    """Repeat each element `repeats` times along `axis`, in flattened `x` if None."""
    if axis is None:
        x = x if x.ndim == 1 else reshape(x, [_count(x)])
    place = normalize_axis(axis or 0, x.ndim)
    dims = [d * repeats if n == place else d for n, d in enumerate(x.dims)]

    def element(i: Indices) -> PrimExpr:
        return x(*i[:place], tx.floordiv(i[place], divisor(Const(repeats, x.dims[place].dtype))), *i[place + 1 :])

    return over_axes(dims, element, "T_repeat", "broadcast")


def _count(x: Tensor) -> SymExpr:
    out: SymExpr = unit_like(x.dims)
    for d in x.dims:
        out = out * d
    return out


def tile(x: Tensor, repeats: Sequence[int]) -> Tensor:
    """Tile `x` `repeats` times in each dimension; the shorter of shape and `repeats` is padded with leading ones."""
    rank = max(x.ndim, len(repeats))
    old = [*([unit_like(x.dims)] * (rank - x.ndim)), *x.dims]
    counts = [*([1] * (rank - len(repeats))), *repeats]

    def element(i: Indices) -> PrimExpr:
        own = zip(i[rank - x.ndim :], x.dims, strict=True)
        return x(*(tx.floormod(v, divisor(d)) for v, d in own))

    return over_axes([d * c for d, c in zip(old, counts, strict=True)], element, "T_tile", "broadcast")


def flip(a: Tensor, axis: int = 0) -> Tensor:
    """Reverse `a` along `axis`."""
    place = normalize_axis(axis, a.ndim)
    last = from_sym(a.dims[place] - 1) if a.ndim else None

    def element(i: Indices) -> PrimExpr:
        return a() if last is None else a(*i[:place], last - i[place], *i[place + 1 :])

    return over_axes(a.dims, element, "T_reverse_sequence", "injective")


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Stack tensors of the same shape along a new dimension."""
    first = tensors[0]
    place = normalize_axis(axis, first.ndim + 1)
    if len(tensors) > MOST_JOINED:
        groups = (tensors[n : n + MOST_JOINED] for n in range(0, len(tensors), MOST_JOINED))
        return concatenate([stack(group, place) for group in groups], place)
    unit = unit_like(first.dims)
    dims = [*first.dims[:place], unit * len(tensors), *first.dims[place:]]

    def element(i: Indices) -> PrimExpr:
        rest = (*i[:place], *i[place + 1 :])
        out = first(*rest)
        for n, t in enumerate(tensors[1:], 1):
            out = tx.if_then_else(tx.equal(i[place], n), t(*rest), out)
        return out

    return over_axes(dims, element, "T_stack", "injective")


def meshgrid(tensors: Sequence[Tensor], indexing: str = "ij") -> list[Tensor]:
    """Repeat each vector along the dimensions of the others; `xy` swaps the first two dimensions."""
    order = list(range(len(tensors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    dims = [tensors[n].dims[0] for n in order]

    def grid(n: int) -> Tensor:
        return over_axes(dims, lambda i: tensors[n](i[order.index(n)]), "T_meshgrid", "injective")

    return [grid(n) for n in range(len(tensors))]


def collapse_sum(data: Tensor, target_shape: Any) -> Tensor:
    """Sum `data` over the dimensions that broadcasting `target_shape` to the shape of `data` repeats."""
    target = shape_dims(target_shape)
    skipped = data.ndim - len(target)
    kept = {n for n in range(skipped, data.ndim) if target[n - skipped].constant != 1 or data.dims[n].constant == 1}
    axes = [n for n in range(data.ndim) if n not in kept]
    ks = {n: IterVar(f"k{n}", Const(0, data.dims[n].dtype), data.dims[n], is_reduction=True) for n in axes}

    def element(i: Indices) -> Any:
        own = [ks[n] if n in ks else i[n - skipped] for n in range(data.ndim)]
        return red.sum(data(*own), axis=list(ks.values()))

    return over_axes(target, element, f"{data.name}_red", "comm_reduce")


__all__ = ["collapse_sum", "flip", "meshgrid", "repeat", "stack", "tile"]
