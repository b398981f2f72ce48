"""`Schedule` and its trace: steps, refusals that leave everything as it was, copies, texts, JSON."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tirax.diagnostics import TiraxError
from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning
from tirax.ir.verification.verify import verify_module
from tirax.schedule import Schedule, ScheduleError, Trace
from tirax.schedule.registry import PRIMITIVES
from tirax.tvm_api.script import from_source

MATMUL = """
from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16, 24), "float32"), B: T.Buffer((24, 20), "float32"), C: T.Buffer((16, 20), "float32")):
        for i, j, k in T.grid(16, 20, 24):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
TRACE = """\
# from tvm import tir
def apply_trace(sch: tir.Schedule) -> None:
  b0 = sch.get_block(name="C", func_name="main")
  l1, l2, l3 = sch.get_loops(block=b0)
  v4, v5 = sch.sample_perfect_tile(loop=l2, n=2, max_innermost_factor=16, decision=[5, 4])
  l6, l7 = sch.split(loop=l2, factors=[v4, v5], preserve_unit_iters=True, disable_predication=False)
  sch.reorder(l1, l6, l3, l7)
  l8 = sch.fuse(l1, l6, preserve_unit_iters=True)
  sch.parallel(loop=l8)
  sch.vectorize(loop=l7)
  sch.annotate(block_or_loop=b0, ann_key="note", ann_val={"a": [1, 2.5, "x"]})"""


@pytest.fixture
def module():
    return from_source(MATMUL)


def scheduled(module) -> Schedule:
    sch = Schedule(module, seed=1, debug_mask="all")
    block = sch.get_block("C", "main")
    i, j, k = sch.get_loops(block)
    j_0, j_1 = sch.split(j, sch.sample_perfect_tile(j, n=2, decision=[5, 4]))
    sch.reorder(i, j_0, k, j_1)
    sch.parallel(sch.fuse(i, j_0))
    sch.vectorize(j_1)
    sch.annotate(block, "note", {"a": [1, 2.5, "x"]})
    return sch


def test_a_schedule_keeps_the_meaning_and_its_argument(module) -> None:
    before = module.script()
    sch = scheduled(module)
    assert module.script() == before
    assert_same_meaning(module.op, sch.mod.op)
    x, y = (np.random.default_rng(0).random(s, np.float32) for s in ((16, 24), (24, 20)))
    z = np.zeros((16, 20), np.float32)
    build(sch.mod.op)["main"](x, y, z)
    np.testing.assert_allclose(z, x @ y, rtol=1e-5)


def test_trace_as_python(module) -> None:
    assert str(scheduled(module).trace) == TRACE


def test_trace_is_replayed_from_every_form(module) -> None:
    sch = scheduled(module)
    for trace in (
        sch.trace,
        sch.trace.copy(),
        Trace.from_json(sch.trace.as_json()),
        Trace.from_mlir(sch.trace.mlir()),
        sch.trace.simplified(),
    ):
        other = Schedule(module)
        trace.apply_to_schedule(other)
        assert other.mod.script() == sch.mod.script()
        assert str(other.trace) == TRACE


def test_json_is_that_of_tvm(module) -> None:
    rows, decisions = scheduled(module).trace.as_json()
    assert rows[0] == ["GetBlock", [], ["C", "main"], ["b0"]]
    assert rows[2] == ["SamplePerfectTile", ["l2"], [2, 16], ["v4", "v5"]]
    assert rows[3] == ["Split", ["l2", "v4", "v5"], [True, False], ["l6", "l7"]]
    assert rows[4] == ["Reorder", ["l1", "l6", "l3", "l7"], [], []]
    assert decisions == [[2, [5, 4]]]


@pytest.mark.parametrize("bad", [None, [[]], [[["Split", [], []]], []], [[["Nothing", [], [], []]], []]])
def test_json_of_another_form(bad) -> None:
    with pytest.raises(TiraxError):
        Trace.from_json(bad)


