"""Properties of buffers: their alignment and element type, and the regions of them that a block accesses."""

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
    """Set the stride alignment of a buffer that `block` writes: the stride of `axis` is `offset` modulo `factor`
    elements.

    T.block("B")  ->  T.block("B"), T.block_attr({"buffer_dim_align": [[0, 0, 32, 8]]})

    Raises `ScheduleError` if the buffer is not allocated in a block, the axis is out of range, or the factor is not
    positive.
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
    """Return the list in an annotation, or an empty list if there is none."""
    known = st.annotations_of(block)
    return decode(known[key], []) if key in known else []


@primitive()
def unsafe_set_dtype(state: State, block: tir.BlockOp, buffer_index: int, dtype: str) -> None:
    """Change the element type of a buffer that `block` writes: values are converted when stored and when loaded.

    B[i] = A[i] * 2  ->  B[i] = T.Cast("float16", A[i] * 2), and B[i] elsewhere is T.Cast("float32", B[i])

    Windows of the buffer change with it. This is unsafe, because values may lose precision. Raises `ScheduleError`
    if the buffer is not allocated in a block, or has uses other than accesses of elements.
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
    """Convert `gen_new_ranges` to an index map from the iterators to the first index and end of each dimension in
    turn.
    """
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
    """Return the first index and end of a dimension, given as a pair or as a single index."""
    if isinstance(bounds, tuple | list):
        first, end = cast("Sequence[Any]", bounds)
        return first, end
    return bounds, bounds + 1


@primitive(adapt=_with_ranges)
def annotate_buffer_access(
    state: State, block: tir.BlockOp, buffer_index: int, buf_type: str, gen_new_ranges: IndexMapAttr
) -> None:
    """Set the region of a buffer that `block` accesses, overriding the region inferred from its body.

    gen_new_ranges = lambda i: [(i - 1, i + 2)]: T.reads(A[vi])  ->  T.reads(A[vi - 1:vi + 2])

    `buf_type` is `read` or `write`. The block gets an annotation, `explicit_read_region` or
    `explicit_write_region`, with a list of buffer indices, and these regions are no longer inferred. Raises
    `ScheduleError` if the number of dimensions does not match, or if an extent depends on more than sizes.
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
    """Remove regions from the declared reads or writes of `block`, although it accesses them.

    buf_index_array = [0]: T.reads(A[vi], B[vi])  ->  T.reads(B[vi])

    This is unsafe, because other primitives no longer see these accesses. Raises `ScheduleError` if an index is out
    of range.
    """
    known = buffers_of(block, buf_type)
    for index in buf_index_array:
        nth(block, known, index, f"{buf_type}s")
    regions = block.reads if buf_type == "read" else block.writes
    for index in sorted(set(buf_index_array)):
        erase_with_tree(regions[index])
