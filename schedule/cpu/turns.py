"""Tiles that read the same lines of memory, one after the other, ask for the lines that come after these.

    for tile in T: for k in K: … P[panel, k, :]

Where a step reads L lines of a panel, a tile asks at each step for

    line = (tile * K + k) // max(1, T // L)                P[panel + 1, line // L, line % L]

so that all tiles together have asked for all lines once, evenly: what memory or the last cache gives at once is less
than a tile could ask for.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects.sym.expr import SymExpr, floordiv, floormod, maximum, minimum
from ...ir.affine.values import sym_expr_of
from ..loop_builder import Bindings
from .microkernel import Rows

_SAME_LINES = frozenset((1, 2, 3))
"""Of so few iterations each reads lines of its own, or their number tells little."""


@dataclass(frozen=True)
class Turn:
    """That of tile `number` of `count`."""

    number: SymExpr
    count: SymExpr

    def line(self, lines: int, step: SymExpr, steps: SymExpr) -> tuple[SymExpr, SymExpr]:
        """(which line, of which step) this tile asks for at `step`; each of `steps` steps reads so many `lines`."""
        if self.number.dtype != step.dtype:
            return floormod(self.number, lines), step
        place = floordiv(self.number * steps + step, maximum(floordiv(self.count, lines), 1))
        return floormod(place, lines), minimum(floordiv(place, lines), steps - 1)


def turn_of(outer: Bindings, rows: Rows) -> Turn | None:
    """A number that is another one for the tile that comes next, or for those of the next iteration around them."""
    several = [(value, it.extent) for it, value in outer.items() if it.extent.constant not in _SAME_LINES]
    if several:
        number, count = several[-1]
        return Turn(sym_expr_of(number), count)
    if rows.row is None or rows.first is None:
        return None
    return Turn(floordiv(sym_expr_of(rows.first), rows.size), floordiv(rows.row.extent, rows.size))
