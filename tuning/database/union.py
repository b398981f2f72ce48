"""Databases made of others, and of a function that schedules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diagnostics import UnsupportedError
from ...handles.module import IRModule
from ...schedule import Schedule
from ...target import Target
from ..types import TuningRecord, Workload
from .database import Database


class _ReadOnly(Database):
    """A database that only answers. Raises `UnsupportedError` for what would be stored."""

    def has_workload(self, mod: IRModule) -> bool:
        return False

    def commit_workload(self, mod: IRModule) -> Workload:
        raise UnsupportedError(
            f"storing in a {type(self).__name__}", hint="store in one of kind memory, sqlite or json"
        )

    def commit_tuning_record(self, record: TuningRecord) -> None:
        self.commit_workload(record.workload.mod)

    def get_all_tuning_records(self) -> list[TuningRecord]:
        return []

    def records_of(self, workload: Workload, target: Target | None = None) -> list[TuningRecord]:
        return []


class UnionDatabase(_ReadOnly):
    """The fastest record that any of `databases` has."""

    def __init__(self, *databases: Database):
        self.databases = databases

    def has_workload(self, mod: IRModule) -> bool:
        return any(database.has_workload(mod) for database in self.databases)

    def get_all_tuning_records(self) -> list[TuningRecord]:
        return [record for database in self.databases for record in database.get_all_tuning_records()]

    def records_of(self, workload: Workload, target: Target | None = None) -> list[TuningRecord]:
        return [r for d in self.databases if d.has_workload(workload.mod) for r in d.records_of(workload, target)]

    def _best(self, mod: IRModule, target: Target | str) -> tuple[TuningRecord, Schedule] | None:
        found = [best for database in self.databases if (best := database._best(mod, target)) is not None]  # pyright: ignore[reportPrivateUsage]
        return min(found, key=lambda best: best[0].median, default=None)


class OrderedUnionDatabase(UnionDatabase):
    """The record of the first of `databases` that has one."""

    def _best(self, mod: IRModule, target: Target | str) -> tuple[TuningRecord, Schedule] | None:
        found = (database._best(mod, target) for database in self.databases)  # pyright: ignore[reportPrivateUsage]
        return next((best for best in found if best is not None), None)


class ScheduleFnDatabase(_ReadOnly):
    """Whatever `schedule_fn(sch)` makes of a module; it says whether it has scheduled it."""

    def __init__(self, schedule_fn: Callable[[Schedule], Any], module_equality: str = "structural"):
        self.schedule_fn = schedule_fn

    def _best(self, mod: IRModule, target: Target | str) -> tuple[TuningRecord, Schedule] | None:
        sch = Schedule(mod)
        if not self.schedule_fn(sch):
            return None
        given = Target(target) if isinstance(target, str) else target
        return TuningRecord(sch.trace, Workload(mod, ""), None, given), sch
