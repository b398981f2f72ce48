"""Columns packed into panels: column j of a matrix is P[j // n, k, j % n], with n adjacent columns in a panel.

This is the layout in which `pack-weights` stores constant matrices whose columns are not a multiple of n, and
`pack-convolutions` stores kernels; the last panel of a matrix is padded. Columns are contiguous within a panel, so
that tiles aligned to panels read them like a matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from ....dialects import tir
from ....dialects.dtypes import bit_width
from ....dialects.sym.expr import SymExpr, Var, add, floordiv, floormod, mul
from ....dialects.tir import BufferType
from ....ir.affine.values import sym_expr_of
from ...loop_builder import Bindings, Cloner, LoopBuilder
from ...rewrite import depends_on
from ..analysis.stages import Iter, Stage, constant_slope, element_type
from ..policy.limits import LINE_BITS
from .prefetch import prefetch_load
from .prefetch_distribution import PrefetchShare, next_panel


@dataclass(frozen=True)
class Panels:
    """Panels of `width` columns along `lane`: `number` is the index of a column's panel, `place` its position in
    the panel.
    """

    lane: Iter
    width: int
    number: SSAValue
    place: SSAValue
    load: tir.LoadOp

    def prefetch_next(
        self,
        loops: LoopBuilder,
        where: Bindings,
        first: SSAValue,
        share: PrefetchShare,
        step: Iter,
        block: SymExpr,
        size: int,
    ) -> None:
        """Prefetch lines of the next panel, which is read along `step`, in a block of `size` steps."""
        following = next_panel(self.lane, self.width, first)
        if following is None:
            return
        line = max(1, LINE_BITS // bit_width(element_type(self.load.buffer)))
        for which, at in share.lines(max(1, self.width // line), step.extent, block, size):
            cloner = loops.cloner({**where, step: loops.value(at, step.dtype)})
            cloner.replace(self.number, loops.value(following, self.lane.dtype))
            cloner.replace(self.place, loops.value(mul(which, line), self.lane.dtype))
            prefetch_load(loops, self.load, cloner)

    def bind(self, loops: LoopBuilder, cloner: Cloner, first: SSAValue, c: SSAValue) -> None:
        """Bind the column in copies of `cloner` to `first` + `c`, which is in the panel of `first`."""
        dtype, begin = self.lane.dtype, sym_expr_of(first)
        cloner.replace(self.number, loops.value(floordiv(begin, self.width)))
        cloner.replace(self.place, loops.value(add(floormod(begin, self.width), Var(c, dtype))))


def panels_of(stage: Stage, lane: Iter, lanes: int) -> Panels | None:
    """Return the panels that contain the columns `lane` of one operand, if their width is a multiple of the lanes;
    else None.
    """
    loads = [load for load in stage.loads if load.buffer is not stage.buffer and constant_slope(load, lane) != 0]
    if len(loads) != 1 or len(loads[0].indices) < 2 or lane.parts:
        return None
    number, *middle, place = loads[0].indices
    widths = _divisor(number, tir.FloorDivOp, lane), _divisor(place, tir.FloorModOp, lane)
    width = widths[1]
    if width is None or widths[0] != width or width % lanes or number.type != lane.dtype:
        return None
    if any(depends_on(index, [lane.var]) for index in middle):
        return None
    strides = cast(BufferType, loads[0].buffer.type).layout_strides()
    return Panels(lane, width, number, place, loads[0]) if strides[-1].constant == 1 else None


def _divisor(value: SSAValue, kind: type[tir.BinaryExpr], lane: Iter) -> int | None:
    """Return n if a value is `lane` // n, or `lane` % n, depending on `kind`; None otherwise."""
    op = value.owner
    if not isinstance(op, kind) or op.lhs is not lane.var or not isinstance(op.rhs.owner, tir.ConstOp):
        return None
    number = op.rhs.owner.value
    return number.value.data if isinstance(number, IntegerAttr) else None
