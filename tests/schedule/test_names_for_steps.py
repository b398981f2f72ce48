"""Steps take names for blocks and buffers, and refuse memories that do not exist."""

import pytest

from tirax.schedule.state import ScheduleError
from tirax.tvm_api import tir
from tirax.tvm_api.script import from_source

SOURCE = """from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + T.float32(1.0)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] * T.float32(2.0)
"""


def schedule():
    return tir.Schedule(from_source(SOURCE))


def test_names_are_as_good_as_handles():
    by_name, by_handle = schedule(), schedule()
    by_name.set_scope("B", "B", "shared")
    by_handle.set_scope(by_handle.get_block("B"), 0, "shared")
    by_name.cache_read("C", 0, "local", consumer_blocks=["C"])
    by_handle.cache_read(by_handle.get_block("C"), 0, "local", [by_handle.get_block("C")])
    assert by_name.mod.script() == by_handle.mod.script()
    assert [by_name.get(b).name_hint for b in by_name.get_output_blocks("root")] == ["C"]


@pytest.mark.parametrize("scope", ["globl", "register", "wmma"])
def test_memories_that_do_not_exist_are_refused(scope):
    steps = [("set_scope", ("B", 0, scope)), ("cache_read", ("C", 0, scope)), ("cache_write", ("B", 0, scope))]
    for name, arguments in steps:
        with pytest.raises(ScheduleError, match="storage scope is invalid"):
            getattr(schedule(), name)(*arguments)
