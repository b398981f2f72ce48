"""User rules that are written with the primitives of `Schedule`, or that replay the trace of such a schedule.

    def rows(sch, block):
        i, j, k = sch.get_loops(block)
        i_0, i_1 = sch.split(i, [None, 4])
        sch.reorder(i_0, j, k, i_1)

    register_rule(rule_of_function("rows", rows), before="register_tiles")

The function takes a schedule of a module that contains only the stage, and the elementwise stage that becomes its
epilogue, if any. The rule does not fit if a step raises an error, or if the function does nothing. An epilogue that
is left unchanged is scheduled like any other stage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ....dialects import tir
from ....dialects.names import name_of, set_name
from ....transforms.tir.walk import erase_with_tree, values_of
from ...loop_builder import LoopBuilder
from ...rewrite import refresh_regions
from ...schedule import Schedule
from ...state import ScheduleError
from ...trace import Trace
from ..analysis.plan import Machine, Plan
from ..analysis.remarks import reject
from ..analysis.stages import analyse, function_name
from ..library.epilogue import Epilogue
from .rules import StageRule

Function = Callable[[Any, Any], object]
"""A function that takes a schedule and a block."""


def rule_of_function(name: str, function: Function) -> StageRule:
    """Return a rule that fits if `function(sch, block)` takes a step and none of its steps raises an error."""
    return StageRule(name, lambda epilogue, machine: _planned(epilogue, function), _emit)


def rule_of_trace(name: str, trace: Trace | str) -> StageRule:
    """Return a rule that replays a trace, or its MLIR text, on blocks with the names used in it.

    If the trace names a function, the blocks must belong to it. Raises an error if the text is not a trace.
    """
    steps = Trace.from_mlir(trace) if isinstance(trace, str) else trace
    named = [inst.args for inst in steps.insts if inst.SPEC.name == "get_block"]
    blocks, functions = {args["name"] for args in named}, {args.get("func_name") for args in named} - {None}

    def plan(epilogue: Epilogue, machine: Machine) -> Scheduled | None:
        there = {stage.block.name_hint for stage in (epilogue.stage, epilogue.last)}
        if epilogue.stage.block.name_hint not in blocks or not blocks <= there:
            return reject(f"its trace is of the blocks {', '.join(sorted(blocks))}")
        if functions and functions != {function_name(epilogue.stage.root)}:
            return reject(f"its trace is of the function {', '.join(map(str, functions))}")
        return _planned(epilogue, lambda sch, block: steps.apply_to_schedule(sch))

    return StageRule(name, plan, _emit)


@dataclass
class _Alone:
    """A function with copies of the `roots` of a stage and its epilogue; its parameters correspond to `outside`.

    The intermediate `buffer` between the two is allocated in the function.
    """

    func: tir.FuncOp
    outside: list[SSAValue]
    roots: list[Operation]
    buffer: SSAValue | None


@dataclass
class Scheduled(Plan):
    """A stage after primitives were applied; with `leaves_epilogue` its epilogue is not included."""

    alone: _Alone
    epilogue: Epilogue
    leaves_epilogue: bool


def _planned(epilogue: Epilogue, function: Function) -> Scheduled | None:
    """Apply a function to a stage; None if it raises an error or does nothing."""
    alone = _alone(epilogue)
    if alone is None:
        return reject("it uses more from outside than buffers, scalars and numbers")
    sch = Schedule.on(ModuleOp([alone.func]), error_render_level="none", restore=False)
    name = alone.func.sym_name.data
    sch.work_on(name)
    try:
        function(sch, sch.get_block(epilogue.stage.block.name_hint, name))
    except ScheduleError as error:
        return reject(f"a step is refused: {error.message}")
    if all(inst.SPEC.only_names for inst in sch.trace.insts):
        return reject("it takes no step")
    return Scheduled(alone, epilogue, _is_left(alone))


def _is_left(alone: _Alone) -> bool:
    """Return whether the epilogue is still a stage that reads the result of the other one."""
    if alone.buffer is None or not isinstance(alone.buffer.owner, tir.AllocBufferOp):
        return False
    body, last = alone.func.body.block, alone.roots[-1]
    return alone.buffer.owner.parent is body and last.parent is body and analyse(last) is not None


def _alone(epilogue: Epilogue) -> _Alone | None:
    """Return copies of a stage and its epilogue; None if they use more from outside than buffers, scalars and
    numbers.
    """
    stages = [epilogue.stage] if epilogue.consumer is None else [epilogue.stage, epilogue.consumer]
    between = None if epilogue.consumer is None else epilogue.stage.buffer
    used = dict.fromkeys(value for stage in stages for value in _from_outside(stage.root))
    block = Block()
    mapping: dict[SSAValue, SSAValue] = {}
    for value in used:
        owner = value.owner
        if value is between or isinstance(owner, tir.ConstOp):
            copy = cast(Operation, owner).clone()
            block.add_op(copy)
            mapping[value] = copy.results[0]
        elif isinstance(owner, Block | tir.AllocBufferOp):
            mapping[value] = block.insert_arg(value.type, len(block.args))
            set_name(mapping[value], name_of(value))
        else:
            return None
    outside = [value for value in used if isinstance(mapping[value].owner, Block)]
    roots = [stage.root.clone(value_mapper=mapping) for stage in stages]
    block.add_ops(roots)
    func = tir.FuncOp(function_name(epilogue.stage.root), Region(block), attrs={"tir.noalias": True})
    for inner in list(func.walk()):
        if isinstance(inner, tir.BlockOp):
            refresh_regions(inner)
    return _Alone(func, outside, roots, None if between is None else mapping[between])


def _from_outside(root: Operation) -> list[SSAValue]:
    """Return the values that the operations in `root` use and do not define."""
    ops = list(root.walk())
    inside = {value for op in ops for value in values_of(op)}
    return [value for op in ops for value in op.operands if value not in inside]


def _emit(loops: LoopBuilder, plan: Scheduled) -> None:
    """Move the scheduled code to the location of the stage."""
    alone, body = plan.alone, plan.alone.func.body.block
    if plan.leaves_epilogue and alone.buffer is not None:
        erase_with_tree(alone.roots[-1])
        alone.buffer.replace_all_uses_with(plan.epilogue.stage.buffer)
        erase_with_tree(cast(Operation, alone.buffer.owner))
    for parameter, value in zip(body.args, alone.outside, strict=True):
        parameter.replace_all_uses_with(value)
    for op in list(body.ops):
        op.detach()
        loops.insert(op)
