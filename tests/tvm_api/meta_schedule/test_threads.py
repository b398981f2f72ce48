"""Schedule rules for devices: the design spaces are those that Apache TVM 0.27 gives for the same programs."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import UnsupportedError
from tirax.interpreter import assert_same_meaning
from tirax.tvm_api import meta_schedule as ms
from tirax.tvm_api import te
from tirax.tvm_api.meta_schedule.threads import MissingLimitError
from tirax.tvm_api.target import Target


def gpu(arch="sm_70", **more):
    limits = {"max_threads_per_block": 1024, "thread_warp_size": 32, "max_shared_memory_per_block": 49152}
    return Target({"kind": "cuda", "arch": arch, **limits, **more})


def matmul(n=64, dtype="float32"):
    a, b = (te.placeholder((n, n), dtype, name=name) for name in "AB")
    k = te.reduce_axis((0, n), name="k")
    return [a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]


def row_sums(rows=4, columns=32):
    a = te.placeholder((rows, columns), name="A")
    k = te.reduce_axis((0, columns), name="k")
    return [a, te.compute((rows,), lambda i: te.sum(a[i, k], axis=k), name="B")]


def normalized():
    a = te.placeholder((4, 16), name="A")
    k = te.reduce_axis((0, 16), name="k")
    total = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="S")
    return [a, te.compute((4, 16), lambda i, j: a[i, j] / total[i], name="N")]


def one_more(n, m):
    a = te.placeholder((n, m), name="A")
    return [a, te.compute((n, m), lambda i, j: a[i, j] + 1.0, name="B")]


def context(tensors, rules="cuda", target=None, postprocs=()):
    mod = tvm.IRModule({"main": te.create_prim_func(tensors)})
    space = ms.space_generator.PostOrderApply(sch_rules=rules, postprocs=list(postprocs), mutator_probs={})
    return ms.TuneContext(mod=mod, target=target or gpu(), space_generator=space, task_name="t", rand_state=3)


def steps(sch):
    return [inst.kind.name for inst in sch.trace.insts]


TILED = """
    GetBlock GetBlock Annotate GetLoops SamplePerfectTile Split SamplePerfectTile Split SamplePerfectTile Split Reorder
    Fuse Bind Fuse Bind Fuse Bind Annotate Annotate CacheWrite ReverseComputeAt
    CacheRead ComputeAt GetLoops Fuse SampleCategorical Annotate
    CacheRead ComputeAt GetLoops Fuse SampleCategorical Annotate ReverseComputeInline SampleCategorical Annotate
"""


def test_tiles_are_bound_to_threads():
    (sch,) = context(matmul(16)).generate_design_space()
    assert [s for s in steps(sch) if s != "ReverseComputeInline"] == [
        s for s in TILED.split() if s != "ReverseComputeInline"
    ]
    tags = [inst.attrs[0] for inst in sch.trace.insts if inst.kind.name == "Bind"]
    assert tags == ["blockIdx.x", "vthread.x", "threadIdx.x"]
    assert_same_meaning(tvm.IRModule({"main": te.create_prim_func(matmul(16))}).op, sch.mod.op)


def test_copies_run_ahead_where_they_are_asynchronous():
    rules = [ms.schedule_rule.ScheduleRule.create("cuda")[1]]
    spaces = context(matmul(), rules, gpu("sm_86")).generate_design_space()
    found = [inst.inputs[1] for sch in spaces for inst in sch.trace.insts if "software_pipeline_stage" in inst.attrs]
    assert len(spaces) == 3
    assert found == [[0, 0, 3], [0, 0, 2]]


@pytest.mark.parametrize(
    "tensors, expected",
    [
        (one_more(100, 200), "Fuse SampleCategorical Split Bind Bind"),
        (one_more(2048, 2048), "Fuse Split Reorder Bind Bind"),
    ],
    ids=["short", "longer than all threads"],
)
def test_loops_of_other_blocks_are_bound(tensors, expected):
    (sch,) = context(tensors, [ms.schedule_rule.AutoBind()]).generate_design_space()
    assert steps(sch)[-len(expected.split()) :] == expected.split()


def test_bound_loops_compute_the_same():
    (sch,) = context(one_more(10, 20), [ms.schedule_rule.AutoBind()]).generate_design_space()
    assert_same_meaning(tvm.IRModule({"main": te.create_prim_func(one_more(10, 20))}).op, sch.mod.op)


def test_a_reduction_without_spatial_loops_gets_one():
    (sch,) = context(row_sums(1), [ms.schedule_rule.AutoBind(thread_extents=[32])]).generate_design_space()
    assert "Bind" in steps(sch)
    scalar = [te.placeholder((16,), name="A")]
    k = te.reduce_axis((0, 16), name="k")
    scalar.append(te.compute((), lambda: te.sum(scalar[0][k], axis=k), name="B"))
    (sch,) = context(scalar, [ms.schedule_rule.AutoBind()]).generate_design_space()
    assert "AddUnitLoop" in steps(sch)


def test_threads_share_a_reduction():
    plain, alone = context(row_sums(), [ms.schedule_rule.CrossThreadReduction([4, 8])]).generate_design_space()
    assert steps(alone)[-4:] == ["SampleCategorical", "GetLoops", "Split", "Bind"]
    assert "Bind" not in steps(plain)
    assert_same_meaning(tvm.IRModule({"main": te.create_prim_func(row_sums())}).op, alone.mod.op)


def test_a_shared_reduction_is_computed_where_it_is_read():
    _, new = context(normalized(), [ms.schedule_rule.CrossThreadReduction([8])]).generate_design_space()
    assert "ComputeAt" in steps(new)
    assert 'scope="shared"' in new.mod.script()
    assert_same_meaning(tvm.IRModule({"main": te.create_prim_func(normalized())}).op, new.mod.op)


def test_the_rule_needs_positive_candidates_and_limits():
    with pytest.raises(MissingLimitError, match="must be positive"):
        ms.schedule_rule.CrossThreadReduction([4, 0])
    with pytest.raises(MissingLimitError, match="max_threads_per_block"):
        context(row_sums(), [ms.schedule_rule.AutoBind()], Target("llvm"))
    rule = ms.schedule_rule.CrossThreadReduction([4])
    assert len(context(row_sums(), [rule], Target("llvm")).generate_design_space()) == 1


def test_matrix_units_are_refused_where_they_would_be_used():
    assert context(matmul(), "cuda-tensorcore").generate_design_space()
    with pytest.raises(UnsupportedError, match="matrix units"):
        context(matmul(dtype="float16"), "cuda-tensorcore").generate_design_space()
