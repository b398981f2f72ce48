"""Databases of measurements, by workload and target: in memory, in files, and composed of others."""

from .base import Database as Database
from .base import PyDatabase as PyDatabase
from .composed import OrderedUnionDatabase as OrderedUnionDatabase
from .composed import ScheduleFnDatabase as ScheduleFnDatabase
from .composed import UnionDatabase as UnionDatabase
from .json_lines import JSONDatabase as JSONDatabase
from .memory import MemoryDatabase as MemoryDatabase
from .sqlite import SQLiteDatabase as SQLiteDatabase
