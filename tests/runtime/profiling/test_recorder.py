"""A counter of any even rate tells the time of the system's clock."""

import time

import numpy as np
import pytest

from tirax.runtime.profiling.recorder import Ticks, counter_is_clock, new_rows, recording


@pytest.mark.parametrize("rate", [1, 3, 0.25])
def test_moments_and_durations(rate):
    ticks = Ticks(lambda: int((time.monotonic_ns() - 1_000) * rate))
    before = time.monotonic_ns()
    moments = np.array([int((time.monotonic_ns() - 1_000) * rate)], np.int64)
    after = time.monotonic_ns()
    moments, durations = moments - np.array([int(1e6 * rate), 0]), np.array([0, int(5e5 * rate)], np.int64)
    ticks.to_nanoseconds(moments, durations)
    assert moments[1] - moments[0] == pytest.approx(1e6, rel=0.01)
    assert durations.tolist() == pytest.approx([0, 5e5], rel=0.01)
    assert before - 1e5 <= moments[1] <= after + 1e5


def test_what_is_recorded_lies_within_the_call():
    """Whichever clock this machine has: a call that records nothing takes the time that it says."""
    with recording(new_rows(0)) as recorder:
        recorded = recorder.record(time.sleep, 0.001)
    assert recorded.end - recorded.begin >= 1_000_000 and len(recorded.events) == 0
    assert isinstance(counter_is_clock(), bool)
