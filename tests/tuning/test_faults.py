"""Tuning that is interrupted, killed, or watched from a file."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from strength import only_full, thinned
from tuning_workloads import QUICK, function, matmul, numbered, tiled

from tirax.diagnostics import TiraxError
from tirax.target import Target
from tirax.tuning.builder import LocalBuilder
from tirax.tuning.database import Database
from tirax.tuning.runner import EvaluatorConfig, LocalRunner, Runner
from tirax.tuning.tune import TuningInterrupted
from tirax.tuning.types import BuilderInput, RunnerFuture, RunnerInput, RunnerResult, TensorInfo, TuningRecord
from tirax.tvm_api import meta_schedule as ms

TARGET = "llvm -num-cores=1"
SPACE = ms.space_generator.ScheduleFn(tiled)


class Interrupted(Runner):
    """Two results, then Ctrl-C; `cancelled` counts what is not waited for."""

    cancelled = 0

    def run(self, runner_inputs):
        def result(at):
            if at == 2:
                raise KeyboardInterrupt
            return RunnerResult([1e-5 * (at + 1)], None)

        def cancel():
            self.cancelled += 1

        return [RunnerFuture(lambda: True, lambda at=at: result(at), cancel) for at in range(len(runner_inputs))]


@only_full
def test_an_interrupt_loses_nothing_that_was_measured(tmp_path, capfd):
    runner = Interrupted()
    with pytest.raises(TuningInterrupted) as caught:
        ms.tune_tir(matmul(12), TARGET, tmp_path, 4, space=SPACE, task_name="mine", **{**QUICK, "runner": runner})
    assert isinstance(caught.value, KeyboardInterrupt) and caught.value.code == 130 and runner.cancelled == 4
    assert len(Database.open_existing(tmp_path)) == 2
    output = capfd.readouterr().err
    assert re.search(r"interrupted after 2 trials; mine: 10\.000 us; kept in", output) and "Traceback" not in output


def test_an_interrupted_program_ends_with_130_and_no_traceback():
    code = "from tirax.tuning.tune import TuningInterrupted\nraise TuningInterrupted(130)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "")


def test_lines_off_a_terminal(tmp_path, capfd):
    ms.tune_tir(matmul(12), TARGET, tmp_path, 2, space=SPACE, task_name="mine", **{**QUICK, "num_trials_per_iter": 1})
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("tuning: ")]
    assert lines[0].startswith("tuning: 1 of 2 trials") and lines[-1].startswith("tuning: 2 of 2 trials")


def test_progress_may_be_turned_off(tmp_path, capfd):
    ms.tune_tir(matmul(12), TARGET, tmp_path, 1, space=SPACE, **{**QUICK, "progress": False})
    assert "tuning: " not in capfd.readouterr().err


MAIN = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where it is ignored, as in a shell's background
sys.path.insert(0, {here!r})
from tuning_workloads import QUICK, matmul, tiled
from tirax.tvm_api import meta_schedule as ms
options = {{**QUICK, "builder": "local", "runner": "local"}}
ms.tune_tir(matmul(12), "llvm -num-cores=1", {folder!r}, 64, space=ms.space_generator.ScheduleFn(tiled), **options)
"""


def workers_of(pid):
    """The processes that a process started."""
    listed = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for children in listed for child in children]


