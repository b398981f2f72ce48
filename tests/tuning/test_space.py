"""Design spaces: those of TVM where its rules are the same, meaning kept by all of them, rules of one's own."""

from __future__ import annotations

import re

import pytest
from spaces import CHAIN, SMALL, SPACES, context_of, finished, module_of

from tirax.diagnostics import NameLookupError, TiraxError, UnsupportedError
from tirax.interpreter import assert_same_meaning
from tirax.schedule import Schedule, ScheduleError, Trace
from tirax.tuning.analysis import TILING_STRUCTURE, annotation
from tirax.tuning.context import TuneContext
from tirax.tuning.schedule_rules import CUSTOM_RULES, ApplyCustomRule, MultiLevelTiling, ReuseType, ScheduleRule
from tirax.tuning.space import PostOrderApply, ScheduleFn, SpaceGeneratorUnion


def lines(sch: Schedule) -> list[str]:
    """The steps without decisions."""
    return [re.sub(r"decision=(\[[^\]]*\]|-?\d+)", "decision=?", line) for line in str(sch.trace).split("\n")[2:]]


@pytest.mark.parametrize("name", SPACES)
def test_the_spaces_are_tvms(name: str) -> None:
    result = context_of(SPACES[name]["source"]).generate_design_space()
    expected = SPACES[name]["spaces"]
    assert [lines(sch) for sch in result] == expected


@pytest.mark.parametrize("source", [SMALL, CHAIN, SPACES["transpose"]["source"]], ids=["matmul", "chain", "transpose"])
def test_every_space_keeps_the_meaning(source: str) -> None:
    context = context_of(source, seed=3)
    for sch in context.generate_design_space():
        assert_same_meaning(context.mod.op, sch.mod.op)
        assert_same_meaning(context.mod.op, finished(context, sch.trace).mod.op)


def test_a_seed_gives_the_same_space() -> None:
    first, second, other = (
        [str(s.trace) for s in context_of(SMALL, seed=k).generate_design_space()] for k in (5, 5, 6)
    )
    assert first == second
    assert first != other


def test_a_function_makes_the_space() -> None:
    def tiled(sch: Schedule) -> list[Schedule]:
        other = sch.copy()
        sch.vectorize(sch.get_loops(sch.get_block("C"))[1])
        return [sch, other]

    space = context_of(SMALL, space=ScheduleFn(tiled)).generate_design_space()
    assert len(space) == 2
    assert "T.vectorized" in space[0].mod.script()
    assert "T.vectorized" not in space[1].mod.script()
    assert len(context_of(SMALL, space=ScheduleFn(lambda sch: None)).generate_design_space()) == 1
    with pytest.raises(TiraxError, match="sch_fn gives schedules"):
        context_of(SMALL, space=ScheduleFn(lambda sch: 7)).generate_design_space()


def test_a_union_has_the_spaces_of_all() -> None:
    union = SpaceGeneratorUnion([ScheduleFn(lambda sch: None), PostOrderApply()])
    assert len(context_of(SMALL, space=union).generate_design_space()) == 4


def test_blocks_can_be_left_out() -> None:
    space = PostOrderApply(lambda block: block.block_name.data != "C")
    (sch,) = context_of(SMALL, space=space).generate_design_space()
    assert annotation(sch.operation(sch.get_block("C")), TILING_STRUCTURE) is None


def test_rules_are_explicit_or_the_targets() -> None:
    class Marks(ScheduleRule):
        def apply(self, sch, block):
            sch.annotate(block, "seen", 1)
            return [sch]

    space = PostOrderApply(sch_rules=[Marks()], postprocs=None, mutator_probs=None)
    (sch,) = context_of(SMALL, space=space).generate_design_space()
    assert sch.mod.script().count('"seen": 1') == 2
    assert (space.postprocs, space.mutator_probs) == ([], {})
    with pytest.raises(UnsupportedError, match="schedule rules of kind 'adreno'"):
        context_of(SMALL, space=PostOrderApply(sch_rules="adreno"))


def test_a_block_asks_for_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    def unrolled(sch, block):
        sch.unroll(sch.get_loops(block)[-1])
        return sch

    monkeypatch.setitem(CUSTOM_RULES._entries, "unrolled", unrolled)
    marked = Schedule(module_of(SMALL))
    marked.annotate(marked.get_block("C"), "schedule_rule", "unrolled")
    space = PostOrderApply(sch_rules=[ApplyCustomRule()], postprocs=(), mutator_probs=None)
    (sch,) = TuneContext(marked.mod, "llvm", space, rand_state=1).generate_design_space()
    assert "T.unroll" in sch.mod.script()
    assert "schedule_rule" not in sch.mod.script()
    marked.unannotate(marked.get_block("C"), "schedule_rule")
    marked.annotate(marked.get_block("C"), "schedule_rule", "unroled")
    with pytest.raises(NameLookupError, match="unroled"):
        TuneContext(marked.mod, "llvm", space, rand_state=1).generate_design_space()


@pytest.mark.parametrize(
    ("structure", "reuse", "loops"), [("SSRSRS", "no", 10), ("SRS", "no", 5), ("SSSRRSRS", "must", 13)]
)
def test_tiles_have_the_structure(structure: str, reuse: str, loops: int) -> None:
    rule = MultiLevelTiling(structure, reuse_read=ReuseType(reuse, (structure.rindex("R"),), "global"))
    context = context_of(SMALL, space=PostOrderApply(sch_rules=[rule], postprocs=(), mutator_probs=None))
    (sch,) = context.generate_design_space()
    assert len(sch.get_loops(sch.get_block("C"))) == loops
    assert ("A_global" in sch.mod.script()) == (reuse == "must")
    assert_same_meaning(context.mod.op, sch.mod.op)


def test_a_trace_in_json_has_tvms_forms() -> None:
    """Strings among the inputs stand in quotes, the consumers of a cache are a list, other lists are written out."""
    sch = context_of(SMALL).generate_design_space()[0]
    rows, decisions = sch.trace.as_json()
    by_kind = {row[0]: row for row in rows}
    assert by_kind["CacheWrite"][1:3] == [["b0", []], [0, "global"]]
    assert ["Annotate", ["b0", '"SSRSRS"'], ["meta_schedule.tiling_structure"], []] in rows
    assert by_kind["Split"][1][1:] == ["v21", "v22"]
    again = Schedule(module_of(SMALL))
    Trace.from_json([rows, decisions]).apply_to_schedule(again)
    assert again.mod.script() == sch.mod.script()
    assert str(again.trace) == str(sch.trace)


def test_without_restore_a_refused_step_is_still_an_error() -> None:
    sch = Schedule(module_of(SMALL), restore=False)
    loop = sch.get_loops(sch.get_block("C"))[2]
    with pytest.raises(ScheduleError, match="vectorize"):
        sch.vectorize(loop)
    assert len(sch.trace) == 2
