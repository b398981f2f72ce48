"""Databases: found again by structure and target, safe with several writers."""

import json
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import strength
from strength import only_full, thinned
from tuning_workloads import matmul, numbered

from tirax.diagnostics import NameLookupError, TiraxError, UnsupportedError
from tirax.ir.equality import structural_equal
from tirax.schedule import Schedule
from tirax.target import Target
from tirax.tuning.database import (
    Database,
    JSONDatabase,
    MemoryDatabase,
    SQLiteDatabase,
)
from tirax.tuning.database.files import RECORDS, WORKLOADS
from tirax.tuning.types import TensorInfo, TuningRecord, stable_hash
from tirax.tvm_api.script import from_source

TARGET = Target("llvm -num-cores=1")
ARGS = [TensorInfo("float32", (16, 16))] * 3


@pytest.fixture(params=["memory", "sqlite", "json"])
def database(request, tmp_path):
    return Database.in_folder(tmp_path, request.param)


def record(database, mod, seconds, seed=0, target=TARGET):
    trace = numbered(mod, seed).trace
    return TuningRecord(trace, database.commit_workload(mod), seconds, target, ARGS)


def renamed(mod):
    """The same with other names."""
    return from_source(mod.script().replace("vi", "v_row").replace(" i,", " row,").replace("[i,", "[row,"))


def test_the_fastest_record_is_returned(database):
    mod = matmul()
    for seed, seconds in ((1, [3e-3]), (2, [1e-3, 9e-3, 2e-3]), (5, None)):
        database.commit_tuning_record(record(database, mod, seconds, seed))
    assert len(database) == 3
    workload = database.commit_workload(mod)
    assert [r.median for r in database.get_top_k(workload, 5)] == [2e-3, 3e-3]
    assert len(database.get_top_k(workload, 1)) == 1
    best = database.query_tuning_record(mod, TARGET)
    assert best.run_secs == [1e-3, 9e-3, 2e-3] and best.args_info == ARGS and best.target == TARGET
    sch = database.query_schedule(mod, TARGET)
    assert str(sch.trace) == str(best.trace)
    assert structural_equal(sch.mod.op, numbered(mod, 2).mod.op)
    assert structural_equal(database.query(mod, TARGET, kind="ir_module").op, sch.mod.op)


def test_a_module_is_known_by_its_structure(database):
    database.commit_tuning_record(record(database, matmul(), [1e-3]))
    assert database.has_workload(renamed(matmul())) and not database.has_workload(matmul(17))
    assert database.query_schedule(renamed(matmul()), TARGET) is not None
    assert database.query_schedule(matmul(17), TARGET) is None


def test_a_record_is_for_one_target(database):
    database.commit_tuning_record(record(database, matmul(), [1e-3]))
    other = Target("llvm -mcpu=haswell -num-cores=1")
    assert database.query_tuning_record(matmul(), other) is None
    database.commit_tuning_record(record(database, matmul(), [5e-3], target=other))
    assert database.query_tuning_record(matmul(), other).run_secs == [5e-3]
    assert database.query_tuning_record(matmul(), TARGET).run_secs == [1e-3]


def test_the_same_is_stored_once(database):
    for seconds in ([1e-3], [1e-3], [2e-3]):
        database.commit_tuning_record(record(database, matmul(), seconds))
        database.commit_tuning_record(record(database, renamed(matmul()), seconds))
    # As in TVM each measurement is kept; a file of SQLite has one of each schedule.
    assert len(database) == (1 if isinstance(database, SQLiteDatabase) else 2)
    assert database.commit_workload(matmul()) is database.commit_workload(renamed(matmul()))


def test_a_failure_gives_way_to_a_measurement(database):
    for seconds in (None, [1e-3], None, [2e-3]):
        database.commit_tuning_record(record(database, matmul(), seconds))
    again = [] if isinstance(database, SQLiteDatabase) else [[2e-3]]
    assert [r.run_secs for r in database.get_all_tuning_records()] == [[1e-3], *again]


def test_records_as_json():
    database = MemoryDatabase()
    inputs = record(database, matmul(), [1e-3, 2e-3])
    again = TuningRecord.from_json(json.loads(json.dumps(inputs.as_json())), inputs.workload)
    assert str(again.trace) == str(inputs.trace) and (again.target, again.args_info) == (
        inputs.target,
        inputs.args_info,
    )
    assert [s.value for s in again.run_secs] == [1e-3, 2e-3] and again.valid
    failure = record(database, matmul(), None)
    assert TuningRecord.from_json(failure.as_json(), failure.workload).run_secs is None
    database.commit_tuning_record(record(database, matmul(), [1e10]))
    assert database.get_top_k(inputs.workload, 3) == []


def test_a_class_of_a_users_own_that_knows_of_no_targets():
    class Mine(MemoryDatabase):
        def get_top_k(self, workload, top_k):
            return super().get_top_k(workload, top_k)

    database = Mine()
    database.commit_tuning_record(record(database, matmul(), [1e-3]))
    assert database.query_tuning_record(matmul(), TARGET).run_secs == [1e-3]


