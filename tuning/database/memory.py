"""A database in memory."""

from __future__ import annotations

import json

from ...handles.module import IRModule
from ...locks import Lock
from ...target import Target
from ..types import TuningRecord, Workload, stable_hash
from .base import KINDS, Database, find_equal, target_key


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
