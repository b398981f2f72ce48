"""Task schedulers: who gets the trials; what callbacks, displays and profilers are told."""

import io
import json
import math
import resource
from itertools import count
from pathlib import Path

import pytest
from rich.console import Console
from tuning_workloads import matmul, numbered

from tirax.diagnostics import NameLookupError, TiraxError
from tirax.tuning import task_scheduler
from tirax.tuning.analysis import estimate_flops
from tirax.tuning.builder import Builder
from tirax.tuning.context import TuneContext
from tirax.tuning.database import MemoryDatabase
from tirax.tuning.profiler import Profiler
from tirax.tuning.progress import ProgressDisplay, best_so_far, plot_trials
from tirax.tuning.runner import Runner
from tirax.tuning.search import SearchStrategy
from tirax.tuning.space import ScheduleFn
from tirax.tuning.task_scheduler import GradientBased, MeasureCallback, RoundRobin, TaskScheduler, TrialLog
from tirax.tuning.types import BuilderResult, MeasureCandidate, RunnerFuture, RunnerResult


class Counted(SearchStrategy):
    """Proposes `rounds` rounds; notes what it is told."""

    def __init__(self, rounds=100):
        super().__init__()
        self.rounds, self.events, self.ended = rounds, [], False

    def pre_tuning(self, max_trials, num_trials_per_iter, design_spaces, database=None, cost_model=None):
        self.count = num_trials_per_iter

    def generate_measure_candidates(self):
        if len(self.events) == self.rounds:
            return None
        return [MeasureCandidate(numbered(self.context.mod, k), []) for k in range(self.count)]

    def notify_runner_results(self, measure_candidates, results):
        self.events.append(results)

    def post_tuning(self):
        self.ended = True


class AllBuilt(Builder):
    """Every artifact is the name of nothing."""

    def build(self, build_inputs):
        return [BuilderResult(f"/nowhere/{k}", None) for k in range(len(build_inputs))]


class HalfBuilt(Builder):
    """Every second build fails."""

    def build(self, build_inputs):
        failed = BuilderResult(None, "crash: the process ended")
        return [BuilderResult(f"/nowhere/{k}", None) if k % 2 else failed for k in range(len(build_inputs))]


class Measured(Runner):
    """Gives `seconds(number of the call)` for all inputs, or a failure for None."""

    def __init__(self, seconds):
        self.seconds, self.calls = seconds, 0

    def run(self, runner_inputs):
        seconds = self.seconds(self.calls)
        self.calls += 1
        failed = RunnerResult(None, "timeout: the time limit was reached")
        result = failed if seconds is None else RunnerResult([seconds, seconds, 9.0], None)
        return [RunnerFuture(lambda: True, lambda: result) for _ in runner_inputs]


def task(name, n=16, rounds=100):
    return TuneContext(matmul(n), "llvm", ScheduleFn(lambda sch: None), Counted(rounds), name, 1)


def tune(scheduler, tasks, trials, seconds=lambda call: 1e-3, weights=None, builder=None, **options):
    scheduler.tune(
        tasks, weights or [1.0] * len(tasks), trials, options.pop("per_task", trials), 4, builder or AllBuilt(),
        Measured(seconds), **options,
    )  # fmt: skip
    return scheduler


def test_one_after_the_other():
    scheduler = tune(RoundRobin(), [task("a"), task("b"), task("c", rounds=1)], 20)
    assert [t.trials for t in scheduler.tasks] == [8, 8, 4]
    assert all(t.strategy.ended for t in scheduler.tasks)


def test_there_are_as_many_trials_as_were_requested():
    scheduler = tune(GradientBased(), [task("a")], 10)
    assert scheduler.trials == 10 and [len(r) for r in scheduler.tasks[0].strategy.events] == [4, 4, 2]
    scheduler = tune(RoundRobin(), [task("a"), task("b")], 100, per_task=6)
    assert [t.trials for t in scheduler.tasks] == [6, 6] and all(t.terminated for t in scheduler.tasks)


def test_the_task_that_weighs_more_gets_more():
    scheduler = tune(GradientBased(), [task("a"), task("b")], 40, weights=[1.0, 10.0])
    assert scheduler.tasks[1].trials > 2 * scheduler.tasks[0].trials


def test_the_task_that_gains_gets_more():
    """The first task halves its time each round, the second stays where it is."""
    scheduler = GradientBased(alpha=1.0)
    times = iter([1.0, 1.0, *(2.0**-k for k in range(1, 20))])
    tune(scheduler, [task("a"), task("b")], 32, lambda call: next(times))
    assert scheduler.tasks[0].trials > scheduler.tasks[1].trials