def test_the_current_database(database):
    assert Database.current() is None
    with database:
        assert Database.current() is database
        with MemoryDatabase() as inner:
            assert Database.current() is inner
    assert Database.current() is None


def test_pruned(database):
    for seed, seconds in ((1, [3e-3]), (2, [1e-3])):
        database.commit_tuning_record(record(database, matmul(), seconds, seed))
    database.commit_tuning_record(record(database, matmul(17), [1e-3], 3))
    best = MemoryDatabase()
    database.dump_pruned(best)
    assert sorted(r.median for r in best.get_all_tuning_records()) == [1e-3, 1e-3]


def test_a_file_is_read_again(tmp_path):
    path = tmp_path / "folder" / "records.sqlite"
    first = SQLiteDatabase(path)
    first.commit_tuning_record(record(first, matmul(), [1e-3], 4))
    first.close()
    again = SQLiteDatabase(path)
    assert len(again) == 1
    stored = again.get_all_tuning_records()[0]
    assert structural_equal(stored.workload.mod.op, matmul().op)
    assert str(stored.trace) == str(numbered(matmul(), 4).trace)
    assert structural_equal(stored.as_measure_candidate().sch.mod.op, numbered(matmul(), 4).mod.op)


def json_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_files_of_json(tmp_path):
    """The names and the form of records are TVM's."""
    first = Database.create("json", work_dir=tmp_path)
    other = Database.create("json", str(tmp_path / WORKLOADS), str(tmp_path / RECORDS))
    first.commit_tuning_record(record(first, matmul(), [1e-3, 2e-3], 4))
    other.commit_tuning_record(record(other, matmul(17), [3e-3], 1))
    first.commit_tuning_record(record(first, matmul(17), None, 2))
    assert [row[0] for row in json_lines(tmp_path / WORKLOADS)] == [stable_hash(matmul()), stable_hash(matmul(17))]
    rows = json_lines(tmp_path / RECORDS)
    assert [row[0] for row in rows] == [0, 1, 1] and [row[1][1] for row in rows] == [[1e-3, 2e-3], [3e-3], [1e10]]
    assert rows[0][1][2] == {"kind": "llvm", "num-cores": 1}
    assert rows[0][1][3] == [["TENSOR", "float32", [16, 16]]] * 3
    again = JSONDatabase(work_dir=tmp_path, allow_missing=False)
    assert len(again) == 3 and str(again.query_schedule(matmul(), TARGET).trace) == str(numbered(matmul(), 4).trace)
    assert again.query_tuning_record(matmul(17), TARGET).run_secs == [3e-3]


def test_records_of_json_that_come_from_elsewhere(tmp_path):
    """Workloads in TVM's own form are passed over, records of other machines are not those of this target."""
    first = JSONDatabase(work_dir=tmp_path)
    first.commit_tuning_record(record(first, matmul(), [1e-3]))
    workload, (row,) = json_lines(tmp_path / WORKLOADS)[0], json_lines(tmp_path / RECORDS)
    config = {**row[1][2], "keys": ["cpu"], "tag": ""}
    elsewhere = [1, [row[1][0], [1e-6], config, row[1][3]], "x86_64-unknown-linux-gnu | another"]
    from_tvm = [1, [row[1][0], [2e-3], config, row[1][3]]]
    foreign = [0, row[1]]
    (tmp_path / WORKLOADS).write_text("".join(json.dumps(r) + "\n" for r in (["123", "eyJyb290IjogMX0="], workload)))
    (tmp_path / RECORDS).write_text("".join(json.dumps(r) + "\n" for r in (elsewhere, from_tvm, foreign)))
    again = JSONDatabase(work_dir=tmp_path)
    assert len(again) == 2
    assert again.query_tuning_record(matmul(), TARGET).run_secs == [2e-3]
    (tmp_path / RECORDS).write_text("{no json\n")
    with pytest.raises(TiraxError, match="is no database of tuning records"):
        JSONDatabase(work_dir=tmp_path)
    with pytest.raises(TiraxError, match="there is no file"):
        JSONDatabase(work_dir=tmp_path / "nothing", allow_missing=False)
    with pytest.raises(TiraxError, match="has two files"):
        JSONDatabase()


def test_databases_of_databases():
    slow, fast = MemoryDatabase(), MemoryDatabase()
    slow.commit_tuning_record(record(slow, matmul(), [2e-3], 1))
    fast.commit_tuning_record(record(fast, matmul(), [1e-3], 2))
    fast.commit_tuning_record(record(fast, matmul(17), [5e-3], 3))
    union, ordered = Database.create("union", slow, fast), Database.create("ordered_union", slow, fast)
    assert union.query_tuning_record(matmul(), TARGET).median == 1e-3
    assert ordered.query_tuning_record(matmul(), TARGET).median == 2e-3
    assert ordered.query_tuning_record(matmul(17), TARGET).median == 5e-3
    assert union.has_workload(matmul(17)) and union.query_schedule(matmul(5), TARGET) is None and len(union) == 3
    assert [r.median for r in union.get_top_k(slow.commit_workload(matmul()), 5)] == [1e-3, 2e-3]
    with pytest.raises(UnsupportedError, match="storing in a UnionDatabase"):
        union.commit_workload(matmul())


