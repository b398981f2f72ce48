"""A strip of columns that all rows use, copied into a panel whose rows are padded to full vectors with 0.

copy:          panel[place…, c] = pack(operand(k, j + c), operand(k + 1, j + c), …)
mk.Squares:    the same if consecutive k, not columns, are contiguous in memory
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ....dialects import tir
from ....dialects.sym.expr import SymExpr, Var
from ...loop_builder import Bindings, Iter
from ..analysis.stages import constant_slope, element_type, is_in_order
from . import microkernel as mk
from .epilogue import Guard, hoist_uniform


@dataclass
class PanelStrip:
    """The columns of a `strip`, in vectors of `lanes`; `where` has the values of the iterators outside of it."""

    where: Bindings
    strip: mk.Strip
    lanes: int

    def __post_init__(self) -> None:
        self.loops, self.width = self.strip.loops, self.strip.size

    @property
    def padded(self) -> int:
        """The number of columns, rounded up to full vectors."""
        return mk.round_to_vectors(self.width, self.lanes)

    @property
    def in_squares(self) -> int:
        """The number of columns filled by squares: full vectors that are within bounds."""
        return 0 if self.strip.masked else self.width // self.lanes * self.lanes

    def place(self, c: SSAValue, begin: SymExpr | int) -> SSAValue:
        """Return column `c` after `begin`."""
        return self.loops.value(begin + Var(c, self.strip.it.dtype))

    def clear(self, panel: SSAValue, place: Sequence[SSAValue], begin: int) -> None:
        """Store 0 in a row of the panel from a column on, if the following copies skip some columns."""
        if not self.strip.masked and self.width == self.padded:
            return

        def clear(c: SSAValue) -> None:
            zero = self.loops.const(0, element_type(panel))
            self.loops.store(zero, panel, [*place, self.place(c, begin)])

        self.strip.vectors(clear, self.padded - begin)

    def copy(
        self,
        operand: SSAValue,
        to: mk.Place,
        steps: Sequence[Bindings],
        guard: Guard | None = None,
        pack: Callable[[list[SSAValue]], SSAValue] = lambda values: values[0],
    ) -> None:
        """Store the result of `pack` for an operand at some steps."""
        cloners = [self.loops.cloner(step) for step in steps]
        for cloner in [] if guard is None else cloners:
            hoist_uniform(cloner, operand, self.strip.it)
        mk.under(self.loops, guard, lambda: self.loops.store(pack([copy(operand) for copy in cloners]), *to))


def is_transposed(load: object, k: Iter, lane: Iter) -> bool:
    """Return whether an operand is a matrix with contiguous rows along `k`, and not along the lanes."""
    return isinstance(load, tir.LoadOp) and is_in_order(load, k) and constant_slope(load, lane) not in (0, 1)
