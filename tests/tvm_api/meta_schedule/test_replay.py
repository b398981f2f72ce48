"""Strategies that replay measure a design space without decisions as often as there are trials."""

import pytest

import tirax.tvm_api as tvm
from tests.tvm_api.meta_schedule.test_threads import one_more
from tirax.tvm_api import meta_schedule as ms
from tirax.tvm_api import te
from tirax.tvm_api.meta_schedule.testing.dummy_object import DummyBuilder, DummyRunner
from tirax.tvm_api.target import Target


def fixed(sch):
    sch.parallel(sch.get_loops(sch.get_block("B"))[0])


@pytest.mark.parametrize(
    "strategy",
    [
        ms.search_strategy.ReplayTrace,
        ms.search_strategy.ReplayFunc,
        lambda: "replay-trace",
        lambda: ms.search_strategy.create("replay-func"),
    ],
)
def test_one_schedule_is_measured_again(strategy):
    database = ms.database.MemoryDatabase()
    task = ms.TuneContext(
        mod=tvm.IRModule({"main": te.create_prim_func(one_more(16, 16))}),
        target=Target("llvm"),
        space_generator=fixed,
        search_strategy=strategy(),
        task_name="t",
        rand_state=1,
    )
    ms.task_scheduler.RoundRobin().tune(
        [task],
        [1.0],
        max_trials_global=3,
        max_trials_per_task=10,
        num_trials_per_iter=64,
        builder=DummyBuilder(),
        runner=DummyRunner(),
        database=database,
        measure_callbacks=[ms.measure_callback.AddToDatabase()],
        cost_model=None,
    )
    assert len(database) == 10
