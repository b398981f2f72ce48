"""A strip of columns by rows that all pass over it: copied into a panel, rows of whole vectors, of which the rest is 0.

copy:          panel[place…, c] = pack(operand(k, j + c), operand(k + 1, j + c), …)
mk.Squares:    the same where neighbouring k, not columns, are neighbours in memory
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
    """The columns of a `strip`, of the iterators outside of it at `where`, in vectors of `lanes`."""

    where: Bindings
    strip: mk.Strip
    lanes: int

    def __post_init__(self) -> None:
        self.loops, self.width = self.strip.loops, self.strip.size

    @property
    def padded(self) -> int:
        """The columns, rounded up to whole vectors."""
        return mk.round_to_vectors(self.width, self.lanes)

    @property
    def in_squares(self) -> int:
        """The columns of squares: whole vectors of those that are all there."""
        return 0 if self.strip.masked else self.width // self.lanes * self.lanes

    def place(self, c: SSAValue, begin: SymExpr | int) -> SSAValue:
        """Column `c` from `begin` on."""
        return self.loops.value(begin + Var(c, self.strip.it.dtype))

    def clear(self, panel: SSAValue, place: Sequence[SSAValue], begin: int) -> None:
        """Store 0 in a row of the panel from a column on, where the copies that follow leave some out."""
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
        """Store what `pack` makes of an operand at some steps."""
        cloners = [self.loops.cloner(step) for step in steps]
        for cloner in [] if guard is None else cloners:
            hoist_uniform(cloner, operand, self.strip.it)
        mk.under(self.loops, guard, lambda: self.loops.store(pack([copy(operand) for copy in cloners]), *to))


def is_transposed(load: object, k: Iter, lane: Iter) -> bool:
    """Whether an operand is loaded from a matrix whose rows run along the sum: along `k` in order, not along lanes."""
    return isinstance(load, tir.LoadOp) and is_in_order(load, k) and constant_slope(load, lane) not in (0, 1)
