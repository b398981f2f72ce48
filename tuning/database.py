"""Databases of measurements, by workload and target."""

from __future__ import annotations

import fcntl
import inspect
import json
import os
import sqlite3
import statistics
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from xdsl.utils.exceptions import ParseError

from ..diagnostics import TiraxError, UnsupportedError, unknown_name
from ..handles.module import IRModule
from ..ir.equality import structural_equal
from ..ir.passes.transform import new_context
from ..ir.text import TextParser, read_text
from ..locks import Lock
from ..schedule import Schedule, Trace
from ..schedule.state import ScheduleError
from ..target import Target
from ..untrusted import brief, checked_path, read_json
from .types import TensorInfo, TuningRecord, Workload, checked_seconds, stable_hash

_TRIED = 5
"""The number of fastest records to try, in case the traces of the first ones no longer apply."""
_NO_MATTER = frozenset(("kind", "keys", "device", "model", "tag"))
_current: ContextVar[tuple[Database, ...]] = ContextVar("tirax_databases", default=())


@contextmanager
def reading(path: str | os.PathLike[str]) -> Generator[None]:
    """Turn errors of reading into a `TiraxError` that names the file: stored text can be malformed in many ways."""
    try:
        yield
    except TiraxError:
        raise
    except (sqlite3.Error, OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        if isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF in _NO_ACCESS:
            raise _no_access(path, error) from error
        hint = "it is damaged, or something else: begin a new one in another folder"
        raise TiraxError(f"'{path}' is no database of tuning records", notes=[str(error)], hint=hint) from error


_NO_ACCESS = frozenset(
    (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN)
)
"""Errors of the disk, as opposed to invalid contents of the file."""


def _no_access(path: str | os.PathLike[str], error: Exception) -> TiraxError:
    hint = "make room, or see who holds it; tuning goes on from what it has"
    return TiraxError(f"'{path}' cannot be written", notes=[str(error)], hint=hint)


@contextmanager
def writing(path: str | os.PathLike[str]) -> Generator[None]:
    """Turn errors of writing into a `TiraxError` that names the file; its contents remain unchanged."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise _no_access(path, error) from error


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


def module_of(text: str) -> IRModule | None:
    """Parse a module from MLIR text, or return None for text that this version cannot read, such as TVM's own
    format.
    """
    try:
        return IRModule(read_text(new_context(), text, TextParser.parse_module))
    except (ParseError, TiraxError):
        return None


# A database in memory.


class MemoryDatabase(Database):
    """Workloads and records in lists. Thread-safe. `module_equality` is accepted for compatibility with TVM."""

    def __init__(self, module_equality: str = "structural") -> None:
        self._workloads: dict[str, list[Workload]] = {}
        self._records: dict[tuple[str, str, str], list[TuningRecord]] = {}
        self._lock = Lock()

    def has_workload(self, mod: IRModule) -> bool:
        return find_equal(self._workloads.get(stable_hash(mod), []), mod) is not None

    def commit_workload(self, mod: IRModule) -> Workload:
        shash = stable_hash(mod)
        with self._lock:
            known = self._workloads.setdefault(shash, [])
            workload = find_equal(known, mod)
            if workload is None:
                known.append(workload := Workload(mod.clone(), shash))
            return workload

    def commit_tuning_record(self, record: TuningRecord) -> None:
        self._add(record, target_key(record.target))

    def _add(self, record: TuningRecord, of_target: str) -> bool:
        """Add a record and return whether it is new. Another measurement of the same schedule is another record."""
        schedule = (record.workload.shash, of_target, json.dumps(record.trace.as_json()))
        with self._lock:
            known = self._records.setdefault(schedule, [])
            if any(r.run_secs == record.run_secs for r in known) or (known and record.run_secs is None):
                return False
            self._records[schedule] = [*(r for r in known if r.run_secs is not None), record]
            return True

    def get_all_tuning_records(self) -> list[TuningRecord]:
        return [record for records in list(self._records.values()) for record in records]

    def records_of(self, workload: Workload, target: Target | None = None) -> list[TuningRecord]:
        key = target_key(target)
        return [
            record
            for (shash, of_target, _), records in list(self._records.items())
            for record in records
            if shash == workload.shash and (target is None or of_target == key)
        ]


KINDS["memory"] = MemoryDatabase


# Databases composed of others, and one that calls a scheduling function.


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


# A database in two files of JSON lines, with the file names and record format of TVM.

WORKLOADS, RECORDS = "database_workload.json", "database_tuning_record.json"


class JSONDatabase(MemoryDatabase):
    """Workloads and records in memory, mirrored in two files to which lines are appended.

    A line of `path_workload` is `[hash, module]`, with the module as MLIR text. A line of `path_tuning_record`
    is `[number of the workload, [trace, seconds, target, arguments]]`, followed by the machine, which TVM does
    not write. Several tuners may append at the same time: each reads the others' lines before it writes.

    Pass either both paths or `work_dir`. Raises `TiraxError` for missing files unless `allow_missing`, and for
    malformed lines.
    """

    def __init__(
        self,
        path_workload: str | os.PathLike[str] | None = None,
        path_tuning_record: str | os.PathLike[str] | None = None,
        *,
        work_dir: str | os.PathLike[str] | None = None,
        allow_missing: bool = True,
        module_equality: str = "structural",
    ):
        super().__init__(module_equality)
        if work_dir is not None:
            path_workload = path_workload or Path(work_dir, WORKLOADS)
            path_tuning_record = path_tuning_record or Path(work_dir, RECORDS)
        if path_workload is None or path_tuning_record is None:
            raise TiraxError("a database of kind 'json' has two files", expected="work_dir, or both paths")
        self.path_workload, self.path_tuning_record = Path(path_workload), Path(path_tuning_record)
        self._read = {self.path_workload: 0, self.path_tuning_record: 0}
        """How many bytes of each file are known."""
        self._lines: list[Workload | None] = []
        """The workload of each line; None for one that this version cannot read."""
        for path in self._read:
            checked_path(path, missing=True)
        other = self.path_tuning_record.parent / FILE_NAME
        if other.exists() and not any(path.exists() for path in self._read):
            hint = f'open it by Database.create("sqlite", work_dir={str(other.parent)!r})'
            raise TiraxError(f"the records of this folder are in {other.name}, in none of JSON", hint=hint)
        for path in self._read:
            if not path.exists() and not allow_missing:
                raise TiraxError(f"there is no file '{path}'", hint="allow_missing=True begins a new database")
            with writing(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
        with self._locked():
            self._refresh()

    def commit_workload(self, mod: IRModule) -> Workload:
        with self._locked():
            self._refresh()
            return self._workload_line(mod)

    def commit_tuning_record(self, record: TuningRecord) -> None:
        with self._locked():
            self._refresh()
            number = self._lines.index(self._workload_line(record.workload.mod))
            if self._add(record, target_key(record.target)):
                machine = "" if record.target is None else machine_key(record.target)
                self._append(self.path_tuning_record, [number, record.as_json(), machine])

    def _workload_line(self, mod: IRModule) -> Workload:
        """Return the workload of a module, appending a line if it is new."""
        workload = super().commit_workload(mod)
        if workload not in self._lines:
            self._append(self.path_workload, [workload.shash, str(workload.mod.op)])
            self._lines.append(workload)
        return workload

    @contextmanager
    def _locked(self) -> Generator[None]:
        """Lock the files against other processes and against other databases of this process."""
        with self.path_workload.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _append(self, path: Path, row: list[Any]) -> None:
        """Append a complete line or nothing, after cutting off an incomplete line of a killed writer."""
        data = json.dumps(row).encode() + b"\n"
        size = self._read[path]
        with writing(path), path.open("r+b", buffering=0) as file:
            file.truncate(size)
            file.seek(size)
            try:
                left = data
                while left:
                    left = left[file.write(left) :]
            except OSError:
                file.truncate(size)
                raise
        self._read[path] = size + len(data)

    def _refresh(self) -> None:
        """Read the lines that others have added."""
        with reading(self.path_workload):
            for row in self._new_rows(self.path_workload):
                self._lines.append(self._workload(*row))
        with reading(self.path_tuning_record):
            for row in self._new_rows(self.path_tuning_record):
                number = row[0]
                if type(number) is not int or number < 0:
                    raise ValueError(f"a record is of the workload {brief(number)}")
                workload = self._lines[number]
                if workload is not None:
                    self._add(*_from_json(workload, row))

    def _new_rows(self, path: Path) -> list[Any]:
        with path.open("rb") as file:
            file.seek(self._read[path])
            complete, newline, _ = file.read().rpartition(b"\n")
        data = complete + newline
        self._read[path] += len(data)
        return [_row(line, f"'{path}' is no database of tuning records: a line") for line in data.split(b"\n")[:-1]]

    def _workload(self, shash: Any, text: str) -> Workload | None:
        """Return the workload of a line, or None if this version cannot read it."""
        mod = module_of(text)
        return None if mod is None else super().commit_workload(mod)


KINDS["json"] = JSONDatabase


def _row(line: bytes, what: str) -> list[Any]:
    """Parse a line as a JSON list."""
    row = read_json(line, what, TiraxError)
    if not isinstance(row, list) or len(row) < 2:
        raise TiraxError(f"{what} is no list of two or three", found=brief(row))
    return row


def _from_json(workload: Workload, row: list[Any]) -> tuple[TuningRecord, str]:
    """Return a record and its target key, which includes the machine it was measured on."""
    record = TuningRecord.from_json(row[1], workload)
    return record, target_key(record.target, row[2] if len(row) > 2 else None)


def has_files(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder contains such a database."""
    return Path(folder, RECORDS).exists()


# A database in one SQLite file, which several tuners may write at the same time.

FILE_NAME = "database.sqlite"
_VERSION = 1
_BUSY_SECONDS = 60.0
_SCHEMA = """
create table if not exists workload (
    id integer primary key,
    shash text not null,
    module text not null,
    unique (shash, module)
);
create table if not exists record (
    id integer primary key,
    workload integer not null references workload (id),
    target text not null,
    target_key text not null,
    trace text not null,
    run_secs text,
    args_info text not null,
    unique (workload, target_key, trace)
);
"""
"""Modules are stored as MLIR text; traces, arguments and seconds as JSON in TVM's format. `run_secs` is null
for a failure.
"""
_AGAIN = """on conflict (workload, target_key, trace)
do update set run_secs = excluded.run_secs where record.run_secs is null"""
"""Keep an existing measurement, but replace a failure, which may have been the machine's fault."""


_MOST_TEXT = 1 << 28
"""The maximal size of a value in a row, in bytes."""


@cache
def _own_tables() -> dict[str, str]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(_SCHEMA)
        return _tables(db)


def _tables(db: sqlite3.Connection) -> dict[str, str]:
    """Return the objects of a database by name, as SQL, including views and triggers, which would execute code."""
    return dict(db.execute("select name, sql from sqlite_schema where sql is not null"))


class SQLiteDatabase(Database):
    """Workloads and records in an SQLite file in WAL mode: writers wait for each other, readers never wait.

    Each commit is a transaction and survives a crash. Thread-safe. Raises `TiraxError` for a file that is no
    such database or has a newer version.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)
        self._lock = Lock()
        self._workloads: dict[int, Workload] = {}
        """Those that were read already."""
        checked_path(self.path, missing=True)
        os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)
        with reading(self.path):
            self._db = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None)
        try:
            with reading(self.path):
                self._open()
        except TiraxError:
            self._db.close()
            raise

    @staticmethod
    def in_folder(work_dir: str | os.PathLike[str] | None = None) -> SQLiteDatabase:
        """Open the file `database.sqlite` of a folder. Raises `TiraxError` without a folder."""
        if work_dir is None:
            raise TiraxError("a database of kind 'sqlite' has a file", expected="work_dir")
        return SQLiteDatabase(os.path.join(work_dir, FILE_NAME))

    def _open(self) -> None:
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("pragma synchronous = normal")
        version = int(self._db.execute("pragma user_version").fetchone()[0])
        if version > _VERSION:
            raise TiraxError(f"'{self.path}' was written by a newer tirax", expected=_VERSION, found=version)
        self._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_TEXT)
        tables, own = _tables(self._db), _own_tables()
        others = sorted(name for name, text in tables.items() if own.get(name) != text)
        if others:
            problem = f"'{self.path}' is no database of tuning records"
            raise TiraxError(problem, expected="tables of records alone", found=brief(others))
        self._db.executescript(_SCHEMA)
        self._db.execute(f"pragma user_version = {_VERSION}")

    def close(self) -> None:
        """Close the file; the database cannot be used afterwards."""
        self._db.close()

    def has_workload(self, mod: IRModule) -> bool:
        return self._find(mod, stable_hash(mod)) is not None

    def commit_workload(self, mod: IRModule) -> Workload:
        return self._workloads[self._commit(mod)]

    def _commit(self, mod: IRModule) -> int:
        """Return the number of a module's workload, adding it if it is new."""
        shash = stable_hash(mod)
        with self._lock:
            number = self._find(mod, shash)
            if number is not None:
                return number
            with writing(self.path):
                self._db.execute("insert or ignore into workload (shash, module) values (?, ?)", (shash, str(mod.op)))
            number = self._find(mod, shash)
        if number is None:
            raise TiraxError("a module is not the same when it is read back", expected=mod.script())
        return number

    def _find(self, mod: IRModule, shash: str) -> int | None:
        known = {k: w for k, w in self._workloads.items() if w.shash == shash}
        equal = find_equal(list(known.values()), mod)
        if equal is None:
            rows = self._all("select id, shash, module from workload where shash = ?", (shash,))
            known = {k: w for k, text_hash, text in rows if (w := self._workload(k, text_hash, text)) is not None}
            equal = find_equal(list(known.values()), mod)
        return next((k for k, w in known.items() if w is equal), None)

    def _workload(self, number: int, shash: str, text: str) -> Workload | None:
        """Return a workload of the file, or None if this version cannot read it."""
        if not isinstance(text, str):  # SQLite has bytes in columns of texts, too
            raise TiraxError(f"a workload of '{self.path}' is no text", found=type(text).__name__)
        if number not in self._workloads:
            mod = module_of(text)
            if mod is None:
                return None
            self._workloads[number] = Workload(mod, shash)
        return self._workloads[number]

    def commit_tuning_record(self, record: TuningRecord) -> None:
        row = (
            self._commit(record.workload.mod),
            "" if record.target is None else record.target.text,
            target_key(record.target),
            json.dumps(record.trace.as_json()),
            None if record.run_secs is None else json.dumps(record.run_secs),
            json.dumps([info.as_json() for info in record.args_info]),
        )
        columns = "workload, target, target_key, trace, run_secs, args_info"
        with self._lock, writing(self.path):
            self._db.execute(f"insert into record ({columns}) values (?, ?, ?, ?, ?, ?) {_AGAIN}", row)

    def get_all_tuning_records(self) -> list[TuningRecord]:
        return self._records("", ())

    def records_of(self, workload: Workload, target: Target | None = None) -> list[TuningRecord]:
        number = self._find(workload.mod, workload.shash)
        if number is None:
            return []
        if target is None:
            return self._records("where workload.id = ?", (number,))
        return self._records("where workload.id = ? and target_key = ?", (number, target_key(target)))

    def get_top_k(self, workload: Workload, top_k: int, target: Target | str | None = None) -> list[TuningRecord]:
        number = self._find(workload.mod, workload.shash)
        where: str = "workload = ? and run_secs is not null"
        values: list[Any] = [number]
        if target is not None:
            where, values = f"{where} and target_key = ?", [*values, target_key(as_target(target))]
        rows = self._all(f"select id, run_secs from record where {where}", values)
        best = sorted(rows, key=lambda row: statistics.median(json.loads(row[1])))[: max(0, top_k)]
        return [record for row in best for record in self._records("where record.id = ?", (row[0],))]

    def __len__(self) -> int:
        return int(self._all("select count(*) from record", ())[0][0])

    def _records(self, where: str, values: Sequence[Any]) -> list[TuningRecord]:
        columns = "workload.id, shash, module, target, trace, run_secs, args_info"
        source = "record join workload on record.workload = workload.id"
        rows = self._all(f"select {columns} from {source} {where} order by record.id", values)
        return [record for row in rows if (record := self._record(*row)) is not None]

    def _record(
        self, number: int, shash: str, module: str, target: str, trace: str, run_secs: str | None, args_info: str
    ) -> TuningRecord | None:
        workload = self._workload(number, shash, module)
        if workload is None:
            return None
        with reading(self.path):
            what = f"a record of '{self.path}'"
            return TuningRecord(
                Trace.from_json(read_json(trace, what, TiraxError)),
                workload,
                None if run_secs is None else checked_seconds(read_json(run_secs, what, TiraxError)),
                Target(target) if target else None,
                [TensorInfo.from_json(info) for info in read_json(args_info, what, TiraxError)],
            )

    def _all(self, query: str, values: Sequence[Any]) -> list[Any]:
        with self._lock, reading(self.path):
            return self._db.execute(query, values).fetchall()


KINDS["sqlite"] = SQLiteDatabase.in_folder
