"""A database that lives as long as the process."""

from __future__ import annotations

import json
import threading

from ...handles.module import IRModule
from ...target import Target
from ..types import TuningRecord, Workload
from .database import Database, find_equal, target_key
from .hashing import stable_hash


class MemoryDatabase(Database):
    """Workloads and records in lists. Usable from several threads. `module_equality` is accepted for TVM's sake."""

    def __init__(self, module_equality: str = "structural") -> None:
        self._workloads: dict[str, list[Workload]] = {}
        self._records: dict[tuple[str, str, str], TuningRecord] = {}
        self._lock = threading.RLock()

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
        self._add(record, target_key(record.target))

    def _add(self, record: TuningRecord, of_target: str) -> bool:
        """Keep a record; whether it was not there, or only as a failure."""
        key = (record.workload.shash, of_target, json.dumps(record.trace.as_json()))
        with self._lock:
            known = self._records.get(key)
            if known is not None and (known.run_secs is not None or record.run_secs is None):
                return False
            self._records[key] = record
            return True

    def get_all_tuning_records(self) -> list[TuningRecord]:
        return list(self._records.values())

    def records_of(self, workload: Workload, target: Target | None = None) -> list[TuningRecord]:
        key = target_key(target)
        return [
            record
            for (shash, of_target, _), record in list(self._records.items())
            if shash == workload.shash and (target is None or of_target == key)
        ]
