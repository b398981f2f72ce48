"""Databases: what was measured, by workload and target."""

from __future__ import annotations

from .database import Database, PyDatabase
from .memory import MemoryDatabase
from .sqlite import SQLiteDatabase

__all__ = ["Database", "MemoryDatabase", "PyDatabase", "SQLiteDatabase"]
