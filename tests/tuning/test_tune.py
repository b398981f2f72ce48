"""`tune_tir` and `tune_relax` from end to end, with few trials."""

import json
import logging

import numpy as np
import pytest
from strength import only_full
from tuning_workloads import QUICK, matmul, tiled

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.interpreter import assert_same_meaning
from tirax.ir.equality import structural_equal
from tirax.schedule import Schedule
from tirax.tuning.database import Database, MemoryDatabase
from tirax.tuning.runner import EvaluatorConfig, LocalRunner
from tirax.tuning.search import ReplayTrace, SearchStrategy
from tirax.tuning.tir_integration import workload_of
from tirax.tvm_api import meta_schedule as ms
from tirax.tvm_api import relax
from tirax.tvm_api.script import from_source
from tirax.tvm_api.script import relax as R

TARGET = "llvm -num-cores=1"
ONE_EACH = {**QUICK, "num_trials_per_iter": 1}


@tvm.script.ir_module
class Network:
    @R.function
    def main(x: R.Tensor((3, 8), "float32"), w0: R.Tensor((8, 4), "float32"), w1: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.nn.relu(R.matmul(x, w0))
            b = R.nn.relu(R.matmul(a, w1))
            c = R.nn.relu(R.matmul(b, w1))
            R.output(c)
        return c


def arrays(*shapes):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]


def reference(x, w0, w1):
    a = np.maximum(x @ w0, 0)
    b = np.maximum(a @ w1, 0)
    return np.maximum(b @ w1, 0)


