"""Task schedulers that programs write, and what they read of tasks."""

import pytest

import tirax.tvm_api as tvm
from tirax.tvm_api import meta_schedule as ms
from tirax.tvm_api.meta_schedule.testing.dummy_object import DummyBuilder, DummyRunner
from tirax.tvm_api.script import from_source

SCRIPT = """
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + T.float32(1)
"""


@ms.derived_object
class Last(ms.task_scheduler.PyTaskScheduler):
    """Takes the last task that is not done."""

    def next_task_id(self):
        left = [k for k, task in enumerate(self._outer().tasks_) if not task.is_terminated]
        return left[-1] if left else -1


def test_a_scheduler_of_the_program():
    context = ms.TuneContext(
        tvm.IRModule({"main": from_source(SCRIPT)}),
        target=tvm.target.Target("llvm"),
        space_generator=lambda sch: None,
        search_strategy=ms.search_strategy.ReplayTrace(),
        task_name="one",
        rand_state=1,
    )
    scheduler, database = Last(), ms.database.MemoryDatabase()
    scheduler.tune(
        [context], [1.0], 2, 2, 1, DummyBuilder(), DummyRunner(),
        [ms.measure_callback.AddToDatabase()], database, None,
    )  # fmt: skip
    (task,) = scheduler.tasks_
    assert len(database) == 2 and scheduler.remaining_tasks_ == 0 and scheduler.database_ is database
    assert task.ctx is context and task.task_weight == 1.0
    assert (task.build_error_count, task.run_error_count, task.runner_futures) == (0, 0, None)
    assert scheduler.join_running_task(0) == [] and scheduler.cost_model_ is None
    assert len(scheduler.measure_callbacks_) == 1


def test_a_scheduler_without_a_choice_says_so():
    with pytest.raises(ValueError, match="next_task_id is not defined"):
        ms.task_scheduler.PyTaskScheduler().next_task_id()
