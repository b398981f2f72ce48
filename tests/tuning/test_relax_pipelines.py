"""Pipelines by TVM's names: their passes, their options, what they mean, and which targets have them."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import NameLookupError, TiraxError, UnsupportedError
from tirax.driver.pipelines import OPTIMIZE, TVM_BUILD, TVM_ZERO
from tirax.interpreter import interpret
from tirax.tuning.tir_integration import workload_of
from tirax.tvm_api import meta_schedule as ms
from tirax.tvm_api import relax
from tirax.tvm_api.script import from_source

NETWORK = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        with R.dataflow():
            y: R.Tensor((n, 4), "float32") = R.matmul(x, w)
            z: R.Tensor((n, 4), "float32") = R.nn.relu(y)
            R.output(z)
        return z
"""
STATIC = NETWORK.replace('"n"', "6").replace("(n,", "(6,").replace("        n = T.int64()\n", "")
STAGES = ("library_dispatch_passes", "legalize_passes", "dataflow_lower_passes", "finalize_passes")


@pytest.fixture
def network():
    return from_source(NETWORK.strip())


def names(passes):
    return [p.name for p in passes]


def test_the_stages_of_the_default_pipeline():
    target = tvm.target.Target("llvm")
    stages = [names(getattr(relax.pipeline, stage)(target)) for stage in STAGES]
    assert stages[:2] == [[], ["legalize-ops", "annotate-tir-op-pattern", "fold-constant", "fuse-ops", "fuse-tir"]]
    assert stages[2] + stages[3] == [p for p in TVM_BUILD if p != "legalize-ops"]
    assert names(relax.get_default_pipeline(target).passes) == [p for stage in stages for p in stage]
    assert relax.backend.cpu_generic.get_default_pipeline is relax.pipeline.get_default_pipeline


def test_pipelines_have_tvms_names_and_ours():
    assert set(relax.pipeline.PIPELINE_MAP) >= {"zero", "default", "default_build", "static_shape_tuning"}
    assert tuple(names(relax.get_pipeline("default").passes)) == TVM_BUILD
    assert tuple(names(relax.get_pipeline("zero").passes)) == TVM_ZERO
    assert tuple(names(relax.get_pipeline("optimize").passes)) == OPTIMIZE


def make_pipeline(name):
    return relax.get_default_pipeline(tvm.target.Target("llvm")) if name is None else relax.get_pipeline(name)


@pytest.mark.parametrize("name", ["zero", "default", "default_build", None])
def test_each_keeps_the_meaning(network, name):
    after = make_pipeline(name)(network)
    executable = relax.build(after, "llvm")
    assert "R.matmul" not in after.script()
    for n in (0, 1, 5):
        x, w = (np.random.default_rng(0).integers(-3, 4, s).astype("float32") for s in ((n, 4), (4, 4)))
        expected = np.maximum(x @ w, 0)
        np.testing.assert_array_equal(interpret(network.op, "main", [x, w]), expected)
        np.testing.assert_array_equal(interpret(after.op, "main", [x, w]), expected)
        np.testing.assert_array_equal(executable["main"](x, w), expected)


def test_the_default_pipeline_runs_under_its_target(network):
    seen = []

    @tvm.transform.module_pass(opt_level=0)
    def note(mod, _ctx):
        seen.append(str(tvm.target.Target.current()))
        return mod

    pipeline = relax.get_default_pipeline(tvm.target.Target("llvm -mcpu=x86-64"))
    type(pipeline)([note], pipeline.target)(network)
    assert seen == ["llvm -mcpu=x86-64"] and tvm.target.Target.current() is None


def test_options_of_pipelines(network):
    relax.get_pipeline("zero", enable_warning=True)(network)
    with pytest.raises(TiraxError, match="the pipeline 'zero': got an unexpected keyword argument 'fast'"):
        relax.get_pipeline("zero", fast=True)
    with pytest.raises(TiraxError, match="the pipeline 'static_shape_tuning': missing a required argument"):
        relax.get_pipeline("static_shape_tuning")
    with pytest.raises(NameLookupError, match="default_buidl"):
        relax.get_pipeline("default_buidl")


@pytest.mark.parametrize("name", ["zero", "default-cpu"])
def test_a_name_is_taken_when_it_is_registered(name):
    with pytest.raises(TiraxError, match=f"there is a pipeline '{name}' already"):
        relax.register_pipeline(name)


@pytest.mark.parametrize("stage", [*STAGES, "get_default_pipeline"])
def test_gpus_have_no_pipeline(stage):
    with pytest.raises(UnsupportedError, match=r"(?s)no pipeline for the target 'cuda.*CPUs only"):
        getattr(relax.pipeline, stage)(tvm.target.Target("cuda"))
    with pytest.raises(UnsupportedError, match=f"{stage} is not provided: code is generated for CPUs"):
        getattr(relax.backend.cuda, stage)(tvm.target.Target("cuda"))
    with pytest.raises(UnsupportedError, match="no pipeline for the target 'cuda"):
        relax.get_pipeline("static_shape_tuning", total_trials=1, target=tvm.target.Target("cuda"))


def record(mod, database):
    """Commit one schedule, parallel rows, of the only tensor function of a module."""
    (func,) = (f for _, f in mod.functions_items() if isinstance(f, tvm.tir.PrimFunc))
    mod = workload_of(func.op)
    workload = database.commit_workload(mod)
    schedule = tvm.tir.Schedule(mod)
    schedule.parallel(schedule.get_loops("matmul")[0])
    target = tvm.target.Target("llvm -num-cores=2")
    database.commit_tuning_record(ms.database.TuningRecord(schedule.trace, workload, [1.0], target, []))
    return database


def test_zero_applies_the_database_that_is_entered():
    network = from_source(STATIC.strip())
    optimized = relax.get_pipeline("zero")(network)
    assert "T.parallel" not in optimized.script()
    with tvm.target.Target("llvm -num-cores=2"), record(optimized, ms.database.MemoryDatabase()):
        assert "T.parallel" in relax.get_pipeline("zero")(network).script()


def passes_of_tuning(**options):
    return names(relax.get_pipeline("static_shape_tuning", target="llvm", **options).passes)


def test_the_passes_of_tuning():
    plain = ["decompose-ops-for-inference", "canonicalize-bindings", "sequential", "meta-schedule-apply-database"]
    assert passes_of_tuning(total_trials=0) == plain
    tuned = [*plain[:-1], "meta-schedule-tune-irmod", plain[-1]]
    assert passes_of_tuning(total_trials=1) == tuned
    packed = [*tuned[:3], "attach-attr-layout-free-buffers", *tuned[3:]]
    packed += ["split-layout-rewrite-preproc", "lift-transform-params", "fold-constant"]
    assert passes_of_tuning(total_trials=1, cpu_weight_prepack=True) == packed


def test_records_of_tuning_are_applied(tmp_path):
    network = from_source(STATIC.strip())
    options = {"total_trials": 0, "target": "llvm -num-cores=2", "work_dir": str(tmp_path)}
    optimized = relax.get_pipeline("zero")(network)
    record(optimized, ms.database.JSONDatabase(work_dir=str(tmp_path)))
    tuned = relax.get_pipeline("static_shape_tuning", **options)(network)
    assert "T.parallel" in tuned.script()
    x, w = (np.random.default_rng(1).integers(-3, 4, s).astype("float32") for s in ((6, 4), (4, 4)))
    np.testing.assert_array_equal(relax.build(tuned, "llvm")["main"](x, w), np.maximum(x @ w, 0))
