"""Inlining of blocks into their consumers or producers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from ...schedule.schedule import Schedule
from ...schedule.state import ScheduleError
from ...schedule.trace import BlockRV
from .block_info import BlockInfo, renew_variables


def try_inline(sch: Schedule, blocks: list[BlockInfo]) -> list[BlockInfo]:
    """Inline blocks into their consumers, or else their producers, as far as possible; return the remaining ones.

    `blocks` itself becomes shorter.
    """
    while True:
        at = _first_inlined(sch.compute_inline, blocks)
        if at is None:
            at = _first_inlined(sch.reverse_compute_inline, blocks)
        if at is None:
            renew_variables(sch, blocks)
            return blocks
        del blocks[at]


def _first_inlined(inline: Callable[[BlockRV], object], blocks: Sequence[BlockInfo]) -> int | None:
    """Inline the first possible block, and return its index, or None."""
    for k, block in enumerate(blocks):
        try:
            inline(block.block_rv)
        except ScheduleError:
            continue
        return k
    return None


def try_inline_contiguous_spatial(sch: Schedule, block_infos: Sequence[BlockInfo] | None) -> list[BlockInfo] | None:
    """Apply `try_inline` to each run of spatial blocks; return the remaining blocks and the others."""
    if block_infos is None:
        return None
    left: list[BlockInfo] = []
    for injective, run in groupby(block_infos, BlockInfo.is_injective):
        blocks = list(run)
        left += try_inline(sch, blocks) if injective else blocks
    renew_variables(sch, left)
    return left
