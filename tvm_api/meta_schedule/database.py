"""`tvm.meta_schedule.database`."""

from ...tuning.database import Database, MemoryDatabase, PyDatabase, SQLiteDatabase
from ...tuning.types import TuningRecord, Workload

create = Database.create

__all__ = ["Database", "MemoryDatabase", "PyDatabase", "SQLiteDatabase", "TuningRecord", "Workload", "create"]