def test_another_decision(module) -> None:
    sch = scheduled(module)
    trace = sch.trace.with_decision(sch.trace.insts[2], [10, 2])
    other = Schedule(module)
    trace.apply_to_schedule(other)
    assert "decision=[10, 2]" in str(other.trace)
    assert "T.vectorized(2)" in other.mod.script()
    assert_same_meaning(module.op, other.mod.op)


def test_decisions_are_listed(module) -> None:
    other = Schedule(module)
    scheduled(module).trace.apply_to_schedule(other, decision_provider=lambda inst, inputs, attrs, old: [2, 10])
    assert "decision=[2, 10]" in str(other.trace)


def test_simplified_leaves_out_what_nothing_uses(module) -> None:
    sch = Schedule(module)
    i, j, _ = sch.get_loops(sch.get_block("C"))
    sch.get_loops(sch.get_block("C"))
    sch.sample_perfect_tile(j, 3)
    sch.parallel(i)
    assert [inst.SPEC.name for inst in sch.trace.simplified().insts] == ["get_block", "get_loops", "parallel"]


def test_a_refusal_leaves_everything_as_it_was(module) -> None:
    sch = Schedule(module)
    i, j, k = sch.get_loops(sch.get_block("C"))
    before, trace = sch.mod.script(), str(sch.trace)
    with pytest.raises(ScheduleError, match="iterator of kind reduce") as caught:
        sch.vectorize(k)
    assert "^^^" in str(caught.value)
    with pytest.raises(ScheduleError, match="product of the factors"):
        sch.split(j, [2, 3])
    assert (sch.mod.script(), str(sch.trace)) == (before, trace)
    sch.parallel(i)
    sch.split(j, [None, 2])
    verify_module(sch.mod.op)


def test_axes_of_threads(module) -> None:
    sch = Schedule(module)
    i, j, _ = sch.get_loops(sch.get_block("C"))
    sch.bind(i, "blockIdx.x")
    with pytest.raises(ScheduleError, match="bind: there is no such axis of threads") as caught:
        sch.bind(j, "threadIdx")
    assert "^^^" in str(caught.value)


def test_levels_of_errors(module) -> None:
    sch = Schedule(module, error_render_level="fast")
    k = sch.get_loops(sch.get_block("C"))[2]
    with pytest.raises(ScheduleError) as caught:
        sch.parallel(k)
    assert "prim_func" not in str(caught.value)
    with pytest.raises(ScheduleError, match="known:") as caught:
        sch.get_block("D")
    assert "Cannot find a block with the specified name" in str(caught.value)
    quiet = Schedule(module, error_render_level="none")
    with pytest.raises(ScheduleError) as caught:
        quiet.get_block("D")
    assert str(caught.value) == "error: get_block: Cannot find a block with the name: D (not rendered)"
    assert quiet.get(quiet.get_block("C")).name_hint == "C"
    with pytest.raises(TiraxError, match="unknown error_render_level"):
        Schedule(module, error_render_level="loud")


def target_of(sch, value):
    """The operation, or the number, behind a handle."""
    return sch.operation(value)


@pytest.mark.parametrize("name", [n for n, p in PRIMITIVES.items() if p.kinds])
def test_arguments_of_another_kind_are_refused(module, name) -> None:
    """A sampled integer is neither a block nor a loop; a block is no loop, and the other way round."""
    sch = Schedule(module)
    block = sch.get_block("C")
    i, _, _ = sch.get_loops(block)
    number = sch.sample_perfect_tile(i, 2)[0]
    for parameter, kinds in PRIMITIVES[name].kinds.items():
        for value in (block, i, number):
            if kinds.wrong([target_of(sch, value)] if kinds.many else target_of(sch, value)):
                with pytest.raises(ScheduleError, match=f"{name}: {parameter} is not what the step takes"):
                    sch.step(name, {parameter: [value] if kinds.many else value})


