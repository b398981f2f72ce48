"""Parts of tuning by name, as programs for TVM write it."""

import pytest
from spaces import SPACES, context_of
from tuning_workloads import matmul, tiled

from tirax import tvm_api as tvm
from tirax.diagnostics import NameLookupError, UnsupportedError
from tirax.target import Target, TargetError
from tirax.tuning import search
from tirax.tuning.defaults import intrinsics_for
from tirax.tuning.space import PostOrderApply, ScheduleFn, SpaceGeneratorUnion
from tirax.tuning.task_scheduler import UpdateCostModel
from tirax.tvm_api import meta_schedule as ms
from tirax.tvm_api import relax

INTRINSICS = {"llvm": [], "avx512": ["dot_16x4_avx512"], "vnni": ["dot_16x4_vnni"], "bf16": ["dot_16x2_bf16"]}


@pytest.mark.parametrize("kind", INTRINSICS)
def test_rules_by_kind(kind) -> None:
    rules = ms.ScheduleRule.create(kind)
    names = [type(rule).__name__ for rule in rules]
    assert [r.intrin_name for r in rules if isinstance(r, ms.schedule_rule.MultiLevelTilingWithIntrin)] == INTRINSICS[
        kind
    ]
    assert [name for name in names if name != "MultiLevelTilingWithIntrin"] == [
        "ApplyCustomRule",
        "InlineConstantScalars",
        "AutoInline",
        "AddRFactor",
        "MultiLevelTiling",
        "ParallelizeVectorizeUnroll",
        "RandomComputeLocation",
    ]
    posts = [type(post).__name__ for post in ms.Postproc.create(kind)]
    assert posts.index("RewriteReductionBlock") < posts.index("RewriteTensorize") < posts.index("RewriteLayout")
    probabilities = ms.Mutator.create(kind)
    assert sum(probabilities.values()) == pytest.approx(1)
    assert all(isinstance(mutator, ms.Mutator) for mutator in probabilities)


@pytest.mark.parametrize("part", [ms.ScheduleRule, ms.Postproc, ms.Mutator])
def test_kinds_that_there_are_not(part) -> None:
    with pytest.raises(UnsupportedError, match="kind 'adreno'"):
        part.create("adreno")
    with pytest.raises(NameLookupError, match="did you mean 'vnni'"):
        part.create("vnn")


def test_a_space_of_a_kind() -> None:
    space = ms.SpaceGenerator.create("vnni")
    context_of(SPACES["matmul"]["source"], space=space)
    assert "MultiLevelTilingWithIntrin" in [type(rule).__name__ for rule in space.sch_rules]
    generator = ms.space_generator.create(sch_rules="llvm", postprocs=[], mutator_probs=None)
    context_of(SPACES["matmul"]["source"], space=generator)
    assert len(generator.sch_rules) == 7 and generator.postprocs == [] and generator.mutator_probs == {}


def test_spaces_by_name() -> None:
    assert isinstance(ms.SpaceGenerator.create(), PostOrderApply)
    assert isinstance(ms.SpaceGenerator.create("union", [PostOrderApply()]), SpaceGeneratorUnion)
    result = ms.SpaceGenerator.create(tiled)
    assert isinstance(result, ScheduleFn) and ms.SpaceGenerator.create(result) is result
    with pytest.raises(NameLookupError, match="unknown design space"):
        ms.SpaceGenerator.create("postorder-apply")


def test_a_task_takes_names() -> None:
    context = ms.TuneContext(matmul(8), target="llvm", space_generator="llvm", search_strategy="replay-trace")
    assert isinstance(context.search_strategy, search.ReplayTrace)
    assert len(context.generate_design_space()) == 3
    assert ms.TuneContext(matmul(8)).space_generator is None


def test_other_parts_by_name() -> None:
    assert isinstance(
        ms.SearchStrategy.create("evolutionary", population_size=4), ms.search_strategy.EvolutionarySearch
    )
    assert isinstance(ms.CostModel.create("random", max_range=2), ms.cost_model.RandomModel)
    assert isinstance(ms.TaskScheduler.create("round-robin"), ms.task_scheduler.RoundRobin)
    assert isinstance(ms.Builder.create("local", timeout_sec=3.0), ms.builder.LocalBuilder)
    assert isinstance(ms.Runner.create("local", alloc_repeat=2), ms.runner.LocalRunner)
    assert isinstance(ms.MeasureCallback.create("default")[-1], UpdateCostModel)
    assert isinstance(ms.Database.create("memory"), ms.database.MemoryDatabase)
    with pytest.raises(UnsupportedError, match="'rpc'"):
        ms.Runner.create("rpc")
    with pytest.raises(UnsupportedError, match="'mlp'"):
        ms.CostModel.create("mlp")


@pytest.mark.parametrize(
    ("processor", "names"),
    [
        ("haswell", ()),
        ("skylake-avx512", ("dot_16x4_avx512",)),
        ("cascadelake", ("dot_16x4_vnni",)),
        ("sapphirerapids", ("dot_16x4_vnni", "dot_16x2_bf16")),
    ],
)
def test_the_target_says_which_intrinsics_there_are(processor, names) -> None:
    assert intrinsics_for(Target(f"llvm -mcpu={processor}")) == names


def test_the_target_that_was_entered() -> None:
    assert tvm.target.Target.current() is None
    with pytest.raises(TargetError, match="no target was entered"):
        Target.current(allow_none=False)
    with tvm.target.Target("llvm -num-cores=2") as outer:
        with tvm.target.Target({"kind": "llvm", "num-cores": 3, "keys": ["cpu"], "tag": ""}) as inner:
            assert Target.current() is inner and inner.cores == 3
        assert Target.current() is outer
    assert Target.current() is None
    assert Target(inner.export()) == inner
    assert Target("llvm -mattr=+avx512vnni,-avx").export()["mattr"] == ["+avx512vnni", "-avx"]
    with pytest.raises(TargetError, match="has no kind"):
        Target({"num-cores": 1})


def test_builds_and_passes_take_the_target_that_was_entered() -> None:
    with tvm.target.Target("llvm -mcpu=x86-64"):
        assert tvm.compile(matmul(8)).target.cpu == "x86-64"
    options = {"num_trials_per_iter": 1, "strategy": "replay-trace", "seed": 1}
    database = ms.tune_tir(matmul(8), "llvm -num-cores=1", None, 1, space=tiled, **options)
    with database, tvm.target.Target("llvm -num-cores=1"):
        assert "tir.is_scheduled" in relax.transform.MetaScheduleApplyDatabase()(matmul(8)).script()
    with database, tvm.target.Target("llvm -num-cores=2"):
        assert "tir.is_scheduled" not in relax.transform.MetaScheduleApplyDatabase()(matmul(8)).script()
