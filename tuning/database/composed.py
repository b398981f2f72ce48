"""Databases composed of others, and one that calls a scheduling function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diagnostics import UnsupportedError
from ...handles.module import IRModule
from ...schedule import Schedule
from ...target import Target
from ..types import TuningRecord, Workload
from .base import KINDS, Database


class _ReadOnly(Database):
    """A read-only database. Raises `UnsupportedError` on writes."""

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
    """Answers with the fastest record of all `databases`."""

    def __init__(self, *databases: Database):
        self.databases = databases

    def has_workload(self, mod: IRModule) -> bool:
        return any(database.has_workload(mod) for database in self.databases)

    def get_all_tuning_records(self) -> list[TuningRecord]:
        return [record for database in self.databases for record in database.get_all_tuning_records()]

    def records_of(self, workload: Workload, target: Target | None = None) -> list[TuningRecord]:
        return [r for d in self.databases if d.has_workload(workload.mod) for r in d.records_of(workload, target)]

    def _best(self, mod: IRModule, target: Target | str) -> tuple[TuningRecord, Schedule] | None:
        candidates = [best for database in self.databases if (best := database._best(mod, target)) is not None]  # pyright: ignore[reportPrivateUsage]
        return min(candidates, key=lambda best: best[0].median, default=None)


class OrderedUnionDatabase(UnionDatabase):
    """Answers with the record of the first of `databases` that has one."""

    def _best(self, mod: IRModule, target: Target | str) -> tuple[TuningRecord, Schedule] | None:
        candidates = (database._best(mod, target) for database in self.databases)  # pyright: ignore[reportPrivateUsage]
        return next((best for best in candidates if best is not None), None)


class ScheduleFnDatabase(_ReadOnly):
    """Schedules modules with `schedule_fn(sch)`, which returns whether it scheduled the module."""

    def __init__(self, schedule_fn: Callable[[Schedule], Any], module_equality: str = "structural"):
        self.schedule_fn = schedule_fn

    def _best(self, mod: IRModule, target: Target | str) -> tuple[TuningRecord, Schedule] | None:
        sch = Schedule(mod)
        if not self.schedule_fn(sch):
            return None
        record_target = Target(target) if isinstance(target, str) else target
        return TuningRecord(sch.trace, Workload(mod, ""), None, record_target), sch


KINDS |= {"union": UnionDatabase, "ordered_union": OrderedUnionDatabase}

Database.scheduled_by = ScheduleFnDatabase
