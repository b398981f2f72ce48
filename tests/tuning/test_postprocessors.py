"""Postprocessors: what is done at the end, and what is turned away."""

from __future__ import annotations

import pytest
from spaces import SMALL, SPACES, context_of, module_of

from tirax.interpreter import assert_same_meaning
from tirax.schedule import Schedule
from tirax.tuning.analysis import PARALLEL, UNROLL_EXPLICIT, VECTORIZE
from tirax.tuning.postprocessors import (
    DisallowDynamicLoop,
    RewriteParallelVectorizeUnroll,
    RewriteReductionBlock,
    VerifyOnCPU,
)

DYNAMIC = """
@I.ir_module
class Module:
    @T.prim_func
    def main(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n,))
        Y = T.match_buffer(y, (n,))
        for i in range(n):
            with T.block("Y"):
                vi = T.axis.spatial(n, i)
                Y[vi] = X[vi] + T.float32(1)
"""


def marked(source: str, parallel: int, vectorize: int, unroll: int = -1) -> Schedule:
    sch = Schedule(module_of(source))
    root = sch.get_block("root")
    for key, value in ((PARALLEL, parallel), (VECTORIZE, vectorize), (UNROLL_EXPLICIT, unroll)):
        if value != -1:
            sch.annotate(root, key, value)
    return sch


def rewritten(source: str, *marks: int) -> str:
    sch = marked(source, *marks)
    assert RewriteParallelVectorizeUnroll().apply(sch)
    assert_same_meaning(module_of(source).op, sch.mod.op)
    assert "meta_schedule" not in sch.mod.script()
    return sch.mod.script()


def test_loops_of_unknown_size_are_turned_away() -> None:
    assert not DisallowDynamicLoop().apply(Schedule(module_of(DYNAMIC)))
    assert DisallowDynamicLoop().apply(Schedule(module_of(SMALL)))


def test_elementwise_work_becomes_one_parallel_and_one_vector_loop() -> None:
    text = rewritten(SPACES["add_one"]["source"], 16, 8)
    assert "in T.parallel(14)" in text
    assert "in T.vectorized(8)" in text
    assert "T.where" in text


def test_a_transposition_is_not_in_order() -> None:
    text = rewritten(SPACES["transpose"]["source"], 16, 64)
    assert "for a_fused in T.parallel(64)" in text
    assert "for b_fused in T.vectorized(32)" in text


@pytest.mark.parametrize(
    ("marks", "there", "absent"),
    [
        ((2, 1), ["i_fused in T.parallel(4)"], ["T.vectorized", "pragma"]),
        ((5, 1), ["i_j_fused in T.parallel(64)"], ["T.vectorized"]),
        ((-1, 16, 64), ['"pragma_auto_unroll_max_step": 64', '"pragma_unroll_explicit": 1'], ["T.parallel"]),
        ((1, -1, 0), ["T.parallel"], ["pragma"]),
    ],
)
def test_what_the_marks_ask_for(marks: tuple[int, ...], there: list[str], absent: list[str]) -> None:
    text = rewritten(SMALL, *marks)
    assert all(part in text for part in there)
    assert not any(part in text for part in absent)


def test_without_marks_nothing_is_done() -> None:
    assert rewritten(SMALL, -1, -1) == module_of(SMALL).script()


def test_reductions_get_an_init_of_their_own() -> None:
    sch = Schedule(module_of(SMALL))
    assert RewriteReductionBlock().apply(sch)
    assert "C_init" in sch.mod.script()
    assert "T.init()" not in sch.mod.script()
    assert_same_meaning(module_of(SMALL).op, sch.mod.op)


@pytest.mark.parametrize(
    ("step", "limits", "fits"),
    [
        ("vectorize", {}, True),
        ("vectorize", {"max_lanes": 8}, False),
        ("unroll", {"max_unrolled": 16}, True),
        ("unroll", {"max_unrolled": 15}, False),
        ("bind", {}, False),
        ("cache", {"max_bytes": 256}, True),
        ("cache", {"max_bytes": 255}, False),
    ],
)
def test_what_a_cpu_can_do(step: str, limits: dict, fits: bool) -> None:
    sch = Schedule(module_of(SMALL))
    block = sch.get_block("C")
    loop = sch.get_loops(block)[1]
    if step == "cache":
        sch.cache_write(block, 0, "global")
    else:
        getattr(sch, step)(loop, *(["threadIdx.x"] if step == "bind" else []))
    assert VerifyOnCPU(**limits).apply(sch) == fits


def test_a_full_task_is_finished() -> None:
    context = context_of(SPACES["softmax"]["source"])
    for sch in context.generate_design_space()[-2:]:
        sch.enter_postproc()
        assert all(post.apply(sch) for post in context.space_generator.postprocs)
        text = sch.mod.script()
        assert "T.init()" not in text
        assert "T.parallel" in text
        assert "meta_schedule" not in text
