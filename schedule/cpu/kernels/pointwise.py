"""The rule for stages without reduction: loops in the original order, vectors along the contiguously stored iterator.

for i: for j: Y[i, j] = f(X[i, j])   ->   for i: for vectorized j: Y[i, j] = f(X[i, j])

A row that is divided by a value computed for that row, as in softmax, is multiplied by its reciprocal instead
(`reciprocals`). Rows of a result that exceeds the caches are stored past them (`prefetch`), and their inputs are
prefetched line by line:

    for i: for j in J / 16:
        prefetch X[i, 16 j + 512]
        for vectorized c in 16: Y[i, 16 j + c] = tirax_streamed(f(X[i, 16 j + c]))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from xdsl.ir import SSAValue

from ....dialects import tir
from ....dialects.dtypes import bit_width
from ....dialects.names import name_of
from ....dialects.sym.expr import SymExpr
from ....dialects.sym.operators import minimum
from ...loop_builder import Bindings, LoopBuilder
from ..analysis.plan import Machine, Plan
from ..analysis.remarks import reject
from ..analysis.stages import Iter, Stage, constant_slope, element_type
from ..library.epilogue import Epilogue
from ..library.microkernel import pieces, tile_name
from ..library.prefetch import can_be_streamed, prefetch_load, rows_from_far, should_stream, streamed
from ..library.reciprocals import Reciprocals
from ..library.segments import Choice, Rows, Taken, choices_of, take
from ..policy.limits import LINE_BITS, MAX_ROW_CHOICES, STREAM_LINES_AHEAD

_STORES = ("cached", "streamed")


@dataclass
class PointwisePlan(Plan):
    """A plan with vectors along `lane`, if any; stores go to a cache, or are streamed past the caches."""

    stage: Stage
    lane: Iter | None
    stores: str = _STORES[0]
    choices: Mapping[tir.IfThenElseOp, Choice] = field(default_factory=dict[tir.IfThenElseOp, Choice])

    @property
    def problem(self) -> str | None:
        """Return which numbers the plan requires, or None if its numbers are valid."""
        fitting = _STORES if can_be_streamed(self.stage) else _STORES[:1]
        return None if self.stores in fitting else " or ".join(f'stores = "{word}"' for word in fitting)


def plan_pointwise(epilogue: Epilogue, machine: Machine) -> PointwisePlan | None:
    """Return the plan for a stage without reduction, or None."""
    stage = epilogue.stage
    if stage.reduce or stage.init is not None:
        return reject("it reduces")
    lane = next((it for it in reversed(stage.iters) if _fits(stage, it)), None)
    large = lane is not None and should_stream(stage, machine)
    return PointwisePlan(stage, lane, _STORES[large], _choices(stage, lane, machine))


def _choices(stage: Stage, lane: Iter | None, machine: Machine) -> dict[tir.IfThenElseOp, Choice]:
    """Return the choices for which rows are split; none if rows are shorter than two vectors."""
    short = 2 * machine.vector_bits // bit_width(element_type(stage.buffer))
    if lane is None or (lane.extent.constant or short) < short:
        return {}
    choices = choices_of(stage, lane) or {}
    return choices if len(choices) <= MAX_ROW_CHOICES else {}


def emit_pointwise(loops: LoopBuilder, plan: PointwisePlan) -> None:
    """Emit the loops of a plan."""
    outer = [it for it in plan.stage.iters if it is not plan.lane]
    loops.nest(outer, {}, lambda where: _along(loops, plan, where))


def _fits(stage: Stage, it: Iter) -> bool:
    return it.extent.constant != 1 and constant_slope(stage.store, it) == 1


def _along(loops: LoopBuilder, plan: PointwisePlan, where: Bindings) -> None:
    stage, lane, past_caches = plan.stage, plan.lane, plan.stores == "streamed"
    if lane is None:
        _element(loops, stage, where)
        return

    def row(factors: Reciprocals | None) -> None:
        def body(v: SSAValue, taken: Taken | None = None) -> None:
            _element(loops, stage, {**where, lane: v}, factors, taken or {}, past_caches=past_caches)

        def part(begin: SymExpr, size: SymExpr, taken: Taken) -> None:
            first = loops.value(begin, lane.dtype)
            at_start = begin.constant == 0
            loops.vectors(lane, size, lambda c: body(c if at_start else loops.sum(first, c), taken), name_of(lane.var))

        if plan.choices and not far:
            Rows(loops, stage, lane, where, plan.choices, part, splits=not past_caches).run()
        elif far:
            width = LINE_BITS // bit_width(element_type(stage.buffer))
            _lines(loops, lane, width, body, lambda at: _prefetch_line(loops, far, {**where, lane: at}))
        else:
            loops.vectors(lane, lane.extent, body, name_of(lane.var))

    far = rows_from_far(stage, lane) if past_caches else []
    factors = Reciprocals.of(stage.store.value, lane)
    if factors is None:
        row(None)
    else:
        factors.emit(loops, where, row)


def _lines(
    loops: LoopBuilder, lane: Iter, width: int, body: Callable[[SSAValue], object], ask: Callable[[SSAValue], None]
) -> None:
    """Emit `body` along `lane`, in lines of `width` elements, with `ask` at the beginning of each later line."""

    def vectors(begin: SymExpr, size: SymExpr | int) -> None:
        first = loops.value(begin, lane.dtype)
        loops.vectors(lane, size, lambda c: body(loops.sum(first, c)))

    def line(begin: SymExpr, size: int) -> None:
        ask(loops.value(minimum(begin + STREAM_LINES_AHEAD * size, lane.extent - 1), lane.dtype))
        vectors(begin, size)

    done = pieces(loops, lane, [(width, None)], line, tile_name(lane, "j", "line"))
    vectors(done, lane.extent - done)


def _prefetch_line(loops: LoopBuilder, loads: list[tir.LoadOp], where: Bindings) -> None:
    for load in loads:
        prefetch_load(loops, load, loops.cloner(where))


def _element(
    loops: LoopBuilder,
    stage: Stage,
    where: Bindings,
    factors: Reciprocals | None = None,
    taken: Taken = MappingProxyType({}),
    *,
    past_caches: bool = False,
) -> None:
    cloner = loops.cloner(where)
    take(cloner, stage.store.value, taken)
    if factors is not None:
        factors.replace_divisions(loops, cloner)
    value = cloner(stage.store.value)
    if past_caches:
        value = streamed(loops, value)
    cloner.store(stage.store, value)