def is_running(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def wait_for(condition, seconds=180):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not condition():
        time.sleep(0.05)
    assert condition()


@only_full
@thinned("how, code", [(signal.SIGKILL, -9), (signal.SIGINT, 130)], 1)
def test_a_killed_program_leaves_its_records_and_no_processes(tmp_path, how, code):
    """In the middle of a round; a second run goes on from what is there."""
    program = MAIN.format(here=os.path.dirname(__file__), folder=str(tmp_path))
    main = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    database = tmp_path / "database.sqlite"
    wait_for(lambda: database.exists() and len(Database.open_existing(tmp_path)) >= 1)
    workers = workers_of(main.pid)
    before = len(Database.open_existing(tmp_path))
    main.send_signal(how)
    output = main.communicate()[1]
    assert main.returncode == code and "Traceback" not in output
    assert len(Database.open_existing(tmp_path)) >= before >= 1 and workers
    wait_for(lambda: not any(map(is_running, workers)))
    database = ms.tune_tir(matmul(12), TARGET, tmp_path, 1, space=SPACE, **{**QUICK, "seed": 7})
    assert len(database) > before


HANGS = "while 1 > 0:\n    C[0, 0] = C[0, 0] + T.float32(1)"
PLANTED = {
    "crash": 'T.evaluate(T.call_extern("int32", "memset", T.int64(8), 0, T.int64(8)))',
    "timeout": HANGS,
    "memory": "D = T.alloc_buffer((1 << 34,))\nfor i in range(1 << 34):\n    D[i] = A[0, 0]\n"
    "C[0, 0] = D[T.Cast('int64', B[0, 0])]",
}


class Planting(LocalBuilder):
    """In place of the first candidates others that crash, hang and eat memory are built, in processes of their own."""

    def build(self, build_inputs):
        bad = [BuilderInput(function(body), build_inputs[0].target) for body in PLANTED.values()]
        return super().build([*bad, *build_inputs[len(bad) :]])


@only_full
def test_a_candidate_that_crashes_hangs_or_eats_memory_costs_itself(tmp_path):
    """The limits are hit, the failures counted, and tuning goes on to its end."""
    config = EvaluatorConfig(1, 2, 0)
    runner = LocalRunner(timeout_sec=5.0, evaluator_config=config, memory_bytes=2 << 30)
    options = {**QUICK, "builder": Planting(max_workers=1), "runner": runner, "num_trials_per_iter": 5}
    ms.tune_tir(matmul(16), TARGET, tmp_path, 5, space=SPACE, **options)
    rows = [json.loads(line) for line in (tmp_path / "logs" / "trials.jsonl").read_text().splitlines()]
    how = [(row["error"] or "").partition(":")[0] for row in rows]
    assert how[:2] == ["crash", "timeout"] and how[2] in ("memory", "crash", "error") and how[3:] == ["", ""]
    assert all(row["run_secs"] for row in rows[3:]) and not any(row["run_secs"] for row in rows[:3])
    assert any(record.run_secs for record in Database.open_existing(tmp_path).get_all_tuning_records())


def test_a_worker_that_is_killed_costs_its_candidate_only():
    target, args = Target(TARGET), [TensorInfo("float32", (16, 16))] * 3
    hanging, good = LocalBuilder(max_workers=1).build([BuilderInput(m, target) for m in (function(HANGS), matmul())])
    runner = LocalRunner(timeout_sec=60.0, evaluator_config=EvaluatorConfig(1, 2, 0), memory_bytes=3 << 30)
    before = set(workers_of(os.getpid()))
    futures = runner.run([RunnerInput(b.artifact_path, "llvm", args, None) for b in (hanging, good)])
    wait_for(lambda: set(workers_of(os.getpid())) - before)
    (worker,) = set(workers_of(os.getpid())) - before
    os.kill(worker, signal.SIGKILL)
    killed, sound = (future.result() for future in futures)
    assert killed.error_msg.startswith("crash: the process ended by signal 9") and sound.run_secs


def committed(database, count, first=0):
    """Records of `count` candidates, from the `first` on."""
    mod = matmul(12)
    workload = database.commit_workload(mod)
    for n in range(first, first + count):
        database.commit_tuning_record(TuningRecord(numbered(mod, n).trace, workload, [1.0 + n], Target(TARGET)))


@contextmanager
def files_of_at_most(size):
    """A disk on which files cannot grow: writing fails as where it is full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("kind", ["sqlite", "json"])
def test_a_disk_that_is_full_is_reported_and_no_record_is_lost(tmp_path, kind):
    """The record that did not fit is not there in part, and what comes after it is stored when there is room again."""
    database = Database.create(kind, work_dir=tmp_path)
    committed(database, 3)
    size = max(path.stat().st_size for path in tmp_path.iterdir()) + 100
    with files_of_at_most(size), pytest.raises(TiraxError, match="cannot be written"):
        committed(database, 20, first=3)
    kept = len(Database.open_existing(tmp_path))
    assert kept >= 3
    committed(Database.open_existing(tmp_path), 2, first=23)
    assert len(Database.open_existing(tmp_path)) == kept + 2


def test_a_line_that_a_killed_writer_did_not_end_is_cut_off(tmp_path):
    committed(Database.create("json", work_dir=tmp_path), 2)
    for path in tmp_path.iterdir():
        with path.open("ab") as file:
            file.write(b'[0, [[["Split')
    committed(Database.create("json", work_dir=tmp_path), 1, first=2)
    assert [record.run_secs for record in Database.open_existing(tmp_path).get_all_tuning_records()] == [
        [1.0],
        [2.0],
        [3.0],
    ]


def test_tuning_on_a_disk_that_is_full_stops_with_the_best_so_far(tmp_path):
    """`tuning.log`, `trials.jsonl` or the database, whatever fails first; a second run goes on."""
    ms.tune_tir(matmul(12), TARGET, tmp_path, 1, space=SPACE, **QUICK)
    before = len(Database.open_existing(tmp_path))
    largest = max(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    with files_of_at_most(largest + 100), pytest.raises(TiraxError, match=r"cannot be written|tuning was stopped"):
        ms.tune_tir(matmul(12), TARGET, tmp_path, 64, space=SPACE, **{**QUICK, "seed": 7})
    assert len(Database.open_existing(tmp_path)) >= before >= 1
    ms.tune_tir(matmul(12), TARGET, tmp_path, 1, space=SPACE, **{**QUICK, "seed": 9})
