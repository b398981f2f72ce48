"""What all databases of measurements do: by workload and target, the fastest records and their schedules."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, ClassVar

from ...diagnostics import unknown_name
from ...handles.module import IRModule
from ...ir.equality import structural_equal
from ...schedule import Schedule
from ...schedule.state import ScheduleError
from ...target import Target
from ..types import TuningRecord, Workload
from .files import has_files

_TRIED = 5
"""The number of fastest records to try, in case the traces of the first ones no longer apply."""

_NO_MATTER = frozenset(("kind", "keys", "device", "model", "tag"))

_current: ContextVar[tuple[Database, ...]] = ContextVar("tirax_databases", default=())


class Database:
    """Workloads and their tuning records. Subclass it and define the first five methods, or use an existing class.

    `with database:` makes it the result of `Database.current()`.
    """

    scheduled_by: ClassVar[Callable[..., Database]]
    """Returns the database of a scheduling function; set by `composed`."""

    def has_workload(self, mod: IRModule) -> bool:
        """Return whether the database contains a structurally equal module."""
        raise NotImplementedError(type(self).__name__)

    def commit_workload(self, mod: IRModule) -> Workload:
        """Return the workload of a module, adding it if it is new."""
        raise NotImplementedError(type(self).__name__)

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Add a record. An existing record of the same trace, workload and target is kept, unless it is a failure."""
        raise NotImplementedError(type(self).__name__)

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """Return all records in the order in which they were added."""
        raise NotImplementedError(type(self).__name__)

    def records_of(self, workload: Workload, target: Target | None = None) -> list[TuningRecord]:
        """Return the records of a workload, only those for `target` if it is not None."""
        raise NotImplementedError(type(self).__name__)

    def __len__(self) -> int:
        return len(self.get_all_tuning_records())

    def get_top_k(self, workload: Workload, top_k: int, target: Target | str | None = None) -> list[TuningRecord]:
        """Return the `top_k` fastest records of a workload, without failures."""
        measured = [r for r in self.records_of(workload, as_target(target)) if r.valid]
        return sorted(measured, key=lambda r: r.median)[: max(0, top_k)]

    def query_tuning_record(
        self, mod: IRModule, target: Target | str, workload_name: str | None = None
    ) -> TuningRecord | None:
        """Return the fastest record of a module for a target, or None if no record applies.

        The module is compared with the workload's again. `workload_name` is accepted for compatibility with TVM.
        """
        best = self._best(mod, target)
        return None if best is None else best[0]

    def query_schedule(self, mod: IRModule, target: Target | str, workload_name: str | None = None) -> Schedule | None:
        """Return the module scheduled by its fastest record, or None if there is no such record."""
        best = self._best(mod, target)
        return None if best is None else best[1]

    def _best(self, mod: IRModule, target: Target | str) -> tuple[TuningRecord, Schedule] | None:
        """Return the fastest record that can be applied, and its schedule."""
        if not self.has_workload(mod):
            return None
        for record in self._fastest(self.commit_workload(mod), target):
            if structural_equal(record.workload.mod.op, mod.op):
                sch = _schedule(record)
                if sch is not None:
                    return record, sch
        return None

    def _fastest(self, workload: Workload, target: Target | str) -> list[TuningRecord]:
        """Return the fastest records for a target; a user's own class may not distinguish targets."""
        if "target" in inspect.signature(self.get_top_k).parameters:
            return self.get_top_k(workload, _TRIED, target)
        return [r for r in self.get_top_k(workload, _TRIED) if r.target in (None, as_target(target))]

    def query_ir_module(self, mod: IRModule, target: Target | str, workload_name: str | None = None) -> IRModule | None:
        """Like `query_schedule`, but return only the module."""
        sch = self.query_schedule(mod, target, workload_name)
        return None if sch is None else sch.mod

    def query(self, mod: IRModule, target: Target | str, *, workload_name: str = "main", kind: str = "schedule") -> Any:
        """Call `query_<kind>` for `schedule`, `record` or `ir_module`. Raises `NameLookupError` for other kinds."""
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
            if record.valid:
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
        """Return the database of the innermost `with`, or None outside of one."""
        entered = _current.get()
        return entered[-1] if entered else None

    @staticmethod
    def create(kind: Any = "sqlite", *args: Any, **options: Any) -> Database:
        """Return `kind` if it is a database, or a new database of that kind.

        The kinds are `sqlite` and `json` (with a `work_dir`), `memory`, `union` and `ordered_union` (of databases);
        a scheduling function makes a `ScheduleFnDatabase`. Raises `NameLookupError` for other kinds, and the
        class's errors.
        """

        if isinstance(kind, Database):
            return kind
        if callable(kind):
            return Database.scheduled_by(kind, *args, **options)
        if kind not in KINDS:
            raise unknown_name("database", str(kind), KINDS)
        return KINDS[kind](*args, **options)

    @staticmethod
    def in_folder(work_dir: str | os.PathLike[str] | None, kind: Any = "sqlite") -> Database:
        """Return the database of a folder, or one in memory for None; a database is returned as it is."""
        if not isinstance(kind, str):
            return Database.create(kind)
        if work_dir is None and kind in ("sqlite", "json"):
            kind = "memory"
        return Database.create(kind, **({"work_dir": work_dir} if kind in ("sqlite", "json") else {}))

    @staticmethod
    def open_existing(work_dir: str | os.PathLike[str]) -> Database:
        """Open the database that tuning left in a folder: the `json` one if it exists, else `sqlite`."""

        return Database.create("json" if has_files(work_dir) else "sqlite", work_dir=work_dir)


PyDatabase = Database

KINDS: dict[str, Callable[..., Database]] = {}
"""The constructors of databases by kind; each file of this folder adds its own."""


def as_target(target: Target | str | None) -> Target | None:
    """Return a target, parsing it if it is text; None stays None."""
    return Target(target) if isinstance(target, str) else target


def target_key(target: Target | None, machine: str | None = None) -> str:
    """Return a key that is equal for comparable measurements: the target, and the processor of `machine` (default:
    this).
    """
    if target is None:
        return ""
    exported = target.export()
    options = [f"-{k}={','.join(v) if isinstance(v, list) else v}" for k, v in exported.items() if k not in _NO_MATTER]
    return " | ".join([" ".join(["llvm", *sorted(options)]), machine or machine_key(target)])


def machine_key(target: Target) -> str:
    """Return the processor that a target denotes on this machine."""
    return f"{target.triple} | {target.cpu}"


def _schedule(record: TuningRecord) -> Schedule | None:
    """Return the record's schedule, or None if its trace does not apply (any more)."""
    try:
        return record.as_measure_candidate().sch
    except ScheduleError:
        return None


def find_equal(workloads: Sequence[Workload], mod: IRModule) -> Workload | None:
    """Return the workload whose module is structurally equal to `mod`."""
    return next((w for w in workloads if structural_equal(w.mod.op, mod.op)), None)
