"""What is said of buffers: their alignment and element type, and which regions of them a block accesses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from ...diagnostics import TiraxError
from ...dialects import tir
from ...dialects.dtypes import dtype_name, dtype_of
from ...dialects.names import name_of
from ...dialects.sched import decode, encode
from ...dialects.sym import IndexMapAttr, IndexMapping
from ...dialects.sym.expr import SymExpr, Var, as_expr
from ...dialects.tir import BufferType
from ...handles.tir.index_map import IndexMap
from ...handles.tir.prim_expr import PrimExpr
from ...ir.affine.values import Materializer, sym_expr_of
from ...transforms.tir.walk import erase_with_tree
from .. import state as st
from ..accesses import accesses_with_windows, change_type, change_window, require_allocated, windows_of
from ..arguments import buffers_of, checked_map, index_dtype, nth
from ..registry import primitive
from ..rewrite import before
from ..state import State, fail

if TYPE_CHECKING:
    from ..schedule import Schedule

ALIGN = "buffer_dim_align"
"""The annotation of `storage_align`: a list of [index of the written buffer, axis, factor, offset]."""


@primitive()
def storage_align(state: State, block: tir.BlockOp, buffer_index: int, axis: int, factor: int, offset: int) -> None:
    """Ask for strides of a buffer that `block` writes: that of `axis` is `offset` modulo `factor`, in elements.

    T.block("B")  ->  T.block("B"), T.block_attr({"buffer_dim_align": [[0, 0, 32, 8]]})

    Refused where the buffer is not allocated in a block, the axis is none of it, or the factor is not positive.
    """
    buffer = nth(block, buffers_of(block, "write"), buffer_index, "writes")
    rank = cast(BufferType, buffer.type).rank
    if factor <= 0:
        fail("the factor of an alignment is positive", block, found=factor)
    if not -rank <= axis < rank:
        fail(f"the buffer {name_of(buffer)} has no such axis", block, expected=f"{-rank} to {rank - 1}", found=axis)
    require_allocated(block, buffer)
    place = [buffer_index, axis % rank]
    new = [*place, factor, offset]
    rows = [new if r[:2] == place else r for r in _noted(block, ALIGN)]
    st.annotate(block, {ALIGN: encode(rows if new in rows else [*rows, new], [])})


def _noted(block: tir.BlockOp, key: str) -> list[Any]:
    """The list that an annotation holds, empty where there is none."""
    known = st.annotations_of(block)
    return decode(known[key], []) if key in known else []


@primitive()
def unsafe_set_dtype(state: State, block: tir.BlockOp, buffer_index: int, dtype: str) -> None:
    """Store what `block` writes as another type of elements: values are converted when stored and when read.

    B[i] = A[i] * 2  ->  B[i] = T.Cast("float16", A[i] * 2), and B[i] elsewhere is T.Cast("float32", B[i])

    Windows of the buffer change with it. Unsafe: what is stored may lose precision. Refused where the buffer is not
    allocated in a block, or is used by more than accesses of elements.
    """
    buffer = nth(block, buffers_of(block, "write"), buffer_index, "writes")
    require_allocated(block, buffer)
    old, new = cast(BufferType, buffer.type).dtype, dtype_of(dtype)
    accesses = accesses_with_windows(buffer)
    if old == new:
        return
    windows = windows_of(buffer)
    change_type(buffer, dtype=new)
    for window in windows:
        change_window(window, dtype=new)
    for op in accesses:
        if isinstance(op, tir.StoreOp):
            cast_op = tir.CastOp(op.value, new)
            before(op)(cast_op)
            op.operands[0] = cast_op.result
        else:
            load = tir.LoadOp(op.buffer, list(op.indices))
            back = tir.CastOp(load.result, old)
            before(op)(load)
            before(op)(back)
            op.result.replace_all_uses_with(back.result)
            erase_with_tree(op)


def _with_ranges(schedule: Schedule, arguments: dict[str, Any]) -> dict[str, Any]:
    """`gen_new_ranges` as an index map from the iterators to first index and end of each dimension, by turns."""
    block, ranges = schedule.operation(arguments["block"]), arguments["gen_new_ranges"]
    if isinstance(ranges, IndexMapAttr):
        return arguments
    if not callable(ranges):
        raise TiraxError("gen_new_ranges is a function of the block's iterators", found=type(ranges).__name__)
    dtype = index_dtype(block)
    params = tuple(Var(name_of(v) or f"v{k}", dtype) for k, v in enumerate(block.iter_vars))

    def results(*indices: PrimExpr) -> list[Any]:
        return [e for r in cast("Sequence[Any]", ranges(*indices)) for e in _range(r)]

    mapping = IndexMap.from_func(results, len(params), index_dtype=dtype_name(dtype)).mapping
    renamed = dict(zip(mapping.params, params, strict=True))
    new = IndexMapping(params, tuple(r.substitute(renamed) for r in mapping.results))
    return {**arguments, "gen_new_ranges": IndexMapAttr(new)}


def _range(bounds: Any) -> tuple[Any, Any]:
    """One dimension: a first index and an end, or one index."""
    if isinstance(bounds, tuple | list):
        first, end = cast("Sequence[Any]", bounds)
        return first, end
    return bounds, bounds + 1


@primitive(adapt=_with_ranges)
def annotate_buffer_access(
    state: State, block: tir.BlockOp, buffer_index: int, buf_type: str, gen_new_ranges: IndexMapAttr
) -> None:
    """Say which region of a buffer `block` accesses, where that is not what is seen from its body.

    gen_new_ranges = lambda i: [(i - 1, i + 2)]: T.reads(A[vi])  ->  T.reads(A[vi - 1:vi + 2])

    `buf_type` is `read` or `write`. The block gets an annotation, `explicit_read_region` or `explicit_write_region`, a
    list of the buffers' indices, and the region is not inferred any more. Refused where the number of dimensions is
    another one, or an extent is no expression of sizes.
    """
    buffer = nth(block, buffers_of(block, buf_type), buffer_index, f"{buf_type}s")
    mapping = checked_map(block, gen_new_ranges)
    rank = cast(BufferType, buffer.type).rank
    if len(mapping.results) != 2 * rank:
        fail("there is a range for each dimension of the buffer", block, expected=rank, found=len(mapping.results) // 2)
    ends = mapping.apply([sym_expr_of(v) for v in block.iter_vars])
    region = (block.reads if buf_type == "read" else block.writes)[buffer_index]
    build = Materializer(before(region))
    starts = [build(e) for e in ends[::2]]
    extents = [_extent(block, first, end) for first, end in zip(ends[::2], ends[1::2], strict=True)]
    explicit = tir.ReadsOp(buffer, starts, extents) if buf_type == "read" else tir.WritesOp(buffer, starts, extents)
    before(region)(explicit)
    erase_with_tree(region)
    _mark_explicit(block, f"explicit_{buf_type}_region", buffer_index)


def _extent(block: tir.BlockOp, first: SymExpr, end: SymExpr) -> SymExpr:
    extent = end - first
    if any(v.value is not None for v in extent.free_vars()):
        fail("the extent of a region is an expression of sizes", block, found=extent)
    return as_expr(extent)


def _mark_explicit(block: tir.BlockOp, key: str, index: int) -> None:
    st.annotate(block, {key: encode(sorted({*_noted(block, key), index}), [])})


@primitive()
def unsafe_hide_buffer_access(state: State, block: tir.BlockOp, buf_type: str, buf_index_array: Sequence[int]) -> None:
    """Take regions out of what `block` says that it reads or writes, though it accesses them.

    buf_index_array = [0]: T.reads(A[vi], B[vi])  ->  T.reads(B[vi])

    Unsafe: other primitives do not see these accesses any more. Refused where there is no region of an index.
    """
    known = buffers_of(block, buf_type)
    for index in buf_index_array:
        nth(block, known, index, f"{buf_type}s")
    regions = block.reads if buf_type == "read" else block.writes
    for index in sorted(set(buf_index_array)):
        erase_with_tree(regions[index])
