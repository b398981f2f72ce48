"""Reductions of consecutive parts of a tensor, and places in sorted rows."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from ..handles.tir import math_functions as m
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te.extern_body import Statements, filled
from ..te.tensor import Tensor
from .util import wide_type

_STARTS = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}


def _combined(kind: str, total: PrimExpr, x: PrimExpr) -> PrimExpr:
    """Return the reduction of one more element; extrema of NaN are NaN."""
    if kind in ("sum", "mean"):
        return total + x
    if kind == "prod":
        return total * x
    better = x > total if kind == "max" else x < total
    return tx.select(tx.logical_or(better, m.isnan(x)), x, total)


def segment_reduce(data: Tensor, offsets: Tensor, axis: int, kind: str, initial: float | None) -> Tensor:
    """Return the reduction of data[..., offsets[..., s] : offsets[..., s + 1], ...] along `axis` for each s.

    `kind` is sum, mean, prod, max or min; `initial` is the value of the reduction before the first element.
    """
    parts = offsets.dims[axis] - 1
    shape = [*data.dims[:axis], parts, *data.dims[axis + 1 :]]
    wide = wide_type(data.type)
    start = _STARTS[kind] if initial is None else initial

    def body(b: Statements, out: Tensor) -> None:
        with b.loops("i", shape, parallel=True) as i:
            before, part, after = i[:axis], i[axis], i[axis + 1 :]
            begin, end = b.let("begin", offsets(*before, part)), b.let("end", offsets(*before, part + 1))
            total = b.cell("total", wide, start)
            with b.loop("k", end - begin) as k:
                total.set(_combined(kind, total.value, data(*before, begin + k, *after).astype(wide)))
            count = b.let("count", end - begin)
            if kind == "mean":
                nothing = tx.const(math.nan if initial is None else start, wide)
                total.set(tx.select(count > 0, total.value / tx.maximum(count, 1).astype(wide), nothing))
            b.store(out, i, total.value.astype(data.type))

    return filled([("segment_reduce", shape, data.type)], [data, offsets], body, "segment_reduce")[0]


def insertion_places(ordered: Tensor, values: Tensor, dtype: Attribute, right: bool) -> Tensor:
    """Return where each value belongs in its sorted row: before equal elements, or after them if `right`.

    The rows are along the last dimension; `ordered` is one row for all values, or has the other dimensions of `values`.
    """
    extent = from_sym(ordered.dims[-1]).astype(i64)

    def body(b: Statements, out: Tensor) -> None:
        with b.loops("i", values.dims, parallel=True) as i:
            value = b.let("value", values(*i))
            low, high = b.cell("low", i64, 0), b.cell("high", i64, extent)
            with b.repeat_while(low.value < high.value):
                middle = b.let("middle", (low.value + high.value) >> 1)
                element = b.let("element", ordered(*(i[:-1] if ordered.ndim > 1 else ()), middle))
                before = element <= value if right else element < value
                with b.when(before):
                    low.set(middle + 1)
                with b.when(tx.logical_not(before)):
                    high.set(middle)
            b.store(out, i, low.value.astype(dtype))

    return filled([("insertion_places", values.dims, dtype)], [ordered, values], body, "insertion_places")[0]
