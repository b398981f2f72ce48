"""`default-schedule`: what makes a tir function fast without tuning, on one thread.

The function is read as stages (`stages`). Elementwise producers are inlined (`inline`), elementwise consumers of
reductions become their epilogues (`epilogue`), neighbouring iterators one (`merge`); then the first rule of `RULES`
that fits writes the loops of a stage. What no rule fits, and what is not a stage, stays as it is. At last nests over
the same rows are joined (`fuse`).

Floating-point sums along contiguous memory (`lanes`) are taken in another order than tir's, as every BLAS does; those
of `tiles`, `panels` and `streams` keep their order. Multiplications and additions may be contracted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from ...dialects import tir
from ...dialects.sym.expr import Const
from ...ir.transform import Pass
from ...target import Target
from ...transforms.tir.walk import erase_with_tree, functions, remove_dead
from .dots import emit_dots, plan_dots
from .epilogue import Finish, find_finish
from .fuse import fuse_rows
from .inline import erase_if_unread, inline_stages
from .lanes import emit_lanes, plan_lanes
from .merge import merged
from .panels import FEWEST_ROWS, emit_panels, plan_panels
from .pointwise import emit_pointwise, plan_pointwise
from .positions import schedule_positions
from .rewrite import Loops
from .split import split_reductions
from .stages import analyse
from .streams import emit_streams, plan_streams
from .tiles import STEPS, Machine, emit_tiles, plan_tiles
from .transpose import emit_transpose, plan_transpose


@dataclass(frozen=True)
class DefaultSchedule(Pass):
    """Schedule every tir function for `target`, but those that say `tir.is_scheduled`."""

    name = "default-schedule"
    target: str = "llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target(self.target)
        machine = Machine(target.vector_bits, target.vector_registers, target.features)
        for func in functions(op):
            if func.func_attrs is None or "tir.is_scheduled" not in func.func_attrs.data:
                _schedule(func, machine)
                fuse_rows(func)
                remove_dead(func)


@dataclass(frozen=True)
class Rule:
    """How a kind of stage is written: `plan` says whether it fits (else None), `emit` appends the loops of a plan."""

    name: str
    plan: Callable[[Finish, Machine], Any]
    emit: Callable[[Loops, Any], None]

    def __call__(self, loops: Loops, finish: Finish, machine: Machine) -> bool:
        """Append the loops of a stage, and say whether it fits."""
        plan = self.plan(finish, machine)
        if plan is not None:
            self.emit(loops, plan)
        return plan is not None


RULES = (
    Rule("dots", plan_dots, emit_dots),
    Rule("panels", plan_panels, emit_panels),
    Rule("streams", plan_streams, emit_streams),
    Rule("tiles", plan_tiles, emit_tiles),
    Rule("lanes", partial(plan_lanes, fewest=8), emit_lanes),
    Rule("strided tiles", partial(plan_tiles, allowed=STEPS), emit_tiles),
    Rule("gathering tiles", partial(plan_tiles, allowed=None), emit_tiles),
    Rule("short lanes", plan_lanes, emit_lanes),
    Rule("transpose", plan_transpose, emit_transpose),
    Rule("pointwise", plan_pointwise, emit_pointwise),
)
"""The first one that fits writes the loops of a stage."""


def _schedule(func: tir.FuncOp, machine: Machine) -> None:
    split_reductions(func)
    schedule_positions(func, machine)
    body = func.body.block
    found = [analyse(op) for op in body.ops]
    if any(stage is None and _has_effect(op) for stage, op in zip(found, list(body.ops), strict=True)):
        for stage in found:
            if stage is not None and _emit(body, Finish(stage), machine):
                _remove(Finish(stage))
        return
    stages = inline_stages([s for s in found if s is not None])
    done: set[int] = set()
    for at, stage in enumerate(stages):
        if id(stage) in done:
            continue
        later = [s for s in stages[at + 1 :] if id(s) not in done]
        finish = find_finish(stage, later) if stage.reduce else Finish(stage)
        if _emit(body, finish, machine):
            done |= {id(stage)} | ({id(finish.epilogue)} if finish.epilogue is not None else set())
            _remove(finish)
        elif finish.epilogue is not None and _emit(body, Finish(stage), machine):
            _remove(Finish(stage))


def _has_effect(op: Operation) -> bool:
    """Whether an operation that is no stage may write: then stages are not moved across each other."""
    return bool(op.regions) or isinstance(op, tir.StoreOp | tir.EvaluateOp | tir.CallExternOp | tir.AssertOp)


def _emit(body: Block, finish: Finish, machine: Machine) -> bool:
    """Write the loops of a stage before its last operation; whether a rule fits."""
    block = Block()
    loops = Loops(block)
    if not _apply(loops, merged(finish), machine):
        return False
    anchor = finish.last.root
    for op in list(block.ops):
        op.detach()
        body.insert_op_before(op, anchor)
    return True


def _apply(loops: Loops, finish: Finish, machine: Machine) -> bool:
    """Write the loops of a stage by the first rule that fits.

    Few rows do not pay for a panel: where it is not known how many there are both ways are written.
    """
    first, _, *others = RULES
    if first(loops, finish, machine):
        return True
    plan = plan_panels(finish, machine)
    if plan is None:
        return any(rule(loops, finish, machine) for rule in others)
    few = Block()
    with loops.inside(few):
        both = plan.all_rows.constant is None and any(rule(loops, finish, machine) for rule in others)
    if not both:
        emit_panels(loops, plan)
        return True
    dtype = plan.row.dtype
    count, limit = loops.value(plan.all_rows, dtype), loops.value(Const(FEWEST_ROWS, dtype), dtype)
    loops.branch(loops.op(tir.GeOp(count, limit)), lambda: emit_panels(loops, plan), few)
    return True


def _remove(finish: Finish) -> None:
    """Erase the stages that a rule has written anew, and the intermediate buffer between them."""
    for stage in (finish.epilogue, finish.stage):
        if stage is not None:
            erase_with_tree(stage.root)
    for stage in (finish.stage, finish.epilogue):
        if stage is not None:
            erase_if_unread(stage.buffer)
