"""Tuning that is interrupted, killed, or watched from a file."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tuning_workloads import QUICK, matmul, tiled

from tirax.tuning.database import Database
from tirax.tuning.runner import LocalRunner, Runner
from tirax.tuning.tune import TuningInterrupted
from tirax.tuning.types import RunnerFuture, RunnerResult
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


def test_an_interrupt_loses_nothing_that_was_measured(tmp_path, capfd):
    runner = Interrupted()
    with pytest.raises(TuningInterrupted) as caught:
        ms.tune_tir(matmul(12), TARGET, tmp_path, 4, space=SPACE, task_name="mine", **{**QUICK, "runner": runner})
    assert isinstance(caught.value, KeyboardInterrupt) and caught.value.code == 130 and runner.cancelled == 4
    assert len(Database.found_in(tmp_path)) == 2
    said = capfd.readouterr().err
    assert re.search(r"interrupted after 2 trials; mine: 10\.000 us; kept in", said) and "Traceback" not in said


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
import sys
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


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not condition():
        time.sleep(0.05)
    assert condition()


@pytest.mark.parametrize("how, code", [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_killed_program_leaves_its_records_and_no_processes(tmp_path, how, code):
    """In the middle of a round; a second run goes on from what is there."""
    program = MAIN.format(here=os.path.dirname(__file__), folder=str(tmp_path))
    main = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    database = tmp_path / "database.sqlite"
    wait_for(lambda: database.exists() and len(Database.found_in(tmp_path)) >= 1)
    workers = workers_of(main.pid)
    before = len(Database.found_in(tmp_path))
    main.send_signal(how)
    said = main.communicate()[1]
    assert main.returncode == code and "Traceback" not in said
    assert len(Database.found_in(tmp_path)) >= before >= 1 and workers
    wait_for(lambda: not any(map(is_running, workers)))
    database = ms.tune_tir(matmul(12), TARGET, tmp_path, 1, space=SPACE, **{**QUICK, "seed": 7})
    assert len(database) > before


def test_a_candidate_that_eats_memory_or_hangs_costs_itself(tmp_path):
    """The limits are hit, the failures counted, and tuning goes on to its end."""
    runner = LocalRunner(timeout_sec=0.0)
    database = ms.tune_tir(matmul(12), TARGET, tmp_path, 2, space=SPACE, **{**QUICK, "runner": runner})
    assert len(database) == 2 and not any(r.run_secs for r in database.get_all_tuning_records())
