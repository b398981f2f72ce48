"""`tvm.meta_schedule.testing.space_generation`: comparison of a design space's sketches with expected ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...handles.equality import structural_equal
from ...handles.module import IRModule
from ...handles.tir.prim_func import PrimFunc
from ...schedule.schedule import Schedule
from ...schedule.trace import Trace
from ...target import Target
from ...tuning.context import TuneContext
from ...tuning.schedule_rules import ScheduleRule
from ...tuning.space import PostOrderApply
from .schedules import verify_trace_roundtrip

Decisions = Sequence[tuple[str, Any]]
"""The sampled decisions of a sketch, in order: the kind of the instruction and the decision."""


def generate_design_space(
    kind: str,
    mod: IRModule | PrimFunc,
    target: Target,
    types: type | tuple[type, ...] | None,
    sch_rules: Sequence[ScheduleRule] | None = None,
) -> list[Schedule]:
    """Return the design space of a function from the schedule rules of a kind that are of `types`, or from `sch_rules`.

    Raises `ValueError` if both or neither of `types` and rules are passed.
    """
    if (types is None) == (sch_rules is None):
        raise ValueError("either the types of rules are given, or rules")
    rules = sch_rules
    if rules is None:
        rules = [rule for rule in ScheduleRule.create(kind) if isinstance(rule, types or ())]
    space = PostOrderApply(sch_rules=rules, postprocs=[], mutator_probs={})
    module = mod if isinstance(mod, IRModule) else IRModule({"main": mod})
    return TuneContext(mod=module, target=target, space_generator=space, task_name="test").generate_design_space()


def check_sketches(
    mod: IRModule | PrimFunc,
    sketches: Iterable[Schedule],
    expected_mods: Sequence[IRModule | PrimFunc],
    expected_decisions: Sequence[Decisions],
    *,
    debug_mask: str | int = "all",
) -> None:
    """Assert that the sketches, with the expected decisions, are exactly the expected modules.

    Raises `AssertionError` otherwise.
    """
    left = list(sketches)
    counts = len(left), len(expected_mods), len(expected_decisions)
    if len(set(counts)) != 1:
        raise AssertionError("{} sketches, {} expected modules, {} lists of decisions".format(*counts))
    for expected, decisions in zip(expected_mods, expected_decisions, strict=True):
        expected_mod = expected if isinstance(expected, IRModule) else IRModule({"main": expected})
        match = next((s for s in left if _is(s, mod, expected_mod, decisions, debug_mask)), None)
        if match is None:
            shown = "\n\n".join(_shown(s, mod, decisions) for s in left)
            raise AssertionError(f"no sketch is\n\n{expected_mod.script()}\n\nbut\n\n{shown}")
        left.remove(match)


def print_sketches(sketches: Sequence[Schedule]) -> None:
    """Print each sketch: its module and its decisions."""
    for k, sketch in enumerate(sketches):
        samples = [(i.kind.name, sketch.trace.get_decision(i)) for i in _samples(sketch.trace)]
        print(f"# sketch {k}\n{sketch.mod.script()}\ndecisions = {samples!r}\n")


def _samples(trace: Trace) -> list[Any]:
    return [inst for inst in trace.insts if inst.kind.name.startswith("Sample")]


def _with_decisions(sketch: Schedule, decisions: Decisions) -> Trace | None:
    """Return the trace of a sketch with other decisions, or None if it samples other instructions."""
    kinds = [inst.kind.name for inst in _samples(sketch.trace)]
    if kinds != [kind for kind, _ in decisions]:
        return None
    trace = sketch.trace
    for k, (_, decision) in enumerate(decisions):
        trace = trace.with_decision(_samples(trace)[k], decision, remove_postproc=True)
    return trace


def _applied(sketch: Schedule, mod: Any, decisions: Decisions, debug_mask: str | int) -> Schedule | None:
    trace = _with_decisions(sketch, decisions)
    if trace is None:
        return None
    new = Schedule(mod, debug_mask=debug_mask)
    trace.apply_to_schedule(new, remove_postproc=True)
    return new


def _is(sketch: Schedule, mod: Any, expected: IRModule, decisions: Decisions, debug_mask: str | int) -> bool:
    new = _applied(sketch, mod, decisions, debug_mask)
    if new is None or not structural_equal(_nameless(new.mod), _nameless(expected)):
        return False
    verify_trace_roundtrip(new, mod, debug_mask=debug_mask, text_format="json")
    return True


def _shown(sketch: Schedule, mod: Any, decisions: Decisions) -> str:
    new = _applied(sketch, mod, decisions, "none")
    return "# it samples something else\n" * (new is None) + (new or sketch).mod.script()


def _nameless(mod: IRModule) -> IRModule:
    """Return the module with private functions, so that their symbols do not matter."""
    return IRModule({g.name_hint: f.without_attr("global_symbol") for g, f in mod.functions_items()})


__all__ = ["check_sketches", "generate_design_space", "print_sketches"]
