"""Multi-level tiling for devices: its options, and tiles of the lanes of wide vectors."""

import tirax.tvm_api as tvm
from tests.tvm_api.meta_schedule.test_threads import context, matmul, one_more, steps
from tirax.interpreter import assert_same_meaning
from tirax.tvm_api import meta_schedule as ms
from tirax.tvm_api import te
from tirax.tvm_api.target import Target

CPU = Target("llvm -num-cores=4")


def test_a_filter_selects_more_blocks():
    asked = []

    def chosen(sch, block):
        asked.append(sch.get(block).name_hint)
        return True

    rule = ms.schedule_rule.MultiLevelTiling("SS", filter_fn=chosen)
    (sch,) = context(one_more(16, 16), [rule], CPU).generate_design_space()
    assert asked == ["B"]
    assert steps(sch).count("SamplePerfectTile") == 2


def test_vectors_are_those_of_the_dtype():
    reuse = ms.schedule_rule.ReuseType("must", (1,), "global")
    rule = ms.schedule_rule.MultiLevelTiling("SRS", None, 64, [1, 2, 3, 8, 16], reuse)
    for dtype, expected in (("float32", [1, 2, 3]), ("float16", [1, 2, 8]), ("int8", [1, 2, 3, 8, 16])):
        (sch,) = context(matmul(16, dtype), [rule], CPU).generate_design_space()
        sampled = [inst.attrs[0] for inst in sch.trace.insts if inst.kind.name == "SampleCategorical"]
        assert sampled == [expected, expected]


def test_the_levels_of_a_write_cache_are_annotated():
    func = te.create_prim_func(matmul(16))
    sch = tvm.tir.Schedule(func)
    sch.annotate(sch.get_block("C"), "meta_schedule.write_cache_level", [2])
    rule = ms.schedule_rule.MultiLevelTiling(
        "SSRS", None, 64, None, None, ms.schedule_rule.ReuseType("may", (1,), "global")
    )
    space = ms.space_generator.PostOrderApply(sch_rules=[rule], postprocs=[], mutator_probs={})
    (out,) = ms.TuneContext(mod=sch.mod, target=CPU, space_generator=space, rand_state=1).generate_design_space()
    assert "CacheWrite" in steps(out)


def test_the_innermost_loop_counts_the_lanes_of_wide_vectors():
    rule = ms.schedule_rule.MultiLevelTilingWideVector("SRSRS", 256, 64)
    (sch,) = context(matmul(16), [rule], CPU).generate_design_space()
    factors = [inst.inputs[1:] for inst in sch.trace.insts if inst.kind.name == "Split"]
    assert [None, 8] in factors
    assert_same_meaning(tvm.IRModule({"main": te.create_prim_func(matmul(16))}).op, sch.mod.op)
    (short,) = context(matmul(4), [rule], CPU).generate_design_space()
    assert [1, 1, 4] in [inst.inputs[1:] for inst in short.trace.insts if inst.kind.name == "Split"]
