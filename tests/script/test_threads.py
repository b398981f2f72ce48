"""Several threads read scripts at once."""

import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tirax.script import parse_source

TEXT = "@T.prim_func\ndef f(A: T.Buffer(4, 'float32')):\n" + "    A[1] = A[0] + A[1] * A[2]\n" * 60


@pytest.fixture
def switched_often():
    """Threads change places wherever they can, also while Python makes a tree."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()

    def switch(*_):
        return None

    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    gc.callbacks.append(switch)
    yield
    gc.callbacks.remove(switch)
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(interval)


def test_threads_read_scripts(switched_often):
    with ThreadPoolExecutor(4) as pool:
        modules = list(pool.map(parse_source, [TEXT] * 12))
    assert len({str(module) for module in modules}) == 1
