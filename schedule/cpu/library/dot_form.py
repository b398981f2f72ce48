"""What products for instructions that add several products look like in a tensor function: their iterators.

C[…, i, j] += A[…, i, k] * B[…, k, j]        A one load, in the order of k, which stays along j; B any expression
"""

from __future__ import annotations

from typing import cast

from xdsl.ir import SSAValue

from ....dialects import tir
from ....dialects.sym.analyzer import Analyzer
from ....dialects.sym.expr import Const, SymExpr
from ....dialects.tir import BufferType
from ..analysis.stages import Iter, Stage, address, constant_slope, loads_below, tree
from ..policy.limits import MAX_BOUND, MAX_PANEL_WIDTH
from .epilogue import Epilogue


def room(it: Iter) -> SymExpr | None:
    """The most values that an iterator has, as the extent of a buffer; None where nothing is known before it runs."""
    if all(v.value is None for v in it.extent.free_vars()):
        return it.extent
    most = Analyzer().bounds(it.extent).high
    return Const(int(most), it.dtype) if most < MAX_BOUND else None


def summed(stage: Stage) -> list[Iter]:
    """The iterators of the sum that have several values; those that are two by themselves."""
    single = [part for it in stage.reduce for part in (it.parts or (it,))]
    return [it for it in single if it.extent.constant != 1]


def starts_at_zero(stage: Stage) -> bool:
    start = None if stage.init is None else stage.init.value.owner
    return isinstance(start, tir.ConstOp) and start.py_value == 0


def narrow(value: SSAValue) -> SSAValue:
    """What is converted before it is multiplied."""
    return value.owner.value if isinstance(value.owner, tir.CastOp) else value


def lane_of(epilogue: Epilogue, rows: tir.LoadOp, columns: SSAValue, group: int) -> Iter | None:
    """The iterator along which the result is contiguous and A does not move, at most from panel to panel of B."""
    for it in reversed(epilogue.stage.spatial):
        contiguous = constant_slope(epilogue.last.store, epilogue.iter_of(it)) == 1
        if not contiguous or it.extent.constant in (0, 1):
            continue
        if constant_slope(rows, it) == 0 or _stays_in_panels(rows, it, columns, group):
            return it
    return None


def _stays_in_panels(rows: tir.LoadOp, lane: Iter, columns: SSAValue, group: int) -> bool:
    """Whether A is the same for all columns of a panel, as for those of a group of channels."""
    load = columns.owner
    last = cast(BufferType, load.buffer.type).dims[-1].constant if isinstance(load, tir.LoadOp) else None
    width = 0 if last is None else last // group
    if lane.parts or not width or width > MAX_PANEL_WIDTH or (lane.extent.constant or 1) % width:
        return False
    place = address(rows.buffer, rows.indices)
    first = lane.expr * width
    places = {place.substitute({lane.expr: first + n}) for n in range(width)}
    return len(places) == 1


def moves_along(columns: SSAValue, lane: Iter) -> bool:
    """Whether B is an expression without branches, parts of which vary with the lanes."""
    moves = any(constant_slope(load, lane) != 0 for load in loads_below(columns))
    return moves and not any(op.regions for op in tree(columns))


def is_reused(columns: SSAValue, rows: tir.LoadOp, it: Iter) -> bool:
    """Whether all of an iterator's values use the same B."""
    loads = loads_below(columns)
    return it.extent.constant != 1 and constant_slope(rows, it) != 0 and all(constant_slope(b, it) == 0 for b in loads)


def known_room(it: Iter) -> SymExpr:
    most = room(it)
    assert most is not None  # else there is no plan
    return most