def test_a_function_as_database():
    def schedule(sch):
        sch.parallel(sch.get_loops(sch.get_block("C"))[0])
        return True

    database = Database.create(schedule)
    with database:
        assert "T.parallel" in Database.current().query_ir_module(matmul(), TARGET).script()
    assert Database.create(lambda sch: False).query_schedule(matmul(), TARGET) is None


def test_a_workload_that_does_not_equal_its_hash_is_not_used(tmp_path):
    """The hash finds candidates; whether they are the module is asked again."""
    database = SQLiteDatabase(tmp_path / "records.sqlite")
    database.commit_tuning_record(record(database, matmul(), [1e-3]))
    database.close()
    with sqlite3.connect(tmp_path / "records.sqlite") as file:
        file.execute("update workload set shash = ?", (stable_hash(matmul(17)),))
    again = SQLiteDatabase(tmp_path / "records.sqlite")
    assert again.query_schedule(matmul(17), TARGET) is None


def test_a_trace_that_does_not_fit_is_passed_over(database):
    good = record(database, matmul(), [2e-3])
    bad = TuningRecord(Schedule(matmul()).trace.copy(), good.workload, [1e-3], TARGET, ARGS)
    bad.trace.record("get_block", {"name": "D", "func_name": "main"}, 1)
    database.commit_tuning_record(bad)
    database.commit_tuning_record(good)
    assert database.query_tuning_record(matmul(), TARGET).median == 2e-3


_FOLDERS = [str(Path(__file__).parent), str(Path(strength.__file__).parent)]
"""Where another process finds this file and what it imports."""
_WRITER = """
import sys
sys.path[:0] = {folders!r}
from test_database import record, Database
from tuning_workloads import matmul
database = Database.in_folder(sys.argv[1], sys.argv[3])
for k in range({count}):
    database.commit_tuning_record(record(database, matmul(), [float(sys.argv[2]) + k], int(sys.argv[2]) + k))
"""


@only_full
@thinned("kind", ["sqlite", "json"], 1)
def test_two_processes_write_one_file(tmp_path, kind):
    path = str(tmp_path)
    code = _WRITER.format(folders=_FOLDERS, count=12)
    writers = [subprocess.Popen([sys.executable, "-c", code, path, str(start), kind]) for start in (1, 5)]
    assert [w.wait(60) for w in writers] == [0, 0]
    database = Database.in_folder(path, kind)
    traces = {str(numbered(matmul(), s).trace) for s in range(1, 17)}
    assert {str(r.trace) for r in database.get_all_tuning_records()} == traces
    assert len(database) == len(traces)


@only_full
def test_threads_share_a_database(database):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda s: database.commit_tuning_record(record(database, matmul(), [s + 1.0], s)), range(1, 20)))
    assert len(database) == len({str(numbered(matmul(), s).trace) for s in range(1, 20)})


def test_foreign_files_and_kinds(tmp_path):
    (tmp_path / "text").write_text("no database " * 100)
    with pytest.raises(TiraxError, match="is no database of tuning records"):
        SQLiteDatabase(tmp_path / "text")
    SQLiteDatabase(tmp_path / "new").close()
    with sqlite3.connect(tmp_path / "new") as file:
        file.execute("pragma user_version = 99")
    with pytest.raises(TiraxError, match="written by a newer tirax"):
        SQLiteDatabase(tmp_path / "new")
    with pytest.raises(NameLookupError):
        Database.in_folder(None, "lmdb")
    with pytest.raises(NameLookupError):
        Database.create("jsn")
    with pytest.raises(TiraxError, match="work_dir"):
        Database.create("sqlite")
    with pytest.raises(NameLookupError):
        MemoryDatabase().query(matmul(), TARGET, kind="plan")


def test_hashes_are_the_same_in_other_processes():
    path = f"import sys; sys.path[:0] = {_FOLDERS!r}"
    code = f"{path}\nfrom test_database import *\nprint(stable_hash(matmul()))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert process == stable_hash(matmul()) == stable_hash(renamed(matmul())) != stable_hash(matmul(17))


def test_a_folder_of_the_other_kind_is_not_taken_for_an_empty_one(tmp_path):
    Database.create("sqlite", work_dir=tmp_path).commit_workload(matmul())
    with pytest.raises(TiraxError, match=r'database.sqlite.*\n.*Database.create\("sqlite"'):
        JSONDatabase(work_dir=tmp_path)
