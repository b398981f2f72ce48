"""`tir.schedule.analysis.get_tensorize_loop_mapping`: the loops of a block that an intrinsic's loops may take over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...dialects import tir
from ...dialects.sym.expr import SymExpr, Var
from ...handles.tir.control_flow import For
from ...handles.tir.prim_func import PrimFunc
from ...handles.tir.stmt import stmt_of
from ...schedule import checks
from ...schedule import state as st
from ...schedule.schedule import Schedule
from ...schedule.trace import BlockRV, StmtSRef


@dataclass(frozen=True)
class TensorizeInfo:
    """The loops of a block with those of the intrinsic, the numbers of these, and the padding of the block's iterators.

    `block_iter_paddings` is None if the extents are multiples of those of the intrinsic.
    """

    loop_map: dict[StmtSRef, For]
    desc_loop_indexer: dict[For, int]
    block_iter_paddings: list[int] | None


def get_tensorize_loop_mapping(
    sch: Schedule, block: BlockRV, desc_func: PrimFunc, allow_padding: bool = False
) -> TensorizeInfo | None:
    """Return the loops of a block that the loops of an intrinsic's description can take over, the innermost ones first.

    Each iterator of the description takes the last iterator of its kind that is left. With `allow_padding` extents
    need not be multiples, if the block's bindings are its loops. Returns None if there is no such mapping.
    """
    op = sch.operation(block)
    loops = _nest_of(op)
    described = next((b for b in desc_func.op.walk() if isinstance(b, tir.BlockOp) and b.iter_vars), None)
    if described is None or len(loops) != len(op.kinds) or len(described.kinds) > len(op.kinds):
        return None
    mapping = _Mapping(loops, st.loops_above(described), allow_padding)
    left = len(op.kinds) - 1
    bindings, own = checks.bindings_of(described), checks.bindings_of(op)
    for kind, binding in reversed(list(zip(described.kinds, bindings, strict=True))):
        while left >= 0 and op.kinds[left] is not kind:
            left -= 1
        if left < 0 or not mapping.add(binding, own[left], left):
            return None
        left -= 1
    if mapping.paddings and not mapping.allow_padding:
        return None
    return mapping.info(len(op.kinds))


def _nest_of(block: tir.BlockOp) -> list[tir.ForOp]:
    """Return the loops around a block, as far as they have nothing else in them."""
    out: list[tir.ForOp] = []
    for loop in reversed(st.loops_above(block)):
        if len(st.children(loop.body.block)) != 1:
            break
        out.insert(0, loop)
    return out


@dataclass
class _Mapping:
    loops: Sequence[tir.ForOp]
    described: Sequence[tir.ForOp]
    allow_padding: bool
    found: dict[tir.ForOp, tir.ForOp] = field(default_factory=dict[tir.ForOp, tir.ForOp])
    paddings: dict[int, int] = field(default_factory=dict[int, int])

    def add(self, described: SymExpr, binding: SymExpr, at: int) -> bool:
        """Map the loop of an iterator's binding to that of a described one. Returns False if that cannot be."""
        inner = _loop_in(described, self.described, {})
        size = None if inner is None else inner[0].extent.constant if isinstance(inner[0].extent, SymExpr) else None
        if inner is None or not size:
            return False
        outer = _loop_in(binding, self.loops, self.found)
        if outer is None:
            return True
        self.allow_padding &= outer[1].constant == 0
        extent = st.constant_extent(outer[0])
        if extent is None or (extent % size and not self.allow_padding):
            return False
        if extent % size:
            self.paddings[at] = size
        self.found[outer[0]] = inner[0]
        return True

    def info(self, count: int) -> TensorizeInfo:
        """Return the mapping with views of the loops."""
        views: dict[tir.ForOp, Any] = {loop: stmt_of(loop) for loop in self.described}
        padded = [self.paddings.get(k, 1) for k in range(count)] if self.paddings else None
        return TensorizeInfo(
            {StmtSRef(mine): views[theirs] for mine, theirs in self.found.items()},
            {views[loop]: k for k, loop in enumerate(self.described)},
            padded,
        )


def _loop_in(
    binding: SymExpr, loops: Sequence[tir.ForOp], taken: dict[tir.ForOp, tir.ForOp]
) -> tuple[tir.ForOp, SymExpr] | None:
    """Return the loop that a binding is, up to what depends on none of the loops, and that rest."""
    variables: set[Var] = {st.loop_expr(loop) for loop in loops}
    for loop in loops:
        rest = binding - st.loop_expr(loop)
        if loop not in taken and not any(v in variables for v in rest.free_vars()):
            return loop, rest
    return None


__all__ = ["TensorizeInfo", "get_tensorize_loop_mapping"]
