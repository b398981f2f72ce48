"""Arguments of primitives as users write them: buffers by name, index maps and paddings as functions.

An adapter converts them to the form stored in a trace: a buffer is `["write", 0]`, an index map is an
`IndexMapAttr` over indices of the block's integer type, and a padding is `["float32", 0.0]`, an index map with one
integer result, or the text of a lambda.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import IntegerType, i64
from xdsl.ir import Operation, SSAValue

from ..diagnostics import TiraxError
from ..dialects import tir
from ..dialects.dtypes import dtype_name
from ..dialects.names import name_of
from ..dialects.sym import IndexMapAttr, IndexMapping
from ..handles.tir.buffers import Buffer
from ..handles.tir.index_map import IndexMap, index_mapping, retyped_mapping
from ..handles.tir.prim_expr import PrimExpr
from . import state as st
from .padding import text_of
from .registry import Adapter
from .state import BufferIndexError, ScheduleError, fail

if TYPE_CHECKING:
    from .schedule import Schedule

Arguments = dict[str, Any]
SIDES = ("read", "write")
"""The regions of a block by which its buffers are numbered."""


def buffers_of(block: tir.BlockOp, side: str) -> list[SSAValue]:
    """Return the buffers that a block reads or writes. Raises `TiraxError` if `side` is neither."""
    if side not in SIDES:
        raise TiraxError("which regions of the block?", expected='"read" or "write"', found=side)
    return st.buffers_read(block) if side == "read" else st.buffers_written(block)


def buffer_at(block: tir.BlockOp, buffer: Sequence[Any]) -> SSAValue:
    """Return the buffer denoted by `["write", 0]`. Raises `ScheduleError` if the index is out of range."""
    if isinstance(buffer, str) or len(buffer) != 2 or not isinstance(buffer[1], int):
        raise TiraxError("which buffer of the block?", expected='["read", k] or ["write", k]', found=buffer)
    side, index = buffer
    return nth(block, buffers_of(block, side), index, f"{side}s")


def nth(block: tir.BlockOp, buffers: Sequence[SSAValue], index: int, what: str) -> SSAValue:
    """Return the buffer at `index`. Raises `BufferIndexError` if the index is out of range."""
    if not 0 <= index < len(buffers):
        rule, expected = f"the block {what} {len(buffers)} buffers", f"an index below {len(buffers)}"
        raise BufferIndexError(rule, [block], expected=expected, found=index)
    return buffers[index]


def with_buffer(schedule: Schedule, arguments: Arguments) -> Arguments:
    """Convert `buffer` to `["read", k]` or `["write", k]`; it may be passed in this form, by name, or as the buffer."""
    block = schedule.operation(arguments["block"])
    return {**arguments, "buffer": _buffer(block, arguments["buffer"])}


BufferIndex = int
"""The index of a buffer among those that a block reads or writes; users may pass a name or the buffer instead."""


def with_index(name: str, side: str) -> Adapter:
    """Return an adapter that converts the argument `name` to the index of a buffer; it may be passed as a buffer
    name.
    """

    def adapt(schedule: Schedule, arguments: Arguments) -> Arguments:
        if isinstance(arguments[name], int):
            return arguments
        accessed_side, index = _buffer(schedule.operation(arguments["block"]), arguments[name], (side,))
        assert accessed_side == side
        return {**arguments, name: index}

    return adapt


def compose(*adapters: Adapter) -> Adapter:
    """Return an adapter that applies these adapters in order."""

    def adapt(schedule: Schedule, arguments: Arguments) -> Arguments:
        for one in adapters:
            arguments = one(schedule, arguments)
        return arguments

    return adapt


def _buffer(block: tir.BlockOp, choice: Any, sides: Sequence[str] = SIDES) -> list[Any]:
    if isinstance(choice, tuple | list):
        side, index = choice
        buffers_of(block, side)
        return [side, int(index)]
    name = choice.name if isinstance(choice, Buffer) else str(choice)
    places = {
        buffer: [side, k]
        for side in sides
        for k, buffer in enumerate(buffers_of(block, side))
        if name_of(buffer) == name
    }
    if len(places) != 1:
        known = sorted({str(name_of(b)) for side in sides for b in buffers_of(block, side)})
        fail(f"the block accesses {len(places)} buffers called {name}", block, expected=known, found=name)
    return next(iter(places.values()))


def with_index_map(schedule: Schedule, arguments: Arguments) -> Arguments:
    """Convert `index_map`, over the iterators of the block."""
    block = schedule.operation(arguments["block"])
    mapping = typed_map(arguments["index_map"], index_dtype(block), len(block.iter_vars))
    return {**arguments, "index_map": IndexMapAttr(mapping)}


def with_layout(schedule: Schedule, arguments: Arguments) -> Arguments:
    """Convert `buffer`, `index_map` over its indices, and `pad_value`."""
    arguments = with_buffer(schedule, arguments)
    block = schedule.operation(arguments["block"])
    buffer = buffer_at(block, arguments["buffer"])
    buffer_type, dtype = cast(tir.BufferType, buffer.type), index_dtype(block)
    mapping = typed_map(arguments["index_map"], dtype, buffer_type.rank, marked=True)
    padding = _padding(arguments["pad_value"], buffer, dtype, len(mapping.results))
    return {**arguments, "index_map": IndexMapAttr(mapping), "pad_value": padding}


def separators_of(schedule: Schedule, arguments: Arguments) -> list[int]:
    """Return the positions of `IndexMap.AXIS_SEPARATOR` among the results of the function `index_map`."""
    function = arguments["index_map"]
    if not _is_function(function):
        return []
    block = schedule.operation(arguments["block"])
    rank = cast(tir.BufferType, buffer_at(block, _buffer(block, arguments["buffer"])).type).rank
    return IndexMap.from_func_with_separators(function, rank, index_dtype=dtype_name(index_dtype(block)))[1]


def index_dtype(block: tir.BlockOp) -> IntegerType:
    """Return the integer type of a block's iterators, or without iterators that of the extents of its buffers."""
    if block.iter_vars:
        return cast(IntegerType, block.iter_vars[0].type)
    regions = [*block.writes, *block.reads]
    dims = [d for r in regions for d in cast(tir.BufferType, r.buffer.type).dims]
    return dims[0].dtype if dims else i64


