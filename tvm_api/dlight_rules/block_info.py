"""Properties of a function that rules inspect: its blocks in a normal form, and the iterators used in accesses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ...dialects import tir
from ...handles.tir.block_views import Block
from ...handles.tir.buffers import Param
from ...handles.tir.domains import BufferRegion, IterVar, Range
from ...handles.tir.prim_expr import PrimExpr
from ...schedule import checks
from ...schedule import state as st
from ...schedule.schedule import Schedule
from ...schedule.state import ScheduleError
from ...schedule.trace import BlockRV, LoopRV
from ..handles.tir_functor import post_order_visit

_KINDS = {IterVar.DataPar: "S", IterVar.CommReduce: "R"}


def _number(value: PrimExpr) -> int | PrimExpr:
    return value if value.constant is None else int(value.constant)


class IterInfo:
    """An iterator of a block: its kind (`S` spatial, `R` reduction, `O` other), its variable, its loop."""

    def __init__(self, kind: str, var: PrimExpr, dom: PrimExpr, loop_rv: LoopRV):
        self.kind = kind
        self.var = var
        self.loop_rv = loop_rv
        self._dom = dom

    @property
    def dom(self) -> int | PrimExpr:
        """The number of values it takes."""
        return _number(self._dom)

    def __repr__(self) -> str:
        return f'Iter("{self.kind}", {self.dom})'


@dataclass(repr=False)
class BlockInfo:
    """A block with its iterators, one for each loop around it."""

    name: str
    iters: list[IterInfo]
    block_rv: BlockRV
    reduction_block: bool = False

    def dom(self) -> list[int | PrimExpr]:
        """Return the extent of each iterator."""
        return [i.dom for i in self.iters]

    def dom_kind(self) -> str:
        """Return the kinds of the iterators: `SSR` for a matrix product."""
        return "".join(i.kind for i in self.iters)

    def get_loops(self) -> list[LoopRV]:
        """Return the loops of the iterators."""
        return [i.loop_rv for i in self.iters]

    def is_injective(self) -> bool:
        """Return whether every iterator is spatial."""
        return set(self.dom_kind()) <= {"S"}

    def is_reduction(self) -> bool:
        """Return whether the block is a reduction: it has an init, and its writes do not depend on reduction
        iterators.
        """
        return self.reduction_block

    def is_elementwise(self, sch: Schedule) -> bool:
        """Return whether it computes each element of one buffer from the same element of another."""
        block: Block = sch.get(self.block_rv)
        regions = [*block.reads, *block.writes]
        if not self.is_injective() or len(block.reads) != 1 or len(block.writes) != 1:
            return False
        if len(regions[0].region) != len(regions[1].region):
            return False
        iters = [i.var for i in block.iter_vars]
        return all(_is_only(dim, var) for r in regions for dim, var in zip(r.region, iters, strict=False))

    def __repr__(self) -> str:
        return f'BlockInfo("{self.name}", "{self.dom_kind()}", {self.dom()})'


def _is_only(dim: Range, var: PrimExpr) -> bool:
    return dim.min.same_as(var) and dim.extent.constant == 1


def normalize_prim_func(sch: Schedule) -> list[BlockInfo] | None:
    """Normalize each block of a function, so that it has its own loops from 0, one for each iterator with several
    values.

    A loop of extent 1 comes first if none of them is spatial. Returns the properties of the blocks, or None if
    the loops of a block have another form.
    """
    blocks: list[BlockRV] = sch.get_child_blocks(sch.get_block("root"))
    if not all(_has_plain_loops(sch.operation(b)) for b in blocks):
        return None
    try:
        for block in blocks:
            sch.transform_block_layout(block, _without_units(sch.get(block).iter_vars))
    except ScheduleError:
        return None
    return [_info(sch, block) for block in blocks]


def _has_plain_loops(block: tir.BlockOp) -> bool:
    loops = st.loops_above(block)
    bound = [lp.loop_var for lp in loops] == list(block.bindings)
    return not loops or (bound and all(st.min_of(lp).constant == 0 for lp in loops))


def _without_units(iters: Sequence[IterVar]) -> Callable[..., list[Any]]:
    """Return the map that drops iterators of extent 1."""
    kept = [k for k, i in enumerate(iters) if i.domain.extent.constant != 1]
    spatial = any(iters[k].iter_type == IterVar.DataPar for k in kept)

    def index_map(*values: PrimExpr) -> list[Any]:
        return [*([] if spatial else [0]), *(values[k] for k in kept)]

    return index_map


def _info(sch: Schedule, block: BlockRV) -> BlockInfo:
    view: Block = sch.get(block)
    op: tir.BlockOp = sch.operation(block)
    iters = [
        IterInfo(_KINDS.get(i.iter_type, "O"), i.var, i.domain.extent, loop)
        for i, loop in zip(view.iter_vars, sch.get_loops(block), strict=True)
    ]
    return BlockInfo(view.name_hint, iters, block, checks.why_no_reduction(op) is None and checks.is_affine(op))


def renew_variables(sch: Schedule, blocks: Sequence[BlockInfo]) -> None:
    """Update the iterators of blocks to the current function: a failed step replaces it by a copy."""
    for block in blocks:
        for info, iterator in zip(block.iters, sch.get(block.block_rv).iter_vars, strict=True):
            info.var = iterator.var


def get_root_block(sch: Schedule, func_name: str = "main") -> BlockRV:
    """Return the root block of a function."""
    return sch.get_block("root", func_name)


def collect_vars_used_in_prim_expr(expr: PrimExpr) -> set[Param]:
    """Return the variables in an expression."""
    used: set[Param] = set()
    post_order_visit(expr, lambda node: used.add(node) if isinstance(node, Param) else None)
    return used


def collect_block_iter_vars_used_in_access_region(block: Block, region: Sequence[Range]) -> set[Param]:
    """Return the iterators of a block used in the start indices of a region, which has one element in each dimension.

    Raises `ScheduleError` for a larger region.
    """
    if any(dim.extent.constant != 1 for dim in region):
        raise ScheduleError("the region has more than one element", [block.op])
    iters = {cast(Param, i.var) for i in block.iter_vars}
    return {v for dim in region for v in collect_vars_used_in_prim_expr(dim.min)} & iters


def detect_dominant_read(block: Block) -> PrimExpr:
    """Return the flat offset of the read that uses the most iterators. Raises `ScheduleError` if nothing is read."""

    def iterators(read: BufferRegion) -> int:
        return len(collect_block_iter_vars_used_in_access_region(block, read.region))

    reads = block.reads
    if not reads:
        raise ScheduleError("the block reads nothing", [block.op])
    dominant = max(reads, key=iterators)
    (offset,) = dominant.buffer.offset_of([dim.min for dim in dominant.region])
    return offset


def is_broadcast_epilogue(sch: Schedule, block: BlockRV, epilogue: BlockRV) -> bool:
    """Return whether the block `epilogue` reads an element that `block` writes at several of its points."""
    written = {r.buffer for r in sch.get(block).writes}
    view: Block = sch.get(epilogue)
    points = [i for i in view.iter_vars if i.domain.extent.constant != 1]
    return any(
        len(collect_block_iter_vars_used_in_access_region(view, read.region)) < len(points)
        for read in view.reads
        if read.buffer in written
    )
