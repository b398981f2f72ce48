"""Tiles that read the same lines of memory, one after the other, ask for the lines that come after these.

    for tile in T: for block in K / S: ask; for k in S: … P[panel, S * block + k, :]

Where a step reads L lines of a panel, a tile asks at each block of S steps for S * L / T lines from

    line = (tile * (K / S) + block) * S * L // T           P[panel + 1, line // L, line % L]

on, so that all tiles together have asked for all lines once, evenly: what memory or the last cache gives at once is
less than a tile could ask for. In every step it would cost more than it brings where the processor adds the products
of a step in some cycles.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from ....dialects.sym.expr import SymExpr, add, floordiv, floormod
from ....dialects.sym.operators import maximum, minimum
from ....ir.affine.values import sym_expr_of
from ...loop_builder import Bindings, Iter
from ..policy.limits import ASSUMED_TILES, FEW_ITERATIONS
from .microkernel import Rows


@dataclass(frozen=True)
class PrefetchShare:
    """That of tile `number` of `count`."""

    number: SymExpr
    count: SymExpr

    def lines(self, of_step: int, steps: SymExpr, block: SymExpr, size: int) -> list[tuple[SymExpr, SymExpr]]:
        """(which line, of which step) this tile asks for at a block of `size` steps.

        Each of `steps` steps reads `of_step` lines.
        """
        if self.number.dtype != block.dtype:
            return [(floormod(self.number, of_step), block * size + step) for step in range(size)]
        of_block, tiles = size * of_step, self.count.constant
        per_tile = -(-of_block // (ASSUMED_TILES if tiles is None else max(tiles, 1)))
        before = (self.number * floordiv(steps, size) + block) * of_block
        first = floordiv(before, maximum(self.count, 1))
        places = [minimum(first + more, steps * of_step - 1) for more in range(per_tile)]
        return [(floormod(place, of_step), floordiv(place, of_step)) for place in places]


def prefetch_share(outer: Bindings, rows: Rows) -> PrefetchShare | None:
    """A number that is another one for the tile that comes next, or for those of the next iteration around them."""
    several = [(value, it.extent) for it, value in outer.items() if it.extent.constant not in FEW_ITERATIONS]
    if several:
        number, count = several[-1]
        return PrefetchShare(sym_expr_of(number), count)
    if rows.row is None or rows.first is None:
        return None
    return PrefetchShare(floordiv(sym_expr_of(rows.first), rows.size), floordiv(rows.row.extent, rows.size))


def next_panel(lane: Iter, width: int, first: SSAValue) -> SymExpr | None:
    """The number of the panel after that of column `first`, or of the last one; None where there is one alone."""
    last = floordiv(lane.extent - 1, width)
    return None if last.constant == 0 else minimum(add(floordiv(sym_expr_of(first), width), 1), last)
