"""The first calls of a function are profiled in the place of the calls, and the fastest one is told last."""

import pytest

from tirax.runtime.profiling.recorder import new_rows, recording
from tirax.runtime.profiling.watched import CALLS, watched


class Reporter:
    """A profile that says how long it took."""

    def __init__(self, seconds, result):
        self.seconds, self.result = seconds, result


def calls_of(seconds):
    """What is watched, and the lists of plain calls, of profiled ones, and of what was told."""
    plain, profiled, reported = [], [], []

    def profile(name, *args, warmup):
        assert (name, warmup) == ("main", 0)
        profiled.append(args)
        return Reporter(seconds[len(profiled) - 1], sum(args))

    def main(*args):
        """A sum."""
        plain.append(args)
        return sum(args)

    return (
        watched("main", main, profile, lambda report, args: reported.append((report.seconds, args))),
        plain,
        profiled,
        reported,
    )


def test_each_call_runs_once():
    call, plain, profiled, reported = calls_of([5, 3, 4, 2, 6])
    assert [call(i, 1) for i in range(CALLS + 2)] == [i + 1 for i in range(CALLS + 2)]
    assert profiled == [(i, 1) for i in range(CALLS)]
    assert plain == [(CALLS, 1), (CALLS + 1, 1)]
    assert reported == [(5, (0, 1)), (3, (1, 1)), (2, (3, 1))]
    assert call.__doc__ == "A sum."


def test_inside_of_a_profile_calls_are_plain():
    call, plain, profiled, _ = calls_of([1])
    with recording(new_rows(0)):
        assert call(2, 3) == 5
    assert (plain, profiled) == ([(2, 3)], [])


def test_errors_are_those_of_the_call():
    def profile(name, *args, warmup):
        raise ValueError("no")

    call = watched("main", sum, profile, lambda report, args: None)
    with pytest.raises(ValueError, match="no"):
        call(1)
