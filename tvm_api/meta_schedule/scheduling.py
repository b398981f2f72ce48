"""What TVM's programs read of a task scheduler and its tasks, and the base of schedulers that they write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diagnostics import TiraxError
from ...tuning.task_scheduler import TaskRecord, TaskScheduler


class UndefinedMethodError(TiraxError, ValueError):
    """A class of the user lacks a method that tuning calls."""


class PyTaskScheduler(TaskScheduler):
    """The base of schedulers that programs write: they define `next_task_id`, which returns -1 at the end."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        chosen: Callable[[PyTaskScheduler], int | None] | None = cls.__dict__.get("next_task_id")
        if chosen is not None:
            setattr(cls, "next_task_id", _until_end(chosen))  # noqa: B010 (checkers take it for an override)

    def _outer(self) -> PyTaskScheduler:
        return self

    def next_task_id(self) -> int | None:
        """Raise `UndefinedMethodError`: a subclass defines it."""
        raise UndefinedMethodError("PyTaskScheduler's next_task_id is not defined", hint="def next_task_id(self): …")


def _until_end(chosen: Callable[[Any], int | None]) -> Callable[[Any], int | None]:
    def next_task_id(self: Any) -> int | None:
        found = chosen(self)
        return None if found is None or found < 0 else found

    return next_task_id


def _join_running_task(self: TaskScheduler, task_id: int) -> list[Any]:
    """Return no results: a round waits for its measurements."""
    return []


def _terminate_task(self: TaskScheduler, task_id: int) -> None:
    self.tasks[task_id].terminated = True


def _touch_task(self: TaskScheduler, task_id: int) -> None:
    """Do nothing: there are no measurements of which the scheduler would have to know the end."""


def _print_tuning_statistics(self: TaskScheduler) -> None:
    for number, task in enumerate(self.tasks):
        print(f"{number} | {task.context.task_name} | {task.trials} trials | {task.gflops:.2f} GFLOP/s")


def _failed(task: TaskRecord, kinds: tuple[str, ...]) -> int:
    return sum(count for kind, count in task.failures.items() if kind in kinds)


_OF_SCHEDULERS: dict[str, Any] = {
    "tasks_": property(lambda self: self.tasks),
    "database_": property(lambda self: self.database),
    "cost_model_": property(lambda self: self.cost_model),
    "measure_callbacks_": property(lambda self: list(self._callbacks)),
    "remaining_tasks_": property(lambda self: sum(not task.terminated for task in self.tasks)),
    "join_running_task": _join_running_task,
    "terminate_task": _terminate_task,
    "touch_task": _touch_task,
    "print_tuning_statistics": _print_tuning_statistics,
}
_OF_TASKS: dict[str, Any] = {
    "ctx": property(lambda self: self.context),
    "task_weight": property(lambda self: self.weight),
    "is_terminated": property(lambda self: self.terminated),
    "build_error_count": property(lambda self: _failed(self, ("LocalBuilder", "build"))),
    "run_error_count": property(lambda self: sum(self.failures.values()) - self.build_error_count),
    "measure_candidates": property(lambda self: None),
    "builder_results": property(lambda self: None),
    "runner_futures": property(lambda self: None),
    "runner_results": property(lambda self: None),
}
"""Names of TVM, which has a task's measurements in them while they run; here a round waits for them."""


def attach() -> None:
    """Give the classes the names of TVM."""
    for cls, names in ((TaskScheduler, _OF_SCHEDULERS), (TaskRecord, _OF_TASKS)):
        for name, value in names.items():
            setattr(cls, name, value)


__all__ = ["PyTaskScheduler", "UndefinedMethodError", "attach"]