def test_failures_are_counted_by_kind_and_do_not_end_it():
    scheduler = tune(RoundRobin(), [task("a")], 8, lambda call: None if call == 0 else 1e-3, builder=HalfBuilt())
    (actual,) = scheduler.tasks
    assert actual.failures == {"crash": 4, "timeout": 2}
    assert actual.best == 1e-3 and actual.latencies == [math.inf, 1e-3]


def test_a_hopeless_task_does_not_keep_the_others_waiting():
    scheduler = GradientBased()
    scheduler.tune(
        [task("bad"), task("good")],
        [1.0, 1.0],
        60,
        60,
        4,
        AllBuilt(),
        Measured(lambda call: None if call != 1 else 1.0),
    )
    assert scheduler.tasks[1].trials > scheduler.tasks[0].trials


def test_speed_is_flops_by_the_median():
    (actual,) = tune(RoundRobin(), [task("a")], 4).tasks
    assert actual.flop == 2 * 16**3 == estimate_flops(matmul(16))
    assert actual.gflops == pytest.approx(2 * 16**3 / 1e-3 / 1e9)


def test_measurements_are_stored_and_logged(tmp_path):
    database, log = MemoryDatabase(), TrialLog(tmp_path / "trials.jsonl")
    callbacks = [*MeasureCallback.create("default"), log]
    seconds = [2e-3, 1e-3, 4e-3]
    context = task("a")
    tune(RoundRobin(), [context], 8, lambda call: seconds[call], database=database, measure_callbacks=callbacks)
    assert len(database) == 8
    assert database.query_tuning_record(context.mod, context.target).median == 1e-3
    rows = [json.loads(line) for line in (tmp_path / "trials.jsonl").read_text().splitlines()]
    assert len(rows) == 8 and rows[0]["task"] == "a" and rows[0]["run_secs"] == [2e-3, 2e-3, 9.0]
    curve = best_so_far(log.path)["a"]
    assert curve == sorted(curve) and curve[-1] == pytest.approx(2 * curve[0])


def test_the_display_shows_what_there_is():
    scheduler = RoundRobin()
    console = Console(file=io.StringIO(), width=140)
    with ProgressDisplay(scheduler, console) as display:
        tune(scheduler, [task("first")], 8, lambda call: 1e-3, builder=HalfBuilt())
        console.print(display.render())
    text = console.file.getvalue()
    assert "first" in text and "4 crash" in text and "1000.000" in text and "8 of 8 trials" in text


def test_a_terminal_is_kept_up_to_date():
    console = Console(file=io.StringIO(), width=140, force_terminal=True)
    scheduler = RoundRobin()
    with ProgressDisplay(scheduler, console):
        tune(scheduler, [task("first")], 4)
    assert "first" in console.file.getvalue()


def test_profilers_add_up():
    with Profiler() as outer, Profiler() as inner:
        tune(RoundRobin(), [task("a")], 8)
    for profiler in (outer, inner):
        assert {"search", "build", "run", "learn", "Total"} <= set(profiler.get())
    assert "Total" in inner.table().splitlines()[0] and Profiler.current() is None


def test_kinds_and_what_is_not_complete():
    assert isinstance(TaskScheduler.create("gradient", alpha=0.5), GradientBased)
    assert isinstance(TaskScheduler.create("round-robin"), RoundRobin)
    with pytest.raises(NameLookupError):
        TaskScheduler.create("random")
    with pytest.raises(TiraxError, match="'main' is not complete"):
        tune(RoundRobin(), [TuneContext(matmul())], 4)
    with pytest.raises(TiraxError, match="each task has a weight"):
        tune(RoundRobin(), [task("a")], 4, weights=[1.0, 2.0])
    with pytest.raises(NameLookupError):
        MeasureCallback.create("all")


def test_lines_of_trials_are_complete(tmp_path, monkeypatch):
    """Behind what a killed writer left, and where the clock goes back; a disk that is full adds nothing."""
    log, clock = TrialLog(tmp_path / "trials.jsonl"), count(0, -(10**6))
    monkeypatch.setattr(task_scheduler.time, "time", lambda: next(clock))
    full = '{"task": "a", "flop": 1, "time": 0, "run_secs": null, "error": ""}\n'
    Path(log.path).write_text(f'{full}{{"task": "a", "fl')
    tune(RoundRobin(), [task("a")], 4, measure_callbacks=[log])
    before = Path(log.path).read_text()
    assert [json.loads(line)["task"] for line in before.splitlines()] == ["a"] * 5
    assert len(best_so_far(log.path)["a"]) == 5
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 9, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            tune(RoundRobin(), [task("a")], 2, measure_callbacks=[log])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert Path(log.path).read_text() == before


def test_a_plot(tmp_path):
    pytest.importorskip("matplotlib")
    log = TrialLog(tmp_path / "trials.jsonl")
    tune(RoundRobin(), [task("a")], 4, measure_callbacks=[log])
    plot_trials(log.path, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 1000
