"""Buffer accesses through handles: `A[i, j]`, `A.vload`, `A.access_ptr`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from ...diagnostics import ShapeError, TiraxError
from ...dialects import tir
from ...dialects.dtypes import dtype_of, lanes_of, scalar_of
from ...dialects.names import set_name
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, SymExpr, mul, product, sum_of, terms_of
from ...dialects.sym.expr import offset_of as offset_in
from ..array import Array
from . import prim_expr as tx
from .buffers import Buffer
from .domains import BufferRegion, Range
from .expr_kinds import CLASSES, dim_node
from .prim_expr import PrimExpr
from .storage import BufferStore


def _listed(buffer: Buffer, indices: Any) -> list[Any]:
    listed = list(cast("Sequence[Any]", indices)) if isinstance(indices, tuple | list) else [indices]
    if len(listed) != len(buffer.type.dims):
        raise ShapeError("wrong number of indices", expected=len(buffer.type.dims), found=len(listed))
    return listed


def element_or_region(buffer: Buffer, indices: Any) -> Any:
    """Index a buffer: `A[i, j]` is an element, `A[i, 0:4]` a vector, `A[0:n, 0:4]` a region."""
    items = _listed(buffer, indices)
    if not any(isinstance(i, slice) for i in items):
        return CLASSES["BufferLoad"](buffer, items)
    ranges = [_range(i, dim_node(d)) for i, d in zip(items, buffer.type.dims, strict=True)]
    if any(isinstance(i, slice) for i in items[:-1]):
        return BufferRegion(buffer, ranges)
    step = items[-1].step or 1
    count = ranges[-1].extent.constant
    if not isinstance(count, int):
        return BufferRegion(buffer, ranges)
    return CLASSES["BufferLoad"](buffer, [*items[:-1], CLASSES["Ramp"](ranges[-1].min, step, -(-count // step))])


def _range(index: Any, extent: PrimExpr) -> Range:
    if not isinstance(index, slice):
        return Range.from_min_extent(index, tx.const(1, extent.type))
    return Range(0 if index.start is None else index.start, extent if index.stop is None else index.stop)


def _place(buffer: Buffer, begin: Any, lanes: int) -> list[Any]:
    """Return the indices of `lanes` elements from `begin` on."""
    items = _listed(buffer, begin)
    is_vector = isinstance(items[-1], PrimExpr) and lanes_of(items[-1].type) > 1 if items else True
    return items if lanes == 1 or is_vector else [*items[:-1], CLASSES["Ramp"](items[-1], 1, lanes)]


def vector_load(buffer: Buffer, begin: Any, dtype: str | None = None, predicate: PrimExpr | None = None) -> PrimExpr:
    """Return `A.vload([i, 0], "float32x4")`; `predicate` masks the lanes."""
    element = buffer.type.dtype if dtype is None else dtype_of(dtype)
    if scalar_of(element) != buffer.type.dtype:
        raise TiraxError("the buffer is of another dtype", expected=buffer.dtype, found=dtype)
    return CLASSES["BufferLoad"](buffer, _place(buffer, begin, lanes_of(element)), predicate)


def vector_store(buffer: Buffer, begin: Any, value: Any, predicate: PrimExpr | None = None) -> BufferStore:
    """Return `A.vstore([i, 0], v)`; `predicate` masks the lanes."""
    stored = value if isinstance(value, PrimExpr) else tx.const(value, buffer.type.dtype)
    return BufferStore(buffer, stored, _place(buffer, begin, lanes_of(stored.type)), predicate)


def _span(t: tir.BufferType, start: PrimExpr) -> PrimExpr:
    """Return the number of elements of memory that a buffer spans from `start` on, including row padding.

    For padded rows it is written as the number of rows times their stride.
    """
    strides = t.explicit_strides
    if strides:
        return tx.from_sym(strides[0]) * tx.from_sym(t.dims[0]) - start
    return tx.simplified(tx.from_sym(product(t.dims)) - start)


def access_ptr(
    buffer: Buffer,
    access_mask: str | int,
    ptr_type: str = "handle",
    content_lanes: int = 1,
    offset: Any = 0,
    extent: Any = None,
) -> PrimExpr:
    """Return the address of a part of the buffer, from `offset` on, for reading (`r`), writing (`w`) or both."""
    if content_lanes != 1:
        raise TiraxError("an address is of elements", expected="content_lanes=1", found=content_lanes)
    mask = access_mask
    bits = sum(bit for letter, bit in (("r", 1), ("w", 2)) if letter in mask) if isinstance(mask, str) else mask
    start = tx.convert(offset)
    count = _span(buffer.type, start) if extent is None else tx.convert(extent)
    if buffer.type.elem_offset is not None:
        start = tx.from_sym(buffer.type.elem_offset) + start
    annotation = tir.CallIntrinOp("type_annotation", [], buffer.type.dtype).result
    values: list[SSAValue] = [annotation, buffer.data.ssa, start.ssa, count.ssa, tx.const(bits).ssa]
    return PrimExpr(tir.CallIntrinOp("tvm_access_ptr", values, tir.HANDLE).result)


def offset_of(buffer: Buffer, indices: Any) -> PrimExpr:
    """Return the sum of indices times strides plus the buffer's offset, simplified: split indices of one number are
    recombined.

    Terms are sorted by decreasing stride, otherwise by the order of the indices.
    """
    t = buffer.type
    out = (Const(0, t.dims[0].dtype) if t.dims else Const(0, i32)) if t.elem_offset is None else t.elem_offset
    for index, stride in zip(_listed(buffer, indices), t.layout_strides(), strict=True):
        expr = tx.as_sym(tx.convert(index))
        for term, factor in terms_of(expr):
            out = out + mul(term, stride) * factor
        out = out + stride * offset_in(expr)
    return tx.from_sym(_furthest_first(Analyzer().simplify(out)))


def _furthest_first(e: SymExpr) -> SymExpr:
    """j * 8 + i * 32 -> i * 32 + j * 8"""
    return sum_of(sorted(terms_of(e), key=lambda part: -part[1]), offset_in(e), e.dtype)


def flattened(buffer: Buffer) -> Buffer:
    """Return a flat buffer over the same memory, with one dimension per group of axes between separators.

    A buffer that is already flat is returned unchanged. A group of strided axes is as long as its first axis spans.
    """
    t = buffer.type
    cuts = [0, *(s.data for s in t.separators), t.rank]
    runs = [range(a, b) for a, b in pairwise(cuts)]
    strides = t.explicit_strides
    if len(runs) == t.rank and strides is None:
        return buffer
    shape = [product(t.dims[r.start : r.stop]) if strides is None else strides[r.start] * t.dims[r.start] for r in runs]
    flat = t.with_shape(shape).with_separators(range(1, len(runs)))
    value = tir.DeclBufferOp(buffer.data.ssa, flat).result
    set_name(value, buffer.name)
    return Buffer(value)


Buffer.__getitem__ = element_or_region
Buffer.vload = vector_load
Buffer.vstore = vector_store
Buffer.access_ptr = access_ptr
Buffer.offset_of = lambda buffer, indices: Array([offset_of(buffer, indices)])
Buffer.get_flattened_buffer = flattened