def test_a_design_space_by_hand(tmp_path):
    mod = matmul(12)
    space = ms.space_generator.ScheduleFn(tiled)
    quick = {**QUICK, "strategy": ReplayTrace()}  # by its name it is the class of TVM, which repeats schedules
    database = ms.tune_tir(mod, TARGET, tmp_path, 4, space=space, task_name="mine", **quick)
    assert len(database) == 4 and (tmp_path / "database.sqlite").exists()
    rows = [json.loads(line) for line in (tmp_path / "logs" / "trials.jsonl").read_text().splitlines()]
    assert len(rows) == 4 and {row["task"] for row in rows} == {"mine"} and not any(row["error"] for row in rows)
    assert "Tuning time" in (tmp_path / "logs" / "tuning.log").read_text()
    sch = ms.tir_integration.compile_tir(database, mod, TARGET)
    assert "sample_perfect_tile" in str(sch.trace)
    assert_same_meaning(mod.op, sch.mod.op)
    a, b, c = arrays((12, 12), (12, 12), (12, 12))
    tvm.build(sch.mod, target=TARGET)["main"](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


@only_full
def test_the_design_space_of_the_rules_goes_on_where_it_was(tmp_path, capsys):
    mod = matmul(12)
    for trials in (2, 4):
        database = ms.tune_tir(mod, TARGET, tmp_path, 2, **{**QUICK, "seed": trials, "progress": True})
        assert 2 <= len(database) <= trials
        reported = "tuning goes on from 2 measurements with up to 2 further ones" in capsys.readouterr().err
        assert reported is (trials == 4)
    assert_same_meaning(mod.op, ms.compile_tir(Database.create("sqlite", tmp_path), mod, TARGET).mod.op)
    assert ms.compile_tir(database, mod, "llvm -num-cores=2") is None
    assert ms.compile_tir(database, matmul(8), TARGET) is None


def test_the_database_of_tvm_in_the_folder(tmp_path):
    """`database="json"` keeps the two files that TVM's users know, and what applies it finds them."""
    mod = matmul(8)
    for trials in (1, 2):
        database = ms.tune_tir(mod, TARGET, tmp_path, 1, database="json", space=tiled, **{**QUICK, "seed": trials})
        assert 1 <= len(database) <= trials
    assert {"database_workload.json", "database_tuning_record.json"} <= {f.name for f in tmp_path.iterdir()}
    assert not (tmp_path / "database.sqlite").exists()
    applied = relax.transform.MetaScheduleApplyDatabase(str(tmp_path), target=TARGET)(mod)
    assert "tir.is_scheduled" in applied.script()


def test_wrong_schedules_are_detected(tmp_path, monkeypatch):
    """A primitive that is wrong (here: one that skips the last iteration) loses its candidates."""

    def wrong(sch):
        sch = tiled(sch)
        loop = sch.get(sch.get_loops(sch.get_block("C_init", "main"))[0]).op
        loop.properties["extent_attr"] = type(loop.extent_attr)(loop.extent - 1)
        return sch

    mod = matmul(16)
    database = ms.tune_tir(
        mod,
        TARGET,
        max_trials_global=2,
        space=ms.space_generator.ScheduleFn(wrong),
        **{**QUICK, "strategy": "replay-func"},
    )
    assert [r.run_secs for r in database.get_all_tuning_records()] == [None] * len(database) and len(database)
    assert ms.compile_tir(database, mod, TARGET) is None


def test_functions_of_a_module_are_tasks():
    mod = matmul(8)
    mod["other"] = matmul(6)["main"]
    mod["third"] = matmul(8)["main"]
    database = ms.tune_tir(
        mod, TARGET, None, 2, space=tiled, database="memory", task_scheduler="round-robin", **ONE_EACH
    )
    assert isinstance(database, MemoryDatabase)
    sch = ms.compile_tir(database, mod, TARGET)
    assert sch.mod.names == mod.names
    assert_same_meaning(mod.op, sch.mod.op)
    assert all("tir.is_scheduled" in sch.mod[name].script() for name in mod.names)


def test_what_cannot_be_tuned():
    with pytest.raises(TiraxError, match="nothing to tune"):
        ms.tune_tir(matmul()["main"].with_attr("tir.is_scheduled", True), TARGET, None, 4)
    with pytest.raises(TiraxError, match="a module or a tensor function"):
        ms.tune_tir("matmul", TARGET, None, 4)
    with pytest.raises(TiraxError, match="unknown design space 'all'"):
        ms.tune_tir(matmul(), TARGET, None, 4, space="all")


def test_tasks_of_a_network():
    tasks = ms.relax_integration.extract_tasks(Network, TARGET)
    assert sorted(task.weight for task in tasks) == [1, 2]
    assert all(task.mod.names == ["main"] for task in tasks)
    again = ms.extract_tasks(Network, TARGET, {"w1": arrays((4, 4))[0]})
    assert len(again) >= 2


def test_functions_of_unknown_shapes_are_no_tasks():
    source = Network.script().replace("(3, ", '("n", ')
    assert ms.extract_tasks(from_source(source), TARGET) == []


def test_a_network_is_tuned_and_built(tmp_path):
    database = ms.tune_relax(Network, None, TARGET, tmp_path, 2, task_scheduler="round-robin", **ONE_EACH)
    assert len(database) == 2
    ex = ms.relax_integration.compile_relax(database, Network, TARGET)
    x, w0, w1 = arrays((3, 8), (8, 4), (4, 4))
    result = relax.VirtualMachine(ex, tvm.cpu())["main"](x, w0, w1)
    np.testing.assert_allclose(np.asarray(result), reference(x, w0, w1), rtol=1e-3, atol=1e-3)
    bound = ms.compile_relax(database, Network, TARGET, {"w0": w0, "w1": w1})
    np.testing.assert_allclose(np.asarray(bound["main"](x)), reference(x, w0, w1), rtol=1e-3, atol=1e-3)


def test_chosen_functions_only():
    database = ms.tune_relax(Network, None, TARGET, None, 4, op_names=["no such function"], **QUICK)
    assert len(database) == 0


@pytest.fixture
def quick_search(monkeypatch):
    """Passes have no option for the strategy: let it be one that is done at once."""
    monkeypatch.setattr(SearchStrategy, "create", staticmethod(lambda kind: ReplayTrace()))


def lowered():
    return relax.get_pipeline("optimize")(Network)


def test_the_passes(tmp_path, caplog, quick_search):
    mod = lowered()
    tuned = relax.transform.MetaScheduleTuneIRMod({}, str(tmp_path), 2, target=TARGET)(mod)
    assert structural_equal(tuned.op, mod.op)
    apply = relax.transform.MetaScheduleApplyDatabase(str(tmp_path), enable_warning=True, target=TARGET)
    applied = apply(mod)
    assert "tir.is_scheduled" in applied.script()
    assert_same_meaning(mod.op, applied.op)
    with caplog.at_level(logging.WARNING, "tirax.tuning"):
        relax.transform.MetaScheduleApplyDatabase(str(tmp_path / "new"), enable_warning=True, target=TARGET)(mod)
    assert "no tuning record for" in caplog.text
    with Database.create("sqlite", tmp_path):
        again = relax.transform.MetaScheduleApplyDatabase(target=TARGET)(mod)
    assert structural_equal(again.op, applied.op)
    with pytest.raises(TiraxError, match="there is no database to apply"):
        relax.transform.MetaScheduleApplyDatabase()(mod)


@only_full
def test_tuning_tensor_functions_as_a_pass(quick_search):
    mod = matmul(8)
    with MemoryDatabase() as database:
        relax.transform.MetaScheduleTuneTIR("", 2, target=TARGET)(mod)
        applied = relax.transform.MetaScheduleApplyDatabase(target=TARGET)(mod)
    assert len(database) and "tir.is_scheduled" in applied.script()


def test_a_function_is_one_workload_whatever_it_is_called():
    mod = from_source(matmul().script().replace("def main", "def product"))
    assert structural_equal(workload_of(mod["product"].op).op, workload_of(matmul()["main"].op).op)


@only_full
def test_rounds_with_what_was_learnt(tmp_path):
    """Evolution with a cost model: the second round comes from what the first has shown."""
    strategy = ms.search_strategy.EvolutionarySearch(population_size=8, init_min_unmeasured=4, genetic_num_iters=1)
    runner = LocalRunner(evaluator_config=EvaluatorConfig(number=1, repeat=2, min_repeat_ms=0))
    options = {"runner": runner, "num_trials_per_iter": 4, "seed": 1, "strategy": strategy}
    database = ms.tune_tir(matmul(16), TARGET, tmp_path, 8, **options)
    assert len(database) == 8
    assert all(r.run_secs for r in database.get_all_tuning_records())


def test_schedules_come_from_measurements():
    sch = tiled(Schedule(matmul(), seed=1))
    assert not any("is_scheduled" in name for name in sch.mod["main"].attrs)


def test_what_is_scheduled_is_not_fused_any_more():
    """Each operator is tuned by itself; a build leaves the schedules as they are, though it could fuse."""
    mod = relax.transform.LegalizeOps()(Network)
    database = ms.tune_relax(mod, None, TARGET, None, 3, task_scheduler="round-robin", **ONE_EACH)
    applied = relax.transform.MetaScheduleApplyDatabase(target=TARGET)
    with database:
        scheduled = applied(mod)
    functions = [name for name in scheduled.names if "tir.is_scheduled" in scheduled[name].script()]
    assert len(functions) == 3
    optimized = relax.get_pipeline("optimize")(scheduled)
    assert set(functions) <= set(optimized.names)
    x, w0, w1 = arrays((3, 8), (8, 4), (4, 4))
    result = relax.build(scheduled, TARGET)["main"](x, w0, w1)
    np.testing.assert_allclose(np.asarray(result), reference(x, w0, w1), rtol=1e-3, atol=1e-3)
