"""`RewriteLayout`, as in TVM: weights are copied into the layout in which the loops of their reader go over them."""

from __future__ import annotations

from typing import cast

from xdsl.ir import Operation, SSAValue

from ...diagnostics import TiraxError
from ...dialects import tir
from ...dialects.quick import operations
from ...handles.tir import prim_expr as tx
from ...handles.tir.block_views import BlockRealize
from ...handles.tir.buffers import Buffer
from ...handles.tir.control_flow import For
from ...handles.tir.expr_kinds import expr_node
from ...handles.tir.index_map import IndexMap
from ...handles.tir.stmt import stmt_of
from ...ir.locations import location_of
from ...schedule import BlockRV, Schedule, ScheduleError
from ...schedule import state as st
from ...transforms.layout.attributes import layout_free
from ...transforms.layout.split_layout_rewrite_preproc import MARK
from ...transforms.tir.walk import functions
from ...tuning import postprocessors as po
from ..handles.suggested_layout import suggest_index_map
from ..handles.tir_functor import substitute

_ANNOTATION = "layout_free_placeholders"


class RewriteLayout(po.RewriteLayout):
    """Copy each weight of a function (`layout_free_buffers`) into the order in which its reader reads it.

    A chain of copies of a weight gets that layout, too. Raises `TiraxError` for a weight that is read outside of all
    blocks.
    """

    def apply(self, sch: Schedule) -> bool:
        for func in functions(sch.mod.op):
            name = func.sym_name.data
            for buffer in _weights(func):
                if not _order(sch, name, buffer):
                    return False
        return True


def _weights(func: tir.FuncOp) -> list[SSAValue]:
    found: dict[SSAValue, None] = dict.fromkeys(func.params[position] for position in layout_free(func))
    for block in operations(func):
        notes = block.annotations if isinstance(block, tir.BlockOp) else None
        if isinstance(block, tir.BlockOp) and notes is not None and _ANNOTATION in notes.data:
            for buffer in cast(BlockRealize, stmt_of(block)).block.annotations[_ANNOTATION]:
                found[cast(Buffer, buffer).ssa] = None
    return list(found)


def _order(sch: Schedule, name: str, weight: SSAValue) -> bool:
    """Copy a weight into the order of its reader. Return False if a step fails."""
    chain = _copies(sch.function(name), weight)
    source = weight if not chain else chain[-1].writes[0].buffer
    place = _reader(sch.function(name), source)
    if place is None:
        return True
    block, index, index_map = place
    names = [copy.block_name.data for copy in chain]
    try:
        reader = sch.get_block(block.block_name.data, name)
        if not chain:
            _copy(sch, reader, index)
        sch.transform_layout(reader, ("read", index), index_map)
        for k in reversed(range(len(names))):
            copy = sch.get_block(names[k], name)
            if k == 0:
                _copy(sch, copy, 0)
            sch.transform_layout(copy, ("read", 0), index_map)
    except ScheduleError:
        return False
    return True


def _copy(sch: Schedule, block: BlockRV, index: int) -> None:
    sch.annotate(sch.cache_read(block, index, "global"), MARK, True)


def _copies(func: tir.FuncOp, weight: SSAValue) -> list[tir.BlockOp]:
    """Return the chain of blocks that copy a weight."""
    chain: list[tir.BlockOp] = []
    for block in operations(func):
        if not isinstance(block, tir.BlockOp) or block.init is not None:
            continue
        if len(block.reads) == len(block.writes) == 1 and block.reads[0].buffer is weight:
            chain.append(block)
            weight = block.writes[0].buffer
    return chain


def _reader(func: tir.FuncOp, weight: SSAValue) -> tuple[tir.BlockOp, int, IndexMap] | None:
    """Return the block that reads a weight, the number of its read, and the order in which it does; the last one
    counts.
    """
    found: tuple[tir.BlockOp, int, IndexMap] | None = None
    for op in operations(func):
        if not isinstance(op, tir.LoadOp) or op.buffer is not weight:
            continue
        block = _block_around(op)
        if block is None:
            raise TiraxError("BufferLoad occurred outside of any block", location=location_of(op))
        index_map = _suggestion(op, block)
        number = next((k for k, r in enumerate(block.reads) if r.buffer is weight), None)
        found = None if index_map is None or number is None else (block, number, index_map)
    return found


def _block_around(op: Operation) -> tir.BlockOp | None:
    around = op.parent_op()
    while around is not None and not isinstance(around, tir.BlockOp):
        around = around.parent_op()
    return around


def _suggestion(load: tir.LoadOp, block: tir.BlockOp) -> IndexMap | None:
    values = {expr_node(v): expr_node(b) for v, b in zip(block.iter_vars, block.bindings, strict=True)}
    indices = [substitute(expr_node(index), values) for index in load.indices]
    loops = [cast(For, stmt_of(op)) for op in reversed(list(st.ancestors(load))) if isinstance(op, tir.ForOp)]
    predicate = tx.const(True) if block.predicate is None else expr_node(block.predicate)
    return suggest_index_map(Buffer(load.buffer), indices, loops, predicate)


__all__ = ["RewriteLayout"]
