"""`default-schedule`: what makes a tir function fast without tuning, on one thread.

The function is read as stages (`stages`). Elementwise producers are inlined (`inline`), elementwise consumers of
reductions become their epilogues (`epilogue`); then the first rule of `RULES` that fits writes the loops of a stage.
What no rule fits, and what is not a stage, stays as it is.

Floating-point sums along contiguous memory (`lanes`) are taken in another order than tir's, as every BLAS does; those
of `tiles` keep their order. Multiplications and additions may be contracted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from ...dialects import tir
from ...ir.transform import Pass
from ...target import Target
from ...transforms.tir.walk import erase_with_tree, functions, remove_dead
from .epilogue import Finish, find_finish
from .inline import erase_if_unread, inline_stages
from .lanes import emit_lanes, plan_lanes
from .pointwise import emit_pointwise
from .rewrite import Loops
from .split import split_reductions
from .stages import analyse
from .tiles import Machine, emit_tiles, plan_tiles


@dataclass(frozen=True)
class DefaultSchedule(Pass):
    """Schedule every tir function for `target`, but those that say `tir.is_scheduled`."""

    name = "default-schedule"
    target: str = "llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target(self.target)
        machine = Machine(target.vector_bits, target.vector_registers)
        for func in functions(op):
            if func.func_attrs is None or "tir.is_scheduled" not in func.func_attrs.data:
                _schedule(func, machine)
                remove_dead(func)


def _tiles(loops: Loops, finish: Finish, machine: Machine) -> bool:
    plan = plan_tiles(finish, machine)
    if plan is not None:
        emit_tiles(loops, plan)
    return plan is not None


def _lanes(loops: Loops, finish: Finish, machine: Machine) -> bool:
    plan = plan_lanes(finish, machine)
    if plan is not None:
        emit_lanes(loops, plan)
    return plan is not None


def _pointwise(loops: Loops, finish: Finish, machine: Machine) -> bool:
    stage = finish.stage
    if stage.reduce or stage.init is not None:
        return False
    emit_pointwise(loops, stage)
    return True


RULES: tuple[Callable[[Loops, Finish, Machine], bool], ...] = (_tiles, _lanes, _pointwise)
"""Each writes the loops of a stage and says whether it fits; the first that does is taken."""


def _schedule(func: tir.FuncOp, machine: Machine) -> None:
    split_reductions(func)
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
    if not any(rule(loops, finish, machine) for rule in RULES):
        return False
    anchor = finish.last.root
    for op in list(block.ops):
        op.detach()
        body.insert_op_before(op, anchor)
    return True


def _remove(finish: Finish) -> None:
    """Erase the stages that a rule has written anew, and the intermediate buffer between them."""
    for stage in (finish.epilogue, finish.stage):
        if stage is not None:
            erase_with_tree(stage.root)
    for stage in (finish.stage, finish.epilogue):
        if stage is not None:
            erase_if_unread(stage.buffer)
