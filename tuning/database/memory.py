"""A database that lives as long as the process."""

from __future__ import annotations

import json
import threading

from ...ir.module import IRModule
from ...target import Target
from ..types import TuningRecord, Workload
from .database import Database, find_equal, target_key
from .hashing import stable_hash


class MemoryDatabase(Database):
    """Workloads and records in lists. Usable from several threads."""

    def __init__(self) -> None:
        self._workloads: dict[str, list[Workload]] = {}
        self._records: dict[tuple[str, str, str], TuningRecord] = {}
        self._lock = threading.Lock()

    def has_workload(self, mod: IRModule) -> bool:
        return find_equal(self._workloads.get(stable_hash(mod), []), mod) is not None

    def commit_workload(self, mod: IRModule) -> Workload:
        shash = stable_hash(mod)
        with self._lock:
            known = self._workloads.setdefault(shash, [])
            found = find_equal(known, mod)
            if found is None:
                known.append(found := Workload(mod.clone(), shash))
            return found

    def commit_tuning_record(self, record: TuningRecord) -> None:
        key = (record.workload.shash, target_key(record.target), json.dumps(record.trace.as_json()))
        with self._lock:
            if key not in self._records or self._records[key].run_secs is None:
                self._records[key] = record

    def get_all_tuning_records(self) -> list[TuningRecord]:
        return list(self._records.values())

    def records_of(self, workload: Workload, target: Target | None = None) -> list[TuningRecord]:
        key = target_key(target)
        return [
            record
            for (shash, of_target, _), record in list(self._records.items())
            if shash == workload.shash and (target is None or of_target == key)
        ]
