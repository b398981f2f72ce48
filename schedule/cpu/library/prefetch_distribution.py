"""Consecutive tiles that read the same lines of memory distribute the prefetching of the next lines among each other.

    for tile in T: for block in K / S: prefetch; for k in S: … P[panel, S * block + k, :]

If a step reads L lines of a panel, a tile prefetches in each block of S steps S * L / T lines from

    line = (tile * (K / S) + block) * S * L // T           P[panel + 1, line // L, line % L]

so that all tiles together prefetch all lines once, at an even rate: memory and the last-level cache deliver less at
a time than a tile could request. Prefetching in every step would cost more than it saves, as a step takes only a
few cycles.
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
    """The share of tile `number` among `count` tiles."""

    number: SymExpr
    count: SymExpr

    def lines(self, of_step: int, steps: SymExpr, block: SymExpr, size: int) -> list[tuple[SymExpr, SymExpr]]:
        """Return the lines, (which line, of which step), that this tile prefetches at a block of `size` steps.

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
    """Return the share of a tile, numbered by the innermost long loop around it, or by the tiles of rows; None
    without either.
    """
    several = [(value, it.extent) for it, value in outer.items() if it.extent.constant not in FEW_ITERATIONS]
    if several:
        number, count = several[-1]
        return PrefetchShare(sym_expr_of(number), count)
    if rows.row is None or rows.first is None:
        return None
    return PrefetchShare(floordiv(sym_expr_of(rows.first), rows.size), floordiv(rows.row.extent, rows.size))


def next_panel(lane: Iter, width: int, first: SSAValue) -> SymExpr | None:
    """Return the index of the panel after the one of column `first`, at most the last one; None if there is only
    one.
    """
    last = floordiv(lane.extent - 1, width)
    return None if last.constant == 0 else minimum(add(floordiv(sym_expr_of(first), width), 1), last)
