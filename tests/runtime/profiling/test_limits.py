"""Limits of the machine: what work takes at least by them; that they are measured, not what they are."""

import numpy as np

from tirax.runtime.profiling.limits import Limits, measured_limits


def test_work_takes_as_long_as_its_larger_part():
    limits = Limits(1, 100.0, ((10, 8.0), (1000, 2.0)))
    operations, bytes = np.array([200, 0, 100, -1, -1]), np.array([8, 8, 2000, 8, -1])
    assert limits.seconds(operations, bytes).tolist() == [2.0, 1.0, 1000.0, 1.0, 0.0]


def test_what_is_touched_decides_which_memory():
    limits = Limits(1, 1e9, ((10, 8.0), (100, 4.0), (1000, 2.0)))
    assert limits.seconds(np.zeros(4), np.array([10, 11, 100, 101])).tolist() == [10 / 8, 11 / 4, 25.0, 101 / 2]


def test_this_machine_has_limits():
    limits = measured_limits()
    assert limits is measured_limits()
    sizes, speeds = zip(*limits.bandwidth, strict=True)
    assert list(sizes) == sorted(sizes) and list(speeds) == sorted(speeds, reverse=True)
    assert limits.operations > 1e6 and min(speeds) > 1e6
