"""Postprocessors and the mutator for devices."""

import pytest

import tirax.tvm_api as tvm
from tests.tvm_api.meta_schedule.test_threads import context, gpu, matmul, one_more, row_sums
from tirax.interpreter import assert_same_meaning
from tirax.tvm_api import meta_schedule as ms
from tirax.tvm_api import te, tir
from tirax.tvm_api.meta_schedule.threads import MissingLimitError
from tirax.tvm_api.target import Target


def processed(tensors, rules, *postprocs, target=None):
    task = context(tensors, rules, target, postprocs)
    sch = task.generate_design_space()[0]
    return sch, [post.apply(sch) for post in postprocs]


def test_blocks_without_threads_get_some():
    sch, (kept,) = processed(one_more(16, 16), [], ms.postproc.RewriteUnboundBlock())
    assert kept
    assert {"blockIdx.x", "threadIdx.x"} <= {tag for tag in ("blockIdx.x", "threadIdx.x") if tag in sch.mod.script()}
    assert_same_meaning(tvm.IRModule({"main": te.create_prim_func(one_more(16, 16))}).op, sch.mod.op)


def test_bound_blocks_stay():
    before, _ = processed(one_more(16, 16), [ms.schedule_rule.AutoBind()])
    sch, _ = processed(one_more(16, 16), [ms.schedule_rule.AutoBind()], ms.postproc.RewriteUnboundBlock())
    assert sch.mod.script() == before.mod.script()


def test_threads_fetch_copies_together():
    sch, (kept,) = processed(matmul(16), "cuda", ms.postproc.RewriteCooperativeFetch())
    assert kept
    assert "cooperative_fetch" not in sch.mod.script()
    assert sch.mod.script().count('thread="threadIdx.x"') == 3
    assert_same_meaning(tvm.IRModule({"main": te.create_prim_func(matmul(16))}).op, sch.mod.op)


def test_wide_elements_are_fetched_one_by_one():
    sch, _ = processed(matmul(16, "float64"), "cuda", ms.postproc.RewriteCooperativeFetch())
    assert "vectorized" not in sch.mod.script()


@pytest.mark.parametrize("most, fits", [(49152, True), (4, False)])
def test_shared_memory_is_limited(most, fits):
    posts = (ms.postproc.RewriteCooperativeFetch(), ms.postproc.VerifyGPUCode())
    target = gpu(max_shared_memory_per_block=most)
    rule = ms.schedule_rule.ScheduleRule.create("cuda")[1]
    task = context(matmul(16), [rule], target, posts)
    found = []
    for seed in range(12):
        sch = tir.Schedule(task.mod, seed=seed + 1)
        block = sch.get_block("C")
        (out,) = rule.apply(sch, block)
        posts[0].apply(out)
        found.append(posts[1].apply(out))
    assert any(found) is fits


def test_limits_are_those_of_the_target():
    with pytest.raises(MissingLimitError, match="max_shared_memory_per_block"):
        context(matmul(), [], Target("llvm"), [ms.postproc.VerifyGPUCode()])


def test_the_number_of_threads_is_mutated():
    task = context(one_more(16, 16), [ms.schedule_rule.AutoBind()])
    (sch,) = task.generate_design_space()
    mutator = ms.mutator.MutateThreadBinding()
    mutator.initialize(task)
    new = mutator.apply(sch.trace)
    (old,) = [i.decision for i in sch.trace.insts if i.kind.name == "SampleCategorical"]
    assert old not in [i.decision for i in new.insts if i.kind.name == "SampleCategorical"]
    assert mutator.apply(context(row_sums(), []).generate_design_space()[0].trace) is None
