"""Indexed writes, one update after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..diagnostics import unknown_name
from ..dialects.sym.expr import SymExpr
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te.broadcast import Indices, broadcast_indices, broadcast_shapes
from ..te.extern_body import Statements, filled
from ..te.tensor import Tensor
from .util import normalize_axis, wide_type

_TWO = 2


def _mean(old: PrimExpr, new: PrimExpr) -> PrimExpr:
    return tx.div(old + new, tx.const(_TWO, old.type))


REDUCTIONS: dict[str, Callable[[PrimExpr, PrimExpr], PrimExpr]] = {
    "update": lambda _old, new: new,
    "add": tx.add,
    "mul": tx.multiply,
    "mean": _mean,
    "max": tx.maximum,
    "min": tx.minimum,
}
"""Functions that combine the old value with an update, by name."""
_ACCUMULATING = frozenset(("add", "mul", "mean"))


def _written(
    data: Tensor,
    inputs: Sequence[Tensor],
    dims: Sequence[SymExpr],
    place: Callable[[Indices], Sequence[PrimExpr]],
    update: Callable[[Indices], PrimExpr],
    reduction: str,
    name: str,
) -> Tensor:
    """Return a copy of `data` with `update(i)` written at `place(i)`, for each `i` of `dims` in order.

    16-bit sums accumulate in a float32 copy, which is rounded at the end.
    """
    wide = wide_type(data.type) if reduction in _ACCUMULATING else data.type

    def body(b: Statements, out: Tensor, *copies: Tensor) -> None:
        sums = copies[0] if copies else out
        with b.loops("c", data.dims, parallel=True) as c:
            b.store(sums, c, data(*c).astype(wide))
        with b.loops("i", dims) as i:
            at = place(i)
            b.store(sums, at, REDUCTIONS[reduction](sums(*at), update(i).astype(wide)))
        if copies:
            with b.loops("c", data.dims, parallel=True) as c:
                b.store(out, c, sums(*c).astype(data.type))

    specs = [("out_buf", data.dims, data.type)] + ([("sums", data.dims, wide)] if wide != data.type else [])
    return filled(specs, [data, *inputs], body, name)[0]


def _wrapped(value: PrimExpr, extent: SymExpr) -> PrimExpr:
    """Return an index with negative values counted from the end."""
    index = value.astype(extent.dtype)
    return tx.select(tx.less(index, 0), index + from_sym(extent), index)


def scatter_elements(data: Tensor, indices: Tensor, updates: Tensor, axis: int, reduction: str) -> Tensor:
    """Write each update at its own position in `data`, with the coordinate along `axis` replaced by the index."""
    place = normalize_axis(axis, data.ndim)

    def at(i: Indices) -> list[PrimExpr]:
        return [*i[:place], _wrapped(indices(*i), data.dims[place]), *i[place + 1 :]]

    return _written(
        data, [indices, updates], indices.dims, at, lambda i: updates(*i), reduction, "scatter_elements_generic"
    )


def known_reduction(name: str) -> str:
    """Return `name`. Raises `NameLookupError` if it is not in `REDUCTIONS`."""
    if name not in REDUCTIONS:
        raise unknown_name("reduction", name, REDUCTIONS)
    return name


def scatter_nd_first(data: Tensor, indices: Tensor, updates: Tensor, reduction: str) -> Tensor:
    """Compute `scatter_nd` with the positions in the first dimension of `indices`."""
    depth, outer = indices.dims[0].constant or 0, indices.ndim - 1

    def at(i: Indices) -> list[PrimExpr]:
        return [*(_wrapped(indices(n, *i[:outer]), data.dims[n]) for n in range(depth)), *i[outer:]]

    dims = [*indices.dims[1:], *data.dims[depth:]]
    return _written(data, [indices, updates], dims, at, lambda i: updates(*i), reduction, "scatter_nd_generic")


def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, reduction: str) -> Tensor:
    """Write slices of `updates` to `data` at the positions in the last dimension of `indices`."""
    depth, outer = indices.dims[-1].constant or 0, indices.ndim - 1

    def at(i: Indices) -> list[PrimExpr]:
        return [*(_wrapped(indices(*i[:outer], n), data.dims[n]) for n in range(depth)), *i[outer:]]

    dims = [*indices.dims[:-1], *data.dims[depth:]]
    return _written(data, [indices, updates], dims, at, lambda i: updates(*i), reduction, "scatter_nd_generic")


def index_put(data: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool) -> Tensor:
    """Compute data[indices] = values (+= if `accumulate`): the indices broadcast, and so do the values."""
    shape = broadcast_shapes([t.dims for t in indices])
    dims = [*shape, *data.dims[len(indices) :]]

    def at(i: Indices) -> list[PrimExpr]:
        own = i[: len(shape)]
        return [
            *(_wrapped(t(*broadcast_indices(t.dims, own, shape)), data.dims[n]) for n, t in enumerate(indices)),
            *i[len(shape) :],
        ]

    def update(i: Indices) -> PrimExpr:
        return values(*broadcast_indices(values.dims, i, dims))

    reduction = "add" if accumulate else "update"
    return _written(data, [*indices, values], dims, at, update, reduction, "index_put_generic")
