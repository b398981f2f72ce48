"""The form of products for dot-product instructions in a tensor function: their iterators.

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


def max_extent(it: Iter) -> SymExpr | None:
    """Return the maximal extent of an iterator, as a buffer extent; None if it has no bound at build time."""
    if all(v.value is None for v in it.extent.free_vars()):
        return it.extent
    most = Analyzer().bounds(it.extent).high
    return Const(int(most), it.dtype) if most < MAX_BOUND else None


def reduction_iters(stage: Stage) -> list[Iter]:
    """Return the reduction iterators with several values; fused iterators are replaced by their two parts."""
    single = [part for it in stage.reduce for part in (it.parts or (it,))]
    return [it for it in single if it.extent.constant != 1]


def starts_at_zero(stage: Stage) -> bool:
    start = None if stage.init is None else stage.init.value.owner
    return isinstance(start, tir.ConstOp) and start.py_value == 0


def strip_cast(value: SSAValue) -> SSAValue:
    """Return the value before conversion to the type in which it is multiplied."""
    return value.owner.value if isinstance(value.owner, tir.CastOp) else value


def lane_of(epilogue: Epilogue, rows: tir.LoadOp, columns: SSAValue, group: int) -> Iter | None:
    """Return the iterator along which the result is contiguous and A is invariant, at least within each panel of B."""
    for it in reversed(epilogue.stage.spatial):
        contiguous = constant_slope(epilogue.last.store, epilogue.iter_of(it)) == 1
        if not contiguous or it.extent.constant in (0, 1):
            continue
        if constant_slope(rows, it) == 0 or _stays_in_panels(rows, it, columns, group):
            return it
    return None


def _stays_in_panels(rows: tir.LoadOp, lane: Iter, columns: SSAValue, group: int) -> bool:
    """Return whether A is the same for all columns of a panel, as for the columns of a channel group."""
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
    """Return whether B is an expression without branches that varies with the lanes."""
    moves = any(constant_slope(load, lane) != 0 for load in loads_below(columns))
    return moves and not any(op.regions for op in tree(columns))


def is_reused(columns: SSAValue, rows: tir.LoadOp, it: Iter) -> bool:
    """Return whether all values of an iterator use the same B."""
    loads = loads_below(columns)
    return it.extent.constant != 1 and constant_slope(rows, it) != 0 and all(constant_slope(b, it) == 0 for b in loads)


def known_max_extent(it: Iter) -> SymExpr:
    most = max_extent(it)
    assert most is not None  # otherwise there is no plan
    return most