def test_a_remark_is_a_plain_value(module) -> None:
    sch = Schedule(module)
    with pytest.raises(ScheduleError, match="a remark is a string"):
        sch.annotate(sch.get_block("C"), "note", object())


def test_many_refusals_and_steps_in_between(module) -> None:
    """What a refused step changed is put back, from a copy and the steps taken since."""
    sch, calm = Schedule(module), Schedule(module)
    for one in (sch, calm):
        block = one.get_block("C")
        i, j, k = one.get_loops(block)
        for _ in range(12):
            i, _ = one.split(i, [None, 1])
            if one is sch:
                with pytest.raises(ScheduleError):
                    one.reverse_compute_at(block, i)
                with pytest.raises(ScheduleError):
                    one.split(j, [3, 3])
            one.annotate(i, "note", 1)
            one.unannotate(i, "note")
        one.vectorize(one.split(j, one.sample_perfect_tile(j, 2, decision=[5, 4]))[1])
        one.decompose_reduction(block, k)
    assert sch.mod.script() == calm.mod.script()
    assert str(sch.trace) == str(calm.trace)
    verify_module(sch.mod.op)


def test_handles_of_what_is_no_more(module) -> None:
    sch = Schedule(module)
    i, _, _ = sch.get_loops(sch.get_block("C"))
    sch.split(i, [4, 4])
    with pytest.raises(ScheduleError, match="no more"):
        sch.parallel(i)
    with pytest.raises(TiraxError, match="another schedule"):
        Schedule(module).parallel(i)


def test_copies_share_handles_and_nothing_else(module) -> None:
    sch = Schedule(module, seed=3)
    i, j, _ = sch.get_loops(sch.get_block("C"))
    other = sch.copy().copy()
    sch.parallel(i)
    assert "parallel" not in other.mod.script()
    other.unroll(j)
    other.parallel(i)
    assert str(other.trace).endswith("sch.unroll(loop=l2)\n  sch.parallel(loop=l1)")
    assert "unroll" not in sch.mod.script()


def test_copies_say_what_is_no_more(module) -> None:
    sch = Schedule(module, restore=False)
    i, _, k = sch.get_loops(sch.get_block("C"))
    sch.split(i, [4, 4])
    other = sch.copy()
    with pytest.raises(ScheduleError, match="no more"):
        other.parallel(i)
    other.split(k, [4, None])
    sch.unroll(k)
    assert "k_0" not in sch.mod.script()


def test_places_of_statements(module) -> None:
    sch = Schedule(module)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    place = sch.get_sref(block)
    assert sch.get(place) == place.stmt == sch.get(block) and place.stmt.op is place.op
    assert sch.get(block).same_as(sch.get(sch.get_block("C"))) and not sch.get(block).same_as(sch.get(k))
    assert place.parent == sch.get_sref(k)
    assert sch.get_sref(i).parent == sch.get_sref(sch.get_block("root"))
    assert sch.get_sref(sch.get_block("root")).parent is None
    with pytest.raises(TiraxError, match="neither a block nor a loop"):
        sch.get_sref(sch.sample_perfect_tile(j, 2)[0])


def test_a_tile_of_fused_loops_goes_inside_of_a_reduction(module) -> None:
    sch = Schedule(module, debug_mask="all")
    i, j, k = sch.get_loops(sch.get_block("C"))
    _, inner = sch.split(sch.fuse(i, j), [None, 7])
    sch.reorder(k, inner)
    assert_same_meaning(module.op, sch.mod.op)


