"""A database in one SQLite file, which several tuners may write at the same time."""

from __future__ import annotations

import json
import os
import sqlite3
import statistics
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from typing import Any

from ...diagnostics import TiraxError
from ...handles.module import IRModule
from ...locks import Lock
from ...schedule import Trace
from ...target import Target
from ...untrusted import brief, checked_path, read_json
from ..types import TensorInfo, TuningRecord, Workload, checked_seconds, stable_hash
from .base import KINDS, Database, as_target, find_equal, target_key
from .files import FILE_NAME, module_of, reading, writing

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
