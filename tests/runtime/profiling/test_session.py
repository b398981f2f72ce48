"""Many calls that are profiled while a program makes them: counts are exact, times are of all by those measured."""

import threading

import numpy as np
import pytest

from tirax.driver.build import build
from tirax.runtime import VirtualMachine, cpu, registry
from tirax.runtime.errors import ArgumentError, NameLookupError, ShapeError
from tirax.runtime.profiling import recorder
from tirax.runtime.profiling.limits import Limits
from tirax.script import parse_source

LIMITS = Limits(2, 1e11, ((1 << 40, 1e10),))
SOURCE = """
from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @R.function
    def inner(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        if c:
            y = R.negative(x)
        else:
            y = R.abs(x)
        return y
    @R.function
    def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")):
        y = Module.inner(x, c)
        z = R.nn.relu(y)
        return z
    @R.function
    def asks(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        y = R.call_packed("test.session.ask", x, sinfo_args=R.Tensor((n,), "float32"))
        return y
"""
SHORT, LONG = np.ones(4, np.float32), np.ones(300_000, np.float32)
YES, NO = np.array(True), np.array(False)


@pytest.fixture(scope="module")
def observations():
    """What the packed function does with its argument: a list with a function."""
    does = [lambda x: x]
    registry.register_func("test.session.ask", lambda x: does[0](x), override=True)
    yield does
    registry.remove_global_func("test.session.ask")


@pytest.fixture(scope="module")
def executable(observations):
    return build(parse_source(SOURCE))


def counts(report):
    return {row.name.split("_")[-1]: row.count for row in report.rows if row.kind != "python"}


def test_counts_are_exact_though_few_calls_are_measured(executable):
    with executable.profiling() as session:
        for number in range(1000):
            result = session["main"](SHORT, YES if number % 10 else NO)
    report = session.report(LIMITS)
    np.testing.assert_allclose(result, np.maximum(-SHORT, 0), rtol=0)
    assert counts(report) | {"negative": 900, "abs": 100, "relu": 1000} == counts(report)
    assert (report.recording.calls, report.function) == (1000, "inner, main")
    assert 1 <= report.measured < 900
    assert "1,000 calls of inner, main" in str(report) and "calls was measured" in " ".join(str(report).split())


def test_where_all_are_measured_the_rows_add_up(executable, monkeypatch):
    monkeypatch.setattr(recorder, "_PART", 1)
    with executable.profiling() as session:
        for _ in range(6):
            session["main"](LONG, YES)
    report = session.report(LIMITS)
    assert report.measured == report.recording.calls == 6
    assert sum(row.share for row in report.rows) == pytest.approx(1.0)
    row = next(row for row in report.rows if row.name == "relu")
    assert (row.count, row.bytes) == (6, 6 * 2 * LONG.nbytes)
    assert row.seconds > 0 and row.limit > 0


def test_the_total_is_estimated_from_those_that_are_measured(executable):
    with executable.profiling() as session:
        for _ in range(4000):
            session["main"](SHORT, YES)
    recording = session.report(LIMITS).recording
    assert len(recording.events) < 4000 * 4
    assert recording.column("calls").sum() == pytest.approx(4000, rel=0.2)


def test_the_report_may_be_read_meanwhile_and_stays_after(executable):
    with executable.profiling() as session:
        session["main"](LONG, YES)
        early = session.report(LIMITS)
        session["main"](LONG, YES)
    assert (early.recording.calls, session.report(LIMITS).recording.calls) == (1, 2)
    session["main"](LONG, YES)
    assert session.report(LIMITS).recording.calls == 2


def test_errors_leave_it_as_it_was(executable):
    with executable.profiling() as session:
        with pytest.raises(ShapeError):
            session["main"](np.ones((2, 2), np.float32), YES)
        with pytest.raises(NameLookupError):
            session["mian"]
        session["main"](LONG, YES)
    assert counts(session.report(LIMITS))["relu"] == 1


def test_a_profile_inside_of_a_profile_is_refused(executable, observations):
    observations[0] = lambda x: executable.profile("main", x, YES, limits=LIMITS) and x
    with executable.profiling() as session, pytest.raises(ArgumentError, match="already"):
        session["asks"](SHORT)
    with executable.profiling() as outer, pytest.raises(ArgumentError, match="already"):
        executable.profile("main", SHORT, YES, limits=LIMITS)
    observations[0] = lambda x: x
    outer["asks"](SHORT)
    assert executable.profile("asks", SHORT, limits=LIMITS).rows


def test_calls_of_other_threads_meanwhile_count_and_are_not_measured(executable, observations):
    """The packed function lets another thread call while its own call is measured."""
    with executable.profiling() as session:

        def elsewhere(x):
            thread = threading.Thread(target=session["main"], args=(LONG, NO))
            thread.start()
            thread.join()
            return x

        observations[0] = elsewhere
        session["asks"](SHORT)
        observations[0] = lambda x: x
    report = session.report(LIMITS)
    assert counts(report) | {"abs": 1, "relu": 1, "test.session.ask": 1} == counts(report)
    assert (report.recording.calls, report.measured) == (1, 1)
    assert {row.name for row in report.rows if row.seconds and row.kind == "kernel"} == set()


def test_the_virtual_machine_has_it_too(executable):
    with VirtualMachine(executable, cpu()).profiling() as session:
        session["main"](LONG, YES)
    assert counts(session.report(LIMITS))["relu"] == 1
    with pytest.raises(ArgumentError, match="no program"):
        VirtualMachine(executable.jit()).profiling()
