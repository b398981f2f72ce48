"""A database in two files of JSON lines, with the file names and record format of TVM."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ...diagnostics import TiraxError
from ...handles.module import IRModule
from ...locks import locked_file
from ...untrusted import brief, checked_path, read_json
from ..types import TuningRecord, Workload
from .base import KINDS, machine_key, target_key
from .files import FILE_NAME, RECORDS, WORKLOADS, module_of, reading, writing
from .memory import MemoryDatabase


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
        with locked_file(self.path_workload):
            self._refresh()

    def commit_workload(self, mod: IRModule) -> Workload:
        with locked_file(self.path_workload):
            self._refresh()
            return self._workload_line(mod)

    def commit_tuning_record(self, record: TuningRecord) -> None:
        with locked_file(self.path_workload):
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
