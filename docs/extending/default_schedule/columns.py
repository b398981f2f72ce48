"""A microkernel of the default schedule: sums over anything but columns, for a strip of columns in registers."""

from dataclasses import dataclass

from tirax.schedule.cpu.analysis.stages import Update, constant_slope, element_type, update_of
from tirax.schedule.cpu.library.microkernel import StagePlan, accumulate, begin, element_bits, strips
from tirax.schedule.cpu.policy.rules import StageRule, register_rule
from tirax.schedule.loop_builder import Iter


@dataclass
class ColumnPlan(StagePlan):
    """Strips of `vectors` vectors of `lanes` columns along `lane`."""

    update: Update
    lane: Iter
    lanes: int
    vectors: int = 4


def plan_columns(epilogue, machine):
    """The plan for a reduction whose columns are neighbours in memory, None where there is none."""
    stage = epilogue.stage
    update = update_of(stage)
    if update is None or not stage.reduce or not stage.spatial:
        return None
    lane = stage.spatial[-1]
    steps = {constant_slope(load, lane) for load in stage.loads}
    if not steps <= {0, 1} or constant_slope(epilogue.last.store, epilogue.iter_of(lane)) != 1:
        return None
    return ColumnPlan(epilogue, update, lane, machine.vector_bits // element_bits(stage))


def emit_columns(loops, plan):
    """The loops of a plan."""
    outer = [it for it in plan.stage.spatial if it is not plan.lane]
    sizes = [(plan.lanes * plan.vectors, None)]

    def row(where):
        strips(loops, plan.lane, sizes, lambda strip: tile(plan, strip, where), tail=plan.lanes, name="columns")

    loops.nest(outer, {}, row)


def tile(plan, strip, outer):
    """The columns of a strip; the other iterators are at `outer`."""
    loops = strip.loops
    acc = loops.registers([strip.size], element_type(plan.stage.buffer))

    def start(c):
        begin(strip, plan.stage, plan.update, {**outer, plan.lane: strip.at(c)}, (acc, [c]))

    def step(ks, c):
        where = {**outer, **ks, plan.lane: strip.at(c)}
        accumulate(loops, loops.cloner(where), plan.update, (acc, [c]), strip.guard(where))

    def end(c):
        where = {**outer, plan.lane: strip.at(c)}
        plan.epilogue.store(loops, where, loops.load(acc, [c]), strip.guard(where))

    strip.vectors(start)
    loops.nest(plan.stage.reduce, {}, lambda ks: strip.vectors(lambda c: step(ks, c)))
    strip.vectors(end)


register_rule(StageRule("columns", plan_columns, emit_columns, decides=("vectors",)), before="register_tiles")
