"""Divisions of a row by one value become multiplications: a division takes as long as ten products, and is not
pipelined.

    for j: Y[i, j] = E[i, j] / S[i]     ->     if 2^-126 <= |S[i]| <= 2^126:
                                                   r = 1 / S[i]
                                                   for j: Y[i, j] = E[i, j] * r
                                               else:
                                                   for j: Y[i, j] = E[i, j] / S[i]

Within these bounds the reciprocal is a normal number, so that the error of the product is at most 1.5 units in the
last place, compared to 0.5 for a quotient. Divisions by function arguments are not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import Attribute, Block, SSAValue

from ....dialects import tir
from ...loop_builder import Bindings, Cloner, LoopBuilder
from ...rewrite import conjunction
from ..analysis.stages import Iter, constant_slope, loads_below, tree

_LARGEST: dict[type[Attribute], float] = {Float32Type: 2.0**126, Float64Type: 2.0**1022}
"""The largest number by type that is, with its reciprocal, a normal number."""


@dataclass
class Reciprocals:
    """The divisions of an expression by values of a row, with the reciprocals that replace them."""

    divisions: Sequence[tir.BinaryExpr]
    factors: dict[tir.BinaryExpr, SSAValue] = field(default_factory=dict[tir.BinaryExpr, SSAValue])

    @staticmethod
    def of(value: SSAValue, lane: Iter) -> Reciprocals | None:
        """Return the divisions in the expression of `value`, or None if there are none."""
        divisions = [op for op in tree(value) if isinstance(op, tir.DivOp) and _is_of_row(op, lane)]
        return Reciprocals(divisions) if divisions else None

    def emit(self, loops: LoopBuilder, where: Bindings, row: Callable[[Reciprocals | None], None]) -> None:
        """Emit a row with reciprocals if they are normal, otherwise with divisions."""
        cloner = loops.cloner(where)
        good = conjunction((_is_normal(loops, cloner(op.rhs)) for op in self.divisions), loops.insert)
        assert good is not None
        other = Block()
        with loops.inside(other):
            row(None)

        def multiplied() -> None:
            here = loops.cloner(where)
            for op in self.divisions:
                self.factors[op] = loops.op(tir.DivOp(loops.op(tir.ConstOp(1.0, op.result.type)), here(op.rhs)))
            row(self)

        loops.branch(good, multiplied, other)

    def replace_divisions(self, loops: LoopBuilder, cloner: Cloner) -> None:
        """Replace divisions by multiplications in copies of `cloner`."""
        for op in reversed(self.divisions):  # operands of another division come after it
            cloner.replace(op.result, loops.op(tir.MulOp(cloner(op.lhs), self.factors[op])))


def _is_of_row(op: tir.BinaryExpr, lane: Iter) -> bool:
    """Return whether a division is by a float that the function itself computes, and that is the same for all lanes."""
    if type(op.result.type) not in _LARGEST:
        return False
    loads = loads_below(op.rhs)
    if any(lane.var in inner.operands for inner in tree(op.rhs) if not isinstance(inner, tir.LoadOp)):
        return False
    own = [isinstance(load.buffer.owner, tir.AllocBufferOp) and constant_slope(load, lane) == 0 for load in loads]
    return bool(own) and all(own)


def _is_normal(loops: LoopBuilder, value: SSAValue) -> SSAValue:
    """Return whether a value and its reciprocal are normal numbers."""
    largest = _LARGEST[type(value.type)]
    size = loops.op(tir.CallIntrinOp("fabs", [value], value.type))
    low, high = (loops.op(tir.ConstOp(bound, value.type)) for bound in (1 / largest, largest))
    return loops.op(tir.AndOp(loops.op(tir.GeOp(size, low)), loops.op(tir.LeOp(size, high))))
