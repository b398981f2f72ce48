"""Tiling around a tensor intrinsic: the innermost tile is what the intrinsic computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from typing import Any, cast

from ...dialects import tir
from ...dialects.tir import IterKind
from ...schedule import BlockRV, LoopRV, Schedule, ScheduleError
from ...schedule import state as st
from ...schedule.tensor_intrin import TensorIntrin
from .. import analysis
from .multi_level_tiling import MultiLevelTiling, TileState
from .packing import pack_tiles


class MultiLevelTilingWithIntrin(MultiLevelTiling):
    """Split off, of the loops of a block, what the intrinsic `intrin_name` computes, and tile the others.

    What is read is packed first where the intrinsic wants its tiles in one piece. The block is left alone where no
    choice of its iterators gives what the intrinsic describes. `RewriteTensorize` puts it in the end. Options are those
    of `MultiLevelTiling`. Raises `NameLookupError` for unknown intrinsics.
    """

    def __init__(self, intrin_name: str, structure: str = "SSRSRS", **options: Any):
        super().__init__(structure, **options)
        self.intrin_name = intrin_name
        desc = cast(TensorIntrin, TensorIntrin.get(intrin_name)).desc.op
        self._sizes = _iterators(desc)
        self._dtypes = Counter(cast(tir.BufferType, p.type).dtype for p in desc.params)

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = sch.get(block)
        if not isinstance(op, tir.BlockOp) or not self._may_fit(op):
            return [sch]
        for chosen in self._choices(op):
            made = self._split_off(sch.copy(), block, chosen) or self._packed(sch.copy(), block, chosen)
            if made is not None:
                return self.tiled(TileState(*made))
        return [sch]

    def _may_fit(self, block: tir.BlockOp) -> bool:
        if st.blocks_below(block) or not analysis.has_trivial_bindings(block) or analysis.is_tiled(block):
            return False
        buffers = {region.buffer for region in (*block.reads, *block.writes)}
        if Counter(cast(tir.BufferType, b.type).dtype for b in buffers) != self._dtypes:
            return False
        return self.filter_fn is None or self.filter_fn(block)

    def _choices(self, block: tir.BlockOp) -> Iterator[tuple[int, ...]]:
        """Iterators of the block that could be those of the intrinsic; the last ones first."""
        for chosen in permutations(reversed(range(len(block.kinds))), len(self._sizes)):
            pairs = zip(chosen, self._sizes, strict=True)
            if all(_divides(block, at, kind, size) for at, (kind, size) in pairs):
                yield chosen

    def _packed(self, out: Schedule, block: BlockRV, chosen: tuple[int, ...]) -> tuple[Schedule, BlockRV] | None:
        """As `_split_off`, with copies of what does not lie as the intrinsic wants it."""
        sizes = {at: size or 1 for at, (_, size) in zip(chosen, self._sizes, strict=True)}
        try:
            packs = pack_tiles(out, block, sizes)
        except ScheduleError:
            return None
        return self._split_off(out, block, chosen) if packs else None

    def _split_off(self, out: Schedule, block: BlockRV, chosen: tuple[int, ...]) -> tuple[Schedule, BlockRV] | None:
        """The schedule with the chosen part as a block of its own; None where that is not what the intrinsic computes.

        Whether it is, is found out by trying, which changes `out`.
        """
        try:
            loops = out.get_loops(block)
            inner: list[LoopRV] = []
            order = list(range(len(loops)))
            if list(chosen) != sorted(chosen):
                order = [*(k for k in order if k not in chosen), *chosen]
                out.reorder_block_iter_var(block, order)
            for at, (_, size) in zip(chosen, self._sizes, strict=True):
                loops[at], part = out.split(loops[at], [None, size])
                inner.append(part)
            out.reorder(*(loops[k] for k in order), *inner)
            outer = out.blockize(inner[0])
            out.copy().tensorize(outer, self.intrin_name)
        except ScheduleError:
            return None
        out.annotate(outer, analysis.AUTO_TENSORIZE, self.intrin_name)
        return out, outer


def _iterators(desc: Any) -> list[tuple[IterKind, int | None]]:
    """Kinds and sizes of the iterators of what an intrinsic describes."""
    blocks = [op for op in desc.walk() if isinstance(op, tir.BlockOp) and op.iter_vars]
    return [(k, e.constant) for k, e in zip(blocks[0].kinds, blocks[0].extents, strict=True)] if blocks else []


def _divides(block: tir.BlockOp, at: int, kind: IterKind, size: int | None) -> bool:
    extent = block.extents[at].constant
    return block.kinds[at] is kind and bool(size and extent) and (extent or 0) % (size or 1) == 0
