"""`tvm.meta_schedule.database`."""

from ...tuning.database import (
    Database,
    JSONDatabase,
    MemoryDatabase,
    OrderedUnionDatabase,
    PyDatabase,
    ScheduleFnDatabase,
    SQLiteDatabase,
    UnionDatabase,
)
from ...tuning.types import TuningRecord, Workload

create = Database.create

__all__ = [
    "Database",
    "JSONDatabase",
    "MemoryDatabase",
    "OrderedUnionDatabase",
    "PyDatabase",
    "SQLiteDatabase",
    "ScheduleFnDatabase",
    "TuningRecord",
    "UnionDatabase",
    "Workload",
    "create",
]
