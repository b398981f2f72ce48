"""A microkernel of the default schedule: sums over anything but columns, for a strip of columns in registers."""

from dataclasses import dataclass

from tirax.extend import (
    Iter,
    RowTile,
    StageRule,
    SumPlan,
    constant_slope,
    element_bits,
    in_blocks,
    register_rule,
    row_tiles,
    strips,
    update_of,
)


@dataclass
class ColumnPlan(SumPlan):
    """Strips of `vectors` vectors of `lanes` columns along `lane`."""

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

    def strip_at(where, strip):
        size = (1, plan.vectors)
        row_tiles(loops, None, plan.lane, size, lambda rows: ColumnTile(plan, strip, where, rows).emit())

    def row(where):
        strips(loops, plan.lane, sizes, lambda strip: strip_at(where, strip), tail=plan.lanes, name="columns")

    loops.nest(outer, {}, row)


class ColumnTile(RowTile):
    """A strip of columns, whose innermost loop takes several steps at a time."""

    def reduce(self, acc):
        """All steps of the reduction."""
        *outer, k = self.plan.stage.reduce

        def steps(ks):
            def step(at):
                self.step({**ks, k: self.loops.value(at, k.dtype)}, acc)

            in_blocks(self.loops, k, k.extent, step)

        self.loops.nest(outer, {}, steps)


register_rule(StageRule("columns", plan_columns, emit_columns, decides=("vectors",)), before="register_tiles")
