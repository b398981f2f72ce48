"""Kinds of default rules for devices, chosen by name and by target."""

import pytest

from tests.tvm_api.meta_schedule.test_threads import gpu, matmul
from tirax.tvm_api import meta_schedule as ms
from tirax.tvm_api import te
from tirax.tvm_api.target import Target


@pytest.mark.parametrize("kind", ["llvm", "vnni", "cuda", "cuda-tensorcore", "hexagon"])
def test_each_kind_has_all_parts(kind):
    rules, posts = ms.ScheduleRule.create(kind), ms.Postproc.create(kind)
    assert any(isinstance(rule, ms.schedule_rule.MultiLevelTiling) for rule in rules)
    assert posts
    assert sum(ms.Mutator.create(kind).values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "target, rule",
    [
        (gpu("sm_70"), ms.schedule_rule.AutoBind),
        (gpu("sm_86"), ms.schedule_rule.MultiLevelTilingTensorCore),
        (Target("metal"), ms.schedule_rule.CrossThreadReduction),
        (Target("llvm"), ms.schedule_rule.RandomComputeLocation),
    ],
    ids=str,
)
def test_the_target_chooses(target, rule):
    space = ms.space_generator.PostOrderApply()
    ms.TuneContext(mod=te.create_prim_func(matmul()), target=target, space_generator=space)
    assert any(isinstance(each, rule) for each in space.sch_rules)
