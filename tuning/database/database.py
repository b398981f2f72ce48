"""What a database is, and what can be asked of each."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from ...diagnostics import unknown_name
from ...handles.module import IRModule
from ...ir.equality import structural_equal
from ...schedule import Schedule
from ...schedule.errors import ScheduleError
from ...target import Target
from ..types import TuningRecord, Workload

_TRIED = 5
"""So many of the fastest records are tried, where those before cannot be applied any more."""
_NO_MATTER = frozenset(("kind", "keys", "device", "model", "tag"))
_current: ContextVar[tuple[Database, ...]] = ContextVar("tirax_databases", default=())


class Database:
    """Workloads and records. Subclass it with the first five methods, or take one of those that there are.

    `with database:` makes it the one that `Database.current()` gives.
    """

    def has_workload(self, mod: IRModule) -> bool:
        """Whether a structurally equal module is in it."""
        raise NotImplementedError(type(self).__name__)

    def commit_workload(self, mod: IRModule) -> Workload:
        """The workload of a module, added where it is new."""
        raise NotImplementedError(type(self).__name__)

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Add a record; one of the same trace, workload and target is kept as it is, but for a failure."""
        raise NotImplementedError(type(self).__name__)

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """All records, in the order in which they came."""
        raise NotImplementedError(type(self).__name__)

    def records_of(self, workload: Workload, target: Target | None = None) -> list[TuningRecord]:
        """The records of a workload, for one target where it is given."""
        raise NotImplementedError(type(self).__name__)

    def __len__(self) -> int:
        return len(self.get_all_tuning_records())

    def get_top_k(self, workload: Workload, top_k: int, target: Target | str | None = None) -> list[TuningRecord]:
        """The `top_k` fastest records of a workload; those that failed are not among them."""
        measured = [r for r in self.records_of(workload, as_target(target)) if r.run_secs]
        return sorted(measured, key=lambda r: r.median)[: max(0, top_k)]

    def query_tuning_record(
        self, mod: IRModule, target: Target | str, workload_name: str | None = None
    ) -> TuningRecord | None:
        """The fastest record of a module for a target, None where there is none that can be applied.

        The module is compared with the workload's once more. `workload_name` is accepted for TVM's sake.
        """
        found = self._best(mod, target)
        return None if found is None else found[0]

    def query_schedule(self, mod: IRModule, target: Target | str, workload_name: str | None = None) -> Schedule | None:
        """The module as its fastest record schedules it, None where there is none."""
        found = self._best(mod, target)
        return None if found is None else found[1]

    def _best(self, mod: IRModule, target: Target | str) -> tuple[TuningRecord, Schedule] | None:
        """The fastest record that can be applied, and its schedule."""
        if not self.has_workload(mod):
            return None
        for record in self.get_top_k(self.commit_workload(mod), _TRIED, target):
            if structural_equal(record.workload.mod.op, mod.op):
                sch = _schedule(record)
                if sch is not None:
                    return record, sch
        return None

    def query_ir_module(self, mod: IRModule, target: Target | str, workload_name: str | None = None) -> IRModule | None:
        """As `query_schedule`, the module alone."""
        sch = self.query_schedule(mod, target, workload_name)
        return None if sch is None else sch.mod

    def query(self, mod: IRModule, target: Target | str, *, workload_name: str = "main", kind: str = "schedule") -> Any:
        """`query_<kind>`: `schedule`, `record` or `ir_module`. Raises `NameLookupError` for another kind."""
        kinds = {
            "schedule": self.query_schedule,
            "record": self.query_tuning_record,
            "ir_module": self.query_ir_module,
        }
        if kind not in kinds:
            raise unknown_name("kind of query", kind, kinds)
        return kinds[kind](mod, target, workload_name)

    def dump_pruned(self, destination: Database) -> None:
        """Add the fastest record of each workload and target to another database."""
        best: dict[tuple[str, str], TuningRecord] = {}
        for record in self.get_all_tuning_records():
            if record.run_secs:
                key = (record.workload.shash, target_key(record.target))
                if key not in best or record.median < best[key].median:
                    best[key] = record
        for record in best.values():
            destination.commit_workload(record.workload.mod)
            destination.commit_tuning_record(record)

    def __enter__(self) -> Database:
        _current.set((*_current.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        _current.set(_current.get()[:-1])

    @staticmethod
    def current() -> Database | None:
        """The database of the innermost `with`, None outside."""
        entered = _current.get()
        return entered[-1] if entered else None

    @staticmethod
    def create(kind: Any = "sqlite", *args: Any, **options: Any) -> Database:
        """A database itself, or a new one: `sqlite` and `json` (with a `work_dir`), `memory`, `union` and
        `ordered_union` (of databases), or one of a function that schedules.

        Raises `NameLookupError` for other kinds, and what the class raises.
        """
        from .json_files import JSONDatabase
        from .memory import MemoryDatabase
        from .sqlite import SQLiteDatabase
        from .union import OrderedUnionDatabase, ScheduleFnDatabase, UnionDatabase

        if isinstance(kind, Database):
            return kind
        if callable(kind):
            return ScheduleFnDatabase(kind, *args, **options)
        kinds: dict[str, Callable[..., Database]] = {
            "sqlite": SQLiteDatabase.in_folder,
            "json": JSONDatabase,
            "memory": MemoryDatabase,
            "union": UnionDatabase,
            "ordered_union": OrderedUnionDatabase,
        }
        if kind not in kinds:
            raise unknown_name("database", str(kind), kinds)
        return kinds[kind](*args, **options)

    @staticmethod
    def in_folder(work_dir: str | os.PathLike[str] | None, kind: Any = "sqlite") -> Database:
        """The database of a folder; one in memory where there is no folder. Given one itself, that."""
        if not isinstance(kind, str):
            return Database.create(kind)
        if work_dir is None and kind in ("sqlite", "json"):
            kind = "memory"
        return Database.create(kind, **({"work_dir": work_dir} if kind in ("sqlite", "json") else {}))

    @staticmethod
    def found_in(work_dir: str | os.PathLike[str]) -> Database:
        """The database that tuning has left in a folder: that of kind `json` where there is one, else `sqlite`."""
        from .json_files import has_files

        return Database.create("json" if has_files(work_dir) else "sqlite", work_dir=work_dir)


PyDatabase = Database


def as_target(given: Target | str | None) -> Target | None:
    """A target of itself, of its text, or None."""
    return Target(given) if isinstance(given, str) else given


def target_key(target: Target | None, machine: str | None = None) -> str:
    """Equal where measurements can be compared: what was asked for, and what that meant on the machine (this one)."""
    if target is None:
        return ""
    given = target.export()
    options = [f"-{k}={','.join(v) if isinstance(v, list) else v}" for k, v in given.items() if k not in _NO_MATTER]
    return " | ".join([" ".join(["llvm", *sorted(options)]), machine or machine_key(target)])


def machine_key(target: Target) -> str:
    """The processor that a target means on this machine."""
    return f"{target.triple} | {target.cpu}"


def _schedule(record: TuningRecord) -> Schedule | None:
    """The record's schedule, None where its trace cannot be applied (any more)."""
    try:
        return record.as_measure_candidate().sch
    except ScheduleError:
        return None


def find_equal(workloads: Sequence[Workload], mod: IRModule) -> Workload | None:
    """The workload whose module equals `mod`."""
    return next((w for w in workloads if structural_equal(w.mod.op, mod.op)), None)
