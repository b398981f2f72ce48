"""Databases: what was measured, by workload and target."""

from __future__ import annotations

from .database import Database, PyDatabase
from .json_files import JSONDatabase
from .memory import MemoryDatabase
from .sqlite import SQLiteDatabase
from .union import OrderedUnionDatabase, ScheduleFnDatabase, UnionDatabase

__all__ = [
    "Database",
    "JSONDatabase",
    "MemoryDatabase",
    "OrderedUnionDatabase",
    "PyDatabase",
    "SQLiteDatabase",
    "ScheduleFnDatabase",
    "UnionDatabase",
]
