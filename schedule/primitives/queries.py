"""Queries for blocks and loops."""

from __future__ import annotations

from typing import Any

from ...diagnostics import suggestion
from ...dialects import tir
from .. import state as st
from ..registry import primitive
from ..state import BlockLike, ScheduleError, State, fail


class _UnknownBlockError(ScheduleError):
    brief = "Cannot find a block with the specified name"


def _with_function(schedule: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Fill in the default of `func_name`, which is recorded in the trace as in TVM."""
    return {**arguments, "func_name": schedule.function(arguments["func_name"]).sym_name.data}


@primitive(adapt=_with_function)
def get_block(state: State, name: str, func_name: str | None = None) -> BlockLike:
    """Return the block `name` of the function `func_name` (by default the one worked on, `main`, or the only one).

    `root` is the root block. Raises `ScheduleError` if no block or more than one has the name.
    """
    func = state.function(func_name)
    blocks = [op for op in func.walk() if isinstance(op, tir.BlockOp) and op.block_name.data == name]
    if not blocks and name == "root":
        return func
    if not blocks:
        names = sorted({op.block_name.data for op in func.walk() if isinstance(op, tir.BlockOp)})
        raise _UnknownBlockError(
            f"Cannot find a block with the name: {name}",
            (func,),
            hint=suggestion(name, names) or f"known: {', '.join(names)}",
        )
    if len(blocks) > 1:
        fail(f"{len(blocks)} blocks are called {name}", *blocks)
    return blocks[0]


@primitive()
def get_loops(state: State, block: BlockLike) -> list[tir.ForOp]:
    """Return the loops around `block` in its scope, outermost first."""
    return [] if st.is_function(block) else st.loops_above(block)


@primitive()
def get_child_blocks(state: State, block_or_loop: BlockLike | tir.ForOp) -> list[tir.BlockOp]:
    """Return the blocks directly below a block or a loop, in order."""
    return st.blocks_below(block_or_loop)


@primitive()
def get_producers(state: State, block: tir.BlockOp) -> list[tir.BlockOp]:
    """Return the blocks before `block` in its scope that write what it reads."""
    return st.producers(block)


@primitive()
def get_consumers(state: State, block: tir.BlockOp) -> list[tir.BlockOp]:
    """Return the blocks after `block` in its scope that read what it writes."""
    return st.consumers(block)


@primitive()
def get_output_blocks(state: State, scope_block: BlockLike) -> list[tir.BlockOp]:
    """Return the blocks in a scope, also those in others, that write buffers which are not allocated in it."""
    inside = {op.results[0] for op in scope_block.walk() if isinstance(op, tir.AllocBufferOp)}
    blocks = [op for op in scope_block.walk() if isinstance(op, tir.BlockOp) and op is not scope_block]
    return [b for b in blocks if not set(st.buffers_written(b)) <= inside]
