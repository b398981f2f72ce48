"""What `dot_products` (see there) can compute, with which instructions, and how large its tiles are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.ir import SSAValue

from ...dialects import tir
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, SymExpr, add, floordiv, floormod, mul, product
from ...dialects.tir import BufferType
from ...ir.affine.values import sym_expr_of
from ...transforms.operators.dot_products import Dot, best_dot
from .epilogue import Epilogue
from .machine import Machine
from .microkernel import tile_rows, tile_size
from .plan import Plan
from .stages import Iter, Stage, constant_slope, tree, update_of

_MOST_STEPS = 1 << 20
"""What is bounded by more is not bounded."""
_MOST_SHIFTED = 12
"""Rows of a tile that has one more, of 128s."""


@dataclass(frozen=True)
class DotPanels:
    """B in panels of `width` columns: P[j // width, …, k // group, j % width * group + k % group], one load."""

    load: tir.LoadOp
    width: int


@dataclass
class DotProductPlan(Plan):
    """A is `rows`, one load; B is `columns`, any expression, or in panels. `tile` rows of `vectors` make a tile.

    The sum runs over `taps` and `k`; all values of `above` and of `row` use the same B.
    """

    dot: Dot
    epilogue: Epilogue
    rows: tir.LoadOp
    columns: SSAValue
    panels: DotPanels | None
    taps: list[Iter]
    k: Iter
    lane: Iter
    above: list[Iter]
    row: Iter | None
    lanes: int
    vectors: int
    tile: int

    @property
    def stage(self) -> Stage:
        return self.epilogue.stage

    @property
    def outer(self) -> list[Iter]:
        """What is outside of the strips: what B depends on beside the lanes, and what has one value only."""
        inside = [self.lane, *self.above, *([] if self.row is None else [self.row])]
        ones = [it for it in self.stage.reduce if it.extent.constant == 1]
        return [*(it for it in self.stage.spatial if it not in inside), *ones]

    @property
    def is_turned(self) -> bool:
        """Whether neighbouring k of B are neighbours in memory, as in a transposed matrix, and columns are not."""
        load = self.columns.owner
        if self.panels is not None or self.dot.group == 1 or not isinstance(load, tir.LoadOp):
            return False
        return _in_order(load, self.k) and constant_slope(load, self.lane) not in (0, 1)

    @property
    def problem(self) -> str | None:
        """Why no loops can be written with these numbers, None where they can."""
        if self.dot.intrinsic is not None and self.lanes != self.dot.bits // 32:
            return f"lanes = {self.dot.bits // 32}, as the instruction has"
        if self.panels is not None and self.panels.width != self.lanes * self.vectors:
            return f"vectors = {self.panels.width // self.lanes}, as wide as the panels are"
        return None

    @property
    def all_rows(self) -> SymExpr:
        """How many rows use a strip of B."""
        return product(it.extent for it in (*self.above, *([] if self.row is None else [self.row])))


def plan_dot_products(epilogue: Epilogue, machine: Machine) -> DotProductPlan | None:
    """The plan for a product, None where this rule does not fit or the target has no such instruction."""
    stage = epilogue.stage
    update = update_of(stage)
    if update is None or not isinstance(update.combiner, tir.AddOp) or not _starts_at_zero(stage):
        return None
    term, ks = update.term.owner, _summed(stage)
    if not isinstance(term, tir.MulOp) or not ks or any(k.extent.constant == 0 or room(k) is None for k in ks):
        return None
    for rows, columns in ((term.lhs, term.rhs), (term.rhs, term.lhs)):
        plan = _plan(epilogue, _narrow(rows), _narrow(columns), ks, machine)
        if plan is not None:
            return plan
    return None


def room(it: Iter) -> SymExpr | None:
    """The most values that an iterator has, as the extent of a buffer; None where nothing is known before it runs."""
    if all(v.value is None for v in it.extent.free_vars()):
        return it.extent
    most = Analyzer().bounds(it.extent).high
    return Const(int(most), it.dtype) if most < _MOST_STEPS else None


def _summed(stage: Stage) -> list[Iter]:
    """The iterators of the sum that have several values; those that are two by themselves."""
    single = [part for it in stage.reduce for part in (it.parts or (it,))]
    return [it for it in single if it.extent.constant != 1]


def _starts_at_zero(stage: Stage) -> bool:
    start = None if stage.init is None else stage.init.value.owner
    return isinstance(start, tir.ConstOp) and start.py_value == 0


def _narrow(value: SSAValue) -> SSAValue:
    """What is converted before it is multiplied."""
    return value.owner.value if isinstance(value.owner, tir.CastOp) else value


def _plan(
    epilogue: Epilogue, rows: SSAValue, columns: SSAValue, ks: list[Iter], machine: Machine
) -> DotProductPlan | None:
    stage, load = epilogue.stage, rows.owner
    sums = cast(BufferType, stage.buffer.type).dtype
    dot = best_dot(rows.type, columns.type, sums, machine.features, machine.vector_bits)
    k = next((k for k in reversed(ks) if isinstance(load, tir.LoadOp) and _in_order(load, k)), None)
    if dot is None or k is None or not isinstance(load, tir.LoadOp):
        return None
    lane = _lane(epilogue, load)
    if lane is None or not _in_lanes(columns, lane):
        return None
    shared = [it for it in stage.spatial if it is not lane and _reused(columns, load, it)]
    row, lanes = shared[-1] if shared else None, machine.vector_bits // 32
    panels = dot_panels(columns, lane, k, dot.group)
    if row is None and dot.sums == sums and panels is None:
        return None  # read once: `row_streams` reads memory in order
    vectors, tile = _tile_size(dot, panels, lane, row, lanes, machine)
    if panels is not None and panels.width != vectors * lanes:
        return None
    taps = [it for it in ks if it is not k]
    return DotProductPlan(dot, epilogue, load, columns, panels, taps, k, lane, shared[:-1], row, lanes, vectors, tile)


def _tile_size(
    dot: Dot, panels: DotPanels | None, lane: Iter, row: Iter | None, lanes: int, machine: Machine
) -> tuple[int, int]:
    """(vectors, rows) of a tile: with `shifted` there is one row more, and 128s."""
    vectors, tile = tile_size(machine, lane.extent.constant if panels is None else panels.width, lanes, row)
    if dot.shifted:
        vectors = min(vectors, dot.vectors(machine.registers))
        tile = 1 if row is None else min(_MOST_SHIFTED, tile_rows(machine, vectors, row))
    return vectors, tile


def _in_order(load: tir.LoadOp, k: Iter) -> bool:
    """Whether neighbouring k are neighbours in memory, along the last dimension."""
    if not load.indices or constant_slope(load, k) != 1:
        return False
    return all(k.expr not in sym_expr_of(i).free_vars() for i in list(load.indices)[:-1])


def _lane(epilogue: Epilogue, rows: tir.LoadOp) -> Iter | None:
    """The iterator along which the result is contiguous and A does not move."""
    for it in reversed(epilogue.stage.spatial):
        contiguous = constant_slope(epilogue.last.store, epilogue.iter_of(it)) == 1
        if contiguous and it.extent.constant not in (0, 1) and constant_slope(rows, it) == 0:
            return it
    return None


def _in_lanes(columns: SSAValue, lane: Iter) -> bool:
    """Whether B is an expression without branches, parts of which vary with the lanes."""
    ops = tree(columns)
    moves = any(isinstance(op, tir.LoadOp) and constant_slope(op, lane) != 0 for op in ops)
    return moves and not any(op.regions for op in ops)


def _reused(columns: SSAValue, rows: tir.LoadOp, it: Iter) -> bool:
    """Whether all of an iterator's values use the same B."""
    loads = [op for op in tree(columns) if isinstance(op, tir.LoadOp)]
    return it.extent.constant != 1 and constant_slope(rows, it) != 0 and all(constant_slope(b, it) == 0 for b in loads)


def dot_panels(columns: SSAValue, lane: Iter, k: Iter, group: int) -> DotPanels | None:
    """The panels that B stands in, as `pack-weights` orders constant weights; None where it does not."""
    load = columns.owner
    if not isinstance(load, tir.LoadOp) or len(load.indices) < 3 or lane.parts or k.extent.constant is None:
        return None
    last = cast(BufferType, load.buffer.type).dims[-1].constant
    if group == 1 or last is None or last % group:
        return None
    width, (number, *middle, step, place) = last // group, [sym_expr_of(i) for i in load.indices]
    wanted = floordiv(lane.expr, width), floordiv(k.expr, group)
    if (number, step) != wanted or place != add(mul(floormod(lane.expr, width), group), floormod(k.expr, group)):
        return None
    moves = any({lane.expr, k.expr} & set(index.free_vars()) for index in middle)
    return None if moves else DotPanels(load, width)
