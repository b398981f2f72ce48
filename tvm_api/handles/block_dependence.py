"""`tir.BlockDependenceInfo`: which blocks of a module depend on which."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Operation

from ...dialects import tir
from ...handles.module import IRModule
from ...handles.tir.block_views import Block
from ...handles.tir.prim_func import PrimFunc
from ...handles.tir.stmt import view_of
from ...schedule import state as st
from ...schedule.block_scope import BlockScope, ScheduleState
from ...schedule.trace import StmtSRef
from ...transforms.tir.walk import functions


class BlockDependenceInfo:
    """The blocks of a module with their dependences; the references to blocks skip the loops between them.

    Raises `TypeError` for what is neither a function nor a module.
    """

    def __init__(self, mod: PrimFunc | IRModule):
        if not isinstance(mod, PrimFunc | IRModule):
            raise TypeError(f"Expected `mod` to be PrimFunc or IRModule, but gets: {mod}")
        self._state = ScheduleState(mod)
        self._copies: dict[Operation, Operation] = {}
        if isinstance(mod, PrimFunc):  # a module has a copy of it
            (func,) = functions(self._state.mod.op)
            self._copies = dict(zip(mod.op.walk(), func.walk(), strict=True))

    @property
    def mod(self) -> IRModule:
        """The module."""
        return self._state.mod

    def get_sref(self, block: Block) -> StmtSRef:
        """Return the reference to a block. Raises `TiraxError` for a block of another module."""
        copy = self._copies.get(block.op)
        return self._state.get_sref(block if copy is None else view_of(Block, copy))

    def get_block_scope(self, block_sref: StmtSRef) -> BlockScope:
        """Return the dependences between the blocks in a block, or in the block around a loop."""
        op: Any = block_sref.op
        return BlockScope(st.scope_of(op) if isinstance(op, tir.ForOp) else op)


__all__ = ["BlockDependenceInfo"]