def test_an_init_is_taken_out_where_iterations_leave_gaps() -> None:
    source = MATMUL.replace("C: T.Buffer((16, 20)", "C: T.Buffer((64, 20)").replace(
        'vi, vj, vk = T.axis.remap("SSR", [i, j, k])',
        'vi = T.axis.spatial(64, i * 4)\n                vj, vk = T.axis.remap("SR", [j, k])',
    )
    gaps = from_source(source.replace("A[vi, vk]", "A[vi // 4, vk]"))
    sch = Schedule(gaps, debug_mask="all")
    block = sch.get_block("C")
    sch.decompose_reduction(block, sch.get_loops(block)[0])
    assert_same_meaning(gaps.op, sch.mod.op)


@pytest.mark.parametrize("kind", ["parallel", "vectorize"])
def test_a_loop_that_repeats_a_reduction_is_not_run_at_the_same_time(kind) -> None:
    again = MATMUL.replace("for i, j, k in T.grid(16,", "for t, i, j, k in T.grid(3, 16,")
    sch = Schedule(from_source(again))
    t, i, *_ = sch.get_loops(sch.get_block("C"))
    with pytest.raises(ScheduleError, match="a step of the reduction may come several times") as caught:
        getattr(sch, kind)(t)
    assert "^^^" in str(caught.value)
    getattr(sch, kind)(i)


def test_seeds_repeat_the_draws_of_tvm(module) -> None:
    """Three tiles of 20, then of 24, drawn by TVM 0.27 with the same seed."""
    draws = []
    for _ in range(2):
        sch = Schedule(module, seed=42)
        _, j, k = sch.get_loops(sch.get_block("C"))
        draws.append([[sch.get(v) for v in sch.sample_perfect_tile(loop, 3, 64)] for loop in (j, k)])
    assert draws[0] == draws[1] == EXPECTED


EXPECTED = [[5, 2, 2], [4, 1, 6]]


def test_unknown_names(module) -> None:
    with pytest.raises(ScheduleError, match="Cannot find a block"):
        Schedule(module).get_block("D")
    with pytest.raises(TiraxError, match="unknown function 'other'"):
        Schedule(module).get_block("C", "other")
    with pytest.raises(TiraxError, match="unexpected keyword"):
        Schedule(module).get_block("C", title="C")
    with pytest.raises(TiraxError, match="what is scheduled"):
        Schedule(3)


def test_errors_show_loops_and_blocks_by_themselves_with_their_numbers(module) -> None:
    sch = Schedule(module)
    i, j, k = sch.get_loops(sch.get_block("C"))
    with pytest.raises(ScheduleError, match="not directly inside of each other") as caught:
        sch.fuse(k, i)
    shown = str(caught.value)
    assert "# tir.For#1\n" in shown and "# tir.For#0\n" in shown
    marked = [above for above, line in pairwise(shown.split("\n")) if line.strip(" ^") == "" and line]
    assert [line.strip() for line in marked] == ["for i in range(16):", "for k in range(24):"]
    with pytest.raises(ScheduleError, match="not what the step takes") as caught:
        sch.compute_inline(sch.get_block("root"))
    assert "# tir.Block#0\n" + 8 * " " + 'with T.block("root"):\n' in str(caught.value)


def test_a_replay_that_finds_other_loops_is_refused(module) -> None:
    """With another tile a loop of one iteration is left out, and names of the trace would stand for nothing."""

    def moved(factors: list[int]) -> Schedule:
        sch = Schedule(module, seed=1)
        result = sch.cache_write("C", 0, "local")
        i, _, _ = sch.get_loops("C")
        i_0, _ = sch.split(i, sch.sample_perfect_tile(i, n=2, decision=factors))
        sch.reverse_compute_at(result, i_0)
        sch.get_loops(result)
        return sch

    trace = moved([4, 4]).trace
    tile = next(inst for inst in trace.insts if inst.SPEC.name == "sample_perfect_tile")
    with pytest.raises(
        ScheduleError, match=r"'get_loops' gives another number of results(.|\n)*expected: 3\n  found: 2"
    ):
        trace.with_decision(tile, [16, 1]).apply_to_schedule(Schedule(module))
