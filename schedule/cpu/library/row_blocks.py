"""Blocks of rows that traverse all strips of columns, so that their operands and results stay in the second-level
cache.

    for block in M / size:
        for strip in N / width:
            for tile in size / rows: …

If each strip used all rows, it would fetch them again, and each line of the result once per strip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from ....dialects.sym.expr import Const, SymExpr, Var
from ...loop_builder import Bindings, Iter, LoopBuilder
from ..analysis.plan import Machine
from ..analysis.stages import Stage, constant_slope, loads_below, memory_bits
from ..policy.limits import ROW_BLOCK_PARTS
from . import microkernel as mk


def block_size(stage: Stage, rows: Sequence[Iter], read: SSAValue, weights: SSAValue, machine: Machine) -> int | None:
    """Return the number of values of the first row iterator in a block; None if all fit, or if no size divides them.

    All rows read the buffer `read`, and each reads all `weights`, which have to stay in the cache; `stage` stores
    the results.
    """
    first = rows[0] if rows else None
    count = None if first is None else first.extent.constant
    bytes_read, number, every = (mk.byte_count(buffer) for buffer in (read, stage.buffer, weights))
    if first is None or count is None or bytes_read is None or number is None or every is None:
        return None
    if 2 * every > machine.caches.l2:
        return None
    moved = [load for load in loads_below(stage.store.value) if constant_slope(load, first) != 0]
    bits = memory_bits(stage.buffer) + sum(memory_bits(load.buffer) for load in moved)
    room = machine.caches.l2 // ROW_BLOCK_PARTS
    fits = room * count // max(1, bytes_read + number * bits // memory_bits(stage.buffer))
    return next((size for size in range(min(fits, count - 1), fits // 2, -1) if count % size == 0), None)


@dataclass(frozen=True)
class Block:
    """A range of the first of the iterators `rows`, from `begin`; all of them if there are no blocks."""

    rows: Sequence[Iter]
    begin: SymExpr | None = None
    size: int = 0

    @property
    def iters(self) -> list[Iter]:
        """The iterators, with the first one relative to the beginning of the block."""
        if self.begin is None:
            return list(self.rows)
        first, *others = self.rows
        return [replace(first, extent=Const(self.size, first.dtype)), *others]

    def placed(self, loops: LoopBuilder, where: Bindings) -> Bindings:
        """Return the values of the iterators over all rows, for values of the block's iterators."""
        if self.begin is None:
            return where
        row_of = dict(zip(self.iters, self.rows, strict=True))
        first, begin = self.rows[0], self.begin
        own = {row_of[it]: value for it, value in where.items()}
        return {it: loops.value(begin + Var(v, it.dtype)) if it is first else v for it, v in own.items()}

    def rows_of(self, loops: LoopBuilder, rows: mk.Rows) -> mk.Rows:
        """Convert rows of the block to rows of all blocks."""
        if self.begin is None or rows.row is None or rows.first is None:
            return rows
        ((row, first),) = self.placed(loops, {rows.row: rows.first}).items()
        return replace(rows, row=row, first=first)


def in_row_blocks(loops: LoopBuilder, rows: Sequence[Iter], size: int | None, body: Callable[[Block], object]) -> None:
    """Emit `body` for each block of rows, or once for all rows."""
    if size is None:
        body(Block(rows))
        return
    first = rows[0]
    mk.pieces(
        loops,
        first,
        [(size, None)],
        lambda begin, count: body(Block(rows, begin, count)),
        mk.tile_name(first, "i", "block"),
    )
