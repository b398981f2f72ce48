"""A database in two files of JSON lines, with the names and the form of records that TVM's users know."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from ...diagnostics import TiraxError
from ...handles.module import IRModule
from ...ir.passes.transform import new_context
from ...schedule import Trace
from ...target import Target
from ..types import TensorInfo, TuningRecord, Workload
from .database import machine_key, target_key
from .memory import MemoryDatabase

WORKLOADS, RECORDS = "database_workload.json", "database_tuning_record.json"
_NEVER = 1e10
"""The seconds of a failure, as TVM writes them."""


class JSONDatabase(MemoryDatabase):
    """Workloads and records in memory, and in two files to which lines are added.

    A line of `path_workload` is `[hash, module]`, the module as MLIR text; one of `path_tuning_record` is
    `[number of the workload, [trace, seconds, target, arguments]]`, with the machine behind it, which TVM does not
    write. Several tuners may add to the files at the same time: each reads what others have added before it adds.

    Either both paths are given or `work_dir`. Raises `TiraxError` for files that are not there unless
    `allow_missing`, and for lines that are of another form.
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
            if not path.exists() and not allow_missing:
                raise TiraxError(f"there is no file '{path}'", hint="allow_missing=True begins a new database")
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
                self._append(self.path_tuning_record, [number, _as_json(record), machine])

    def _workload_line(self, mod: IRModule) -> Workload:
        """The workload of a module, with a line of its own where it is new."""
        workload = super().commit_workload(mod)
        if workload not in self._lines:
            self._append(self.path_workload, [workload.shash, str(workload.mod.op)])
            self._lines.append(workload)
        return workload

    @contextmanager
    def _locked(self) -> Generator[None]:
        """Hold the files: against other processes, and other databases of this one."""
        with self.path_workload.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _append(self, path: Path, row: list[Any]) -> None:
        with path.open("ab") as file:
            file.write(json.dumps(row).encode() + b"\n")
            self._read[path] = file.tell()

    def _refresh(self) -> None:
        """Read what others have added."""
        for row in self._new_rows(self.path_workload):
            self._lines.append(self._workload(*row))
        for row in self._new_rows(self.path_tuning_record):
            workload = self._lines[row[0]]
            if workload is not None:
                self._add(*_from_json(workload, row))

    def _new_rows(self, path: Path) -> list[Any]:
        with path.open("rb") as file:
            file.seek(self._read[path])
            data = file.read()
        self._read[path] += len(data)
        rows: list[Any] = []
        for line in data.splitlines():
            try:
                rows.append(json.loads(line))
            except ValueError as error:
                raise TiraxError(f"'{path}' is no database of tuning records", notes=[str(error)]) from error
        return rows

    def _workload(self, shash: Any, text: str) -> Workload | None:
        """The workload of a line; None where this version cannot read it (TVM's own are in a form of TVM's)."""
        try:
            return super().commit_workload(IRModule(Parser(new_context(), text).parse_module()))
        except (ParseError, TiraxError):
            return None


def _as_json(record: TuningRecord) -> list[Any]:
    return [
        record.trace.as_json(),
        record.run_secs or [_NEVER],
        None if record.target is None else record.target.export(),
        [info.as_json() for info in record.args_info],
    ]


def _from_json(workload: Workload, row: list[Any]) -> tuple[TuningRecord, str]:
    """A record, and the key of its target: what that meant where it was measured."""
    trace, seconds, config, args = row[1]
    target = None if config is None else Target(config)
    failed = not seconds or min(seconds) >= _NEVER
    infos = [TensorInfo.from_json(info) for info in args]
    record = TuningRecord(Trace.from_json(trace), workload, None if failed else seconds, target, infos)
    return record, target_key(target, row[2] if len(row) > 2 else None)


def has_files(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder has such a database."""
    return Path(folder, RECORDS).exists()