def checked_map(block: tir.BlockOp, value: Any) -> IndexMapping:
    """Return the index map stored in a trace, over indices of the block's integer type.

    Raises `TiraxError` if it is invalid.

    A hand-written trace may contain one over indices of another type.
    """
    return retyped_mapping(index_mapping(value), index_dtype(block))


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, IndexMap | IndexMapping | IndexMapAttr)


def typed_map(value: Any, dtype: IntegerType, rank: int, *, marked: bool = False) -> IndexMapping:
    """Convert a value to an index map over indices of `dtype`. Raises `TiraxError` if that is not possible.

    With `marked`, the results of a function may include axis separators, which `separators_of` returns.
    """
    if _is_function(value):
        build = _unmarked if marked else IndexMap.from_func
        mapping = build(value, rank, index_dtype=dtype_name(dtype)).mapping
    else:
        mapping = retyped_mapping(index_mapping(value), dtype)
    if len(mapping.params) != rank:
        raise TiraxError("the index map has another number of indices", expected=rank, found=len(mapping.params))
    return mapping


def _unmarked(function: Callable[..., Any], rank: int, *, index_dtype: str) -> IndexMap:
    return IndexMap.from_func_with_separators(function, rank, index_dtype=index_dtype)[0]


def _padding(padding: Any, buffer: SSAValue, dtype: IntegerType, rank: int) -> list[Any] | IndexMapAttr | str | None:
    """Convert a padding: None, a constant of the element type, or a function of the new indices (text unless integer).

    Raises `ScheduleError` if it reads a buffer other than the padded one.
    """
    element = dtype_name(cast(tir.BufferType, buffer.type).dtype)
    if padding is None or isinstance(padding, str):
        return padding
    if not callable(padding) and not isinstance(padding, IndexMap):
        return _constant(padding, element)
    if isinstance(padding, IndexMap):
        return IndexMapAttr(typed_map(padding, dtype, rank))
    others: list[list[Any] | str] = []

    @functools.wraps(padding)
    def catching(*indices: Any) -> Any:
        value = padding(*indices)
        (value,) = value if isinstance(value, tuple | list) else (value,)
        _refuse_other_buffers(value, buffer)
        known = value.constant if isinstance(value, PrimExpr) else value
        if isinstance(known, int | float):
            others.append(_constant(value, element))
        elif isinstance(value, PrimExpr) and not isinstance(value.type, IntegerType):
            others.append(text_of(indices, value))
        return 0 if others else value

    mapping = IndexMap.from_func(catching, rank, index_dtype=dtype_name(dtype)).mapping
    return others[0] if others else IndexMapAttr(mapping)


def _refuse_other_buffers(value: Any, buffer: SSAValue) -> None:
    ops = [value.ssa.owner] if isinstance(value, PrimExpr) else []
    while ops:
        op = ops.pop()
        if isinstance(op, tir.LoadOp) and op.buffer is not buffer:
            raise ScheduleError(
                "the padding reads another buffer", expected=name_of(buffer) or "the buffer", found=name_of(op.buffer)
            )
        ops += [v.owner for v in op.operands] if isinstance(op, Operation) else []


def _constant(number: Any, element: str) -> list[Any]:
    """Return a constant of the element type. Raises `ScheduleError` if the value has another type."""
    value = number.constant if isinstance(number, PrimExpr) else number
    dtype = number.dtype if isinstance(number, PrimExpr) else type(number).__name__
    fits = dtype == element or (not isinstance(number, PrimExpr) and isinstance(value, float) == ("float" in element))
    if not isinstance(value, int | float) or not fits:
        raise ScheduleError("the padding is of another type than the elements", expected=element, found=dtype)
    return [element, value]
