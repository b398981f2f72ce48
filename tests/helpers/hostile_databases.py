"""Databases of tuning records in SQLite that SQL has made others of."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress

FILLED = (
    "insert into workload values (0, '1', 'tir.func @main() { tir.evaluate }')",
    "insert into record values (0, 0, '', '', '[[], []]', '[0.5]', '[]')",
)
ENDLESS = """with recursive n(i) as (select 1 union all select i + 1 from n) select i as id, 0 as workload,
'' as target, '' as target_key, '[[], []]' as trace, '[0.5]' as run_secs, '[]' as args_info from n"""
STATEMENTS = [
    *(f"update record set {column} = {value}" for column in ("workload", "target", "trace", "run_secs", "args_info")
      for value in ("x'00ff'", "-1", "1e999", "9223372036854775807", "null", "''", "'[' || hex(zeroblob(9999))",
                    "replace(hex(zeroblob(50000)), '00', '[')", "zeroblob(10000000)", "'{\"a\": [1e999]}'")),
    *(f"update workload set {column} = {value}" for column in ("shash", "module")
      for value in ("x'00ff'", "-1", "''", "replace(hex(zeroblob(50000)), '00', '(')", "zeroblob(10000000)")),
    "drop table record", "drop table workload", "alter table record rename to other", "pragma user_version = 99",
    "alter table record add column more text", "create table other (id)", "create view v as select 1",
    f"drop table record; create view record as {ENDLESS}",
    f"create trigger t after insert on workload begin insert into record {ENDLESS}; end",
    "drop table workload; create table workload (id, shash, module as (hex(zeroblob(1000000000))))",
    "pragma page_size = 65536; vacuum", "pragma encoding = 'UTF-16'",
    *(f"pragma writable_schema = 1; update sqlite_schema set {change}"
      for change in ("sql = 'create table record (x'", "rootpage = 2000000000", "rootpage = 1", "type = 'view'")),
]  # fmt: skip


def databases(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Databases that SQL has made others of."""
    for statement in STATEMENTS:
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
            db.deserialize(data)
            with suppress(sqlite3.Error, MemoryError):  # as far as it goes
                db.executescript(statement)
            yield statement[:80], db.serialize()
