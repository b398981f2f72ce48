"""Copies that are made while the compiler goes on."""

import numpy as np
import pytest
from xdsl.dialects.builtin import f32

from tirax.dialects.relax import copying
from tirax.dialects.relax.data import ALIGNMENT, TensorDataAttr


@pytest.mark.parametrize("threads", ["1", "2"])
def test_what_is_copied_is_there_when_it_is_looked_at(monkeypatch, threads):
    monkeypatch.setenv("TIRAX_BUILD_THREADS", threads)
    arrays = [np.random.default_rng(i).random((512, 3, 300), "float32").transpose(2, 0, 1) for i in range(4)]
    constants = [TensorDataAttr.rearranged(array, f32) for array in arrays]
    for constant, array in zip(constants, arrays, strict=True):
        contents = constant.numpy()
        assert (contents == array).all() and not contents.flags.writeable
        assert contents.flags.c_contiguous and contents.ctypes.data % ALIGNMENT == 0


def test_copies_are_created_one_after_the_other(monkeypatch):
    monkeypatch.setenv("TIRAX_BUILD_THREADS", "2")
    at_work, most = [], []

    def write(target, meanwhile):
        assert meanwhile
        at_work.append(1)
        most.append(len(at_work))
        target[...] = 1
        at_work.pop()

    targets = [np.zeros(1 << 19, "float32") for _ in range(5)]
    for each in [copying.Copy(target, write) for target in targets]:
        each.wait()
    assert most == [1] * 5 and all(target.all() for target in targets)


def test_a_small_array_is_copied_at_once():
    target = np.zeros(8, "float32")
    seen = []
    copying.Copy(target, lambda array, meanwhile: seen.append((array is target, meanwhile)))
    assert seen == [(True, False)]


@pytest.mark.parametrize("threads", ["1", "2"])
def test_what_a_copy_raises_is_raised_where_its_contents_are_read(monkeypatch, threads):
    """Nobody gets what stood in memory before."""
    monkeypatch.setenv("TIRAX_BUILD_THREADS", threads)

    def write(target, meanwhile):
        raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        TensorDataAttr.written((1 << 19,), f32, write).numpy()
