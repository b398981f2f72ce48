"""The rule for elementwise stages that read along columns: squares are transposed in registers.

    for i: for j: Y[i, j] = X[j, i]
        ->
    for i in M / 16: for j in N / 16:
        v0, …, v15 = X[j * 16 + 0, i * 16 :+ 16], …, X[j * 16 + 15, i * 16 :+ 16]
        w0, …, w15 = the columns of v0, …, v15, by four rounds of shuffles
        Y[i * 16 + 0, j * 16 :+ 16], … = w0, …

Each cache line is read and written completely, and once. What is computed of the elements is computed by rows of a
transposed square. The remainders of both sides are computed element by element.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from ....dialects import tir
from ....dialects.dtypes import bit_width
from ....dialects.names import name_of
from ....dialects.sym.expr import Const, SymExpr, Var
from ...loop_builder import Bindings, LoopBuilder
from ..analysis.plan import Machine, Plan
from ..analysis.remarks import reject
from ..analysis.stages import Iter, Stage, constant_slope, is_in_order
from ..library.epilogue import Epilogue
from ..library.microkernel import tile_name, transposed
from ..policy.limits import MAX_SQUARE


@dataclass
class TransposePlan(Plan):
    """A plan in which `stored` runs along written rows and `loaded` along the rows that `loads` read.

    Squares have `size` rows.
    """

    stage: Stage
    loads: tuple[tir.LoadOp, ...]
    stored: Iter
    loaded: Iter
    size: int


def plan_transpose(epilogue: Epilogue, machine: Machine) -> TransposePlan | None:
    """Return the plan for a stage between two layouts, or None if this rule does not fit."""
    stage = epilogue.stage
    if epilogue.consumer is not None or stage.reduce or stage.init is not None:
        return reject("it is no elementwise stage")
    loads = [op for op in stage.loads if op.parent is stage.block.body.block and op.buffer is not stage.buffer]
    if any(bit_width(op.result.type) < 8 for op in loads):
        return reject("elements are narrower than bytes")
    for load in loads:
        size = min(MAX_SQUARE, machine.vector_bits // bit_width(load.result.type))
        stored, loaded = (_along(stage, access, size) for access in (stage.store, load))
        if size < 2 or stored is None or loaded is None or stored is loaded:
            continue
        same = [op for op in loads if op.result.type == load.result.type]
        alike = tuple(op for op in same if _reads(stage, op, size, loaded, stored))
        if load in alike:
            return TransposePlan(stage, alike, stored, loaded, size)
    return reject("nothing is read along one iterator and stored along another, each long enough for a square")


def _reads(stage: Stage, load: tir.LoadOp, size: int, loaded: Iter, stored: Iter) -> bool:
    """Return whether a load runs along `loaded`, and reads other elements for other values of `stored`."""
    return _along(stage, load, size) is loaded and constant_slope(load, stored) != 0


def _along(stage: Stage, access: tir.LoadOp | tir.StoreOp, size: int) -> Iter | None:
    """Return the iterator along which an access is contiguous, and which occurs only in its last index."""
    for it in stage.spatial:
        if (it.extent.constant or size) < size or constant_slope(access, it) != 1:
            continue
        if it.parts:
            return None if isinstance(access.buffer.owner, tir.AllocBufferOp) else it
        return it if is_in_order(access, it) else None
    return None


def emit_transpose(loops: LoopBuilder, plan: TransposePlan) -> None:
    """Emit the loops of a plan."""
    outer = [it for it in plan.stage.spatial if it not in (plan.stored, plan.loaded)]
    loops.nest(outer, {}, lambda where: _squares(loops, plan, where))


def _squares(loops: LoopBuilder, plan: TransposePlan, where: Bindings) -> None:
    """Emit full squares, then the remaining rows, then the remaining columns of the rows of squares."""
    size, stored, loaded = plan.size, plan.stored, plan.loaded
    rows, columns = (it.extent // size for it in (loaded, stored))

    def square(i: SSAValue, j: SSAValue) -> None:
        here = {loaded: _scaled(loops, i, size, loaded), stored: _scaled(loops, j, size, stored)}
        _square(loops, plan, {**where, **here})

    def row(i: SSAValue) -> None:
        loops.loop(columns, lambda j: square(i, j), dtype=stored.dtype, name=tile_name(stored, "i"))

    loops.loop(rows, row, dtype=loaded.dtype, name=tile_name(loaded, "i"))
    done = rows * size, columns * size
    _rest(loops, plan, where, (done[0], loaded.extent), (Const(0, stored.dtype), stored.extent))
    _rest(loops, plan, where, (Const(0, loaded.dtype), done[0]), (done[1], stored.extent))


def _scaled(loops: LoopBuilder, value: SSAValue, size: int, it: Iter) -> SSAValue:
    return loops.value(Var(value, it.dtype) * size)


def _rest(
    loops: LoopBuilder,
    plan: TransposePlan,
    where: Bindings,
    rows: tuple[SymExpr, SymExpr],
    columns: tuple[SymExpr, SymExpr],
) -> None:
    """Emit single elements in the ranges of rows and columns, each (first, end)."""
    loaded, stored = plan.loaded, plan.stored

    def element(i: SSAValue, j: SSAValue) -> None:
        here = {
            loaded: loops.value(rows[0] + Var(i, loaded.dtype), loaded.dtype),
            stored: loops.value(columns[0] + Var(j, stored.dtype), stored.dtype),
        }
        loops.cloner({**where, **here}).store(plan.stage.store)

    def row(i: SSAValue) -> None:
        loops.vectors(stored, columns[1] - columns[0], lambda j: element(i, j), name_of(stored.var))

    if (columns[1] - columns[0]).constant != 0:
        loops.loop(rows[1] - rows[0], row, dtype=loaded.dtype, name=name_of(loaded.var))


def _square(loops: LoopBuilder, plan: TransposePlan, where: Bindings) -> None:
    """Emit one square whose first element is at `where`."""
    squares = [_columns(loops, plan, load, where) for load in plan.loads]
    store, stored, loaded = plan.stage.store, plan.stored, plan.loaded
    if store.value is plan.loads[0].result:
        for step, value in enumerate(squares[0]):
            loops.store(value, store.buffer, _place(loops, plan, store, where, (loaded, step)))
        return
    buffers = [loops.scratch((plan.size, plan.size), load.result.type, "local") for load in plan.loads]
    first = loops.const(0, stored.dtype)
    for buffer, columns in zip(buffers, squares, strict=True):
        for step, value in enumerate(columns):
            loops.store(value, buffer, [loops.const(step, loaded.dtype), loops.ramp(first, plan.size)])

    def element(row: SSAValue, column: SSAValue) -> None:
        here = {loaded: loops.sum(where[loaded], row), stored: loops.sum(where[stored], column)}
        cloner = loops.cloner({**where, **here})
        for load, buffer in zip(plan.loads, buffers, strict=True):
            cloner.replace(load.result, loops.load(buffer, [row, column]))
        cloner.store(store)

    def row(i: SSAValue) -> None:
        loops.vectors(stored, plan.size, lambda j: element(i, j))

    loops.loop(plan.size, row, dtype=loaded.dtype)


def _columns(loops: LoopBuilder, plan: TransposePlan, load: tir.LoadOp, where: Bindings) -> list[SSAValue]:
    """Return the columns of the square that `load` reads."""
    places = (_place(loops, plan, load, where, (plan.stored, step)) for step in range(plan.size))
    return transposed(loops, [loops.load(load.buffer, place) for place in places])


def _place(
    loops: LoopBuilder, plan: TransposePlan, access: tir.LoadOp | tir.StoreOp, where: Bindings, step: tuple[Iter, int]
) -> list[SSAValue]:
    """Return the indices of a vector that is a number of steps of an iterator away from `where`."""
    across, distance = step
    here = loops.value(Var(where[across], across.dtype) + distance)
    cloner = loops.cloner({**where, across: here})
    *outer, last = (cloner(index) for index in access.indices)
    return [*outer, loops.ramp(last, plan.size)]
