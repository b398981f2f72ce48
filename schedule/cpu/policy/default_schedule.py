"""`default-schedule` optimizes tir functions for one thread without tuning; `plan-schedule` records its decisions.

The function is analyzed as stages (`stages`). Elementwise producers are inlined (`inline`), elementwise consumers
of reductions become their epilogues (`epilogue`), and neighbouring iterators are fused (`fuse_iters`); then the
first rule of the table (`rules`) that fits emits the loops of a stage. Code that is not a stage, or that no rule
fits, is left unchanged. Finally, nests over the same rows are merged (`merge_loops`), and rows are computed at
their first use.

`plan-schedule` records the decisions as a `sched.sequence` with the name of the function; an existing sequence is
followed.

Floating-point sums along contiguous memory (`vector_reduction`) are reassociated, as in every BLAS; sums of
`register_tiles`, `panels` and `row_streams` keep their order. Multiplications and additions may be contracted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region

from ....diagnostics import unknown_name
from ....dialects import tir
from ....dialects.quick import clone
from ....dialects.sched import RuleOp, SequenceOp, Version
from ....ir.accumulators import widen_accumulators
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....target import Target
from ....transforms.tir.walk import functions, is_scheduled, remove_dead
from ..analysis.plan import DecisionError, Machine
from ..analysis.stages import Stage, analyse, split_reductions
from ..library.inline import inline_stages
from ..library.merge_loops import merge_loops
from ..library.relax_nan_max import relax_nan_max
from ..library.split_digits import split_digits
from .choices import AnyDecision
from .decisions import INLINE, Decisions


@dataclass(frozen=True)
class DefaultSchedule(Pass):
    """Schedule every tir function for `target`, except those with `tir.is_scheduled`.

    Sequences of the module that name a function are followed and removed; those of MLIR's dialect `transform`, which
    `apply-transform` runs, are removed. Raises `DecisionError` or
    `NameLookupError` if a sequence cannot be followed.
    """

    name = "default-schedule"
    target: str = "llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = Machine.of(Target(self.target))
        sequences = pop_sequences(op)
        for other in [o for o in op.body.block.ops if o.name == "transform.named_sequence"]:
            other.detach()
        for func in functions(op):
            if is_scheduled(func):
                widen_accumulators(func)
            else:
                decisions = Decisions(machine, sequences.get(func.sym_name.data))
                for decision in decided(func, decisions):
                    decision.apply()
                decisions.require_all_followed()
                merge_loops(func)
                remove_dead(func)


def pop_sequences(module: ModuleOp) -> dict[str, SequenceOp]:
    """Remove and return the sequences of the module that name a function.

    Raises an error if there is no such function, or if it is already scheduled.
    """
    funcs = {func.sym_name.data: func for func in functions(module)}
    sequences: dict[str, SequenceOp] = {}
    for op in [op for op in module.body.block.ops if isinstance(op, SequenceOp)]:
        name = op.function_name
        if name is None:
            continue
        if name not in funcs:
            raise unknown_name("function", name, funcs, location_of(op))
        if name in sequences or is_scheduled(funcs[name]):
            raise DecisionError(f"@{name} has a schedule already", location=location_of(op), expected="one for each")
        sequences[name] = op
        op.detach()
    return sequences


def decided(func: tir.FuncOp, decisions: Decisions) -> Iterator[AnyDecision]:
    """Yield the decision for each stage in order; the caller may apply a decision as soon as it is yielded, or not
    at all.

    Reductions with several results are split and producers are inlined first.
    """
    split_reductions(func)
    body = func.body.block
    taken: set[Operation] = set()
    attention = decisions.attention(func)
    if attention is not None:
        taken.update(attention.roots)
        yield attention
    else:
        widen_accumulators(func)
    for root in [op for op in body.ops if op not in taken]:
        decision = decisions.nest(root)
        if decision is not None:
            yield decision
    ops = [op for op in body.ops if op not in taken]
    analysed = [analyse(op) for op in ops]
    if taken or any(stage is None and _has_effect(op) for stage, op in zip(analysed, ops, strict=True)):
        for stage in analysed:
            decision = None if stage is None else decisions.choose(stage, [])
            if decision is not None:
                yield decision
        return
    stages = _inlined([s for s in analysed if s is not None], decisions)
    stages = split_digits(stages)
    relax_nan_max(stages)
    done: set[Operation] = set()
    for at, stage in enumerate(stages):
        if stage.root in done:
            continue
        decision = decisions.choose(stage, [s for s in stages[at + 1 :] if s.root not in done])
        if decision is not None:
            done.update(decision.roots)
            yield decision


def _inlined(stages: list[Stage], decisions: Decisions) -> list[Stage]:
    """Inline stages until none is left that pays: what two stages read, one does after they became one."""
    left = inline_stages(stages, decisions.inlines)
    while len(left) < len(stages):
        stages, left = left, inline_stages(left, decisions.inlines)
    return left


def _has_effect(op: Operation) -> bool:
    """Return whether an operation that is not a stage may write, so that stages must not be moved across it."""
    return bool(op.regions) or isinstance(op, tir.StoreOp | tir.EvaluateOp | tir.CallExternOp | tir.AssertOp)


@dataclass(frozen=True)
class PlanSchedule(Pass):
    """Insert after each tir function the sequence of rules that `default-schedule` applies to it for `target`.

    Functions with `tir.is_scheduled`, and those that already have a sequence, are skipped.
    """

    name = "plan-schedule"
    target: str = "llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = Machine.of(Target(self.target))
        block = op.body.block
        there = {s.function_name for s in block.ops if isinstance(s, SequenceOp)}
        for func in functions(op):
            if func.sym_name.data not in there and not is_scheduled(func):
                sequence = planned(func, machine)
                if sequence.rules:
                    block.insert_op_after(sequence, func)


def planned(func: tir.FuncOp, machine: Machine) -> SequenceOp:
    """Return the rules for the blocks of a function, which is not changed."""
    decisions = Decisions(machine)
    chosen = [RuleOp(decision.block, decision.versions, decision.then) for decision in decided(clone(func), decisions)]
    inlined = [RuleOp(block, [Version(INLINE, {})]) for block in decisions.inlined]
    return SequenceOp(Region(Block([*inlined, *chosen])), func.sym_name.data)
