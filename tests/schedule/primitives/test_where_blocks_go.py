"""compute_at: blocks of blocks, reversed indices, memory that threads share; what the moved block says."""

import numpy as np
import pytest

from tirax.interpreter.compare import observe, same_values
from tirax.schedule import Schedule, ScheduleError
from tirax.tvm_api.script import from_source

HEAD = "from tvm.script import tir as T\n\n@T.prim_func\n"
NESTED = """def main(A: T.Buffer((32, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    B = T.alloc_buffer((32, 32))
    for i, j in T.grid(4, 4):
        with T.block("outer"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi * 8:vi * 8 + 8, vj * 8:vj * 8 + 8])
            T.writes(B[vi * 8:vi * 8 + 8, vj * 8:vj * 8 + 8])
            for k, m in T.grid(8, 8):
                with T.block("inner"):
                    x = T.axis.spatial(32, vi * 8 + k)
                    y = T.axis.spatial(32, vj * 8 + m)
                    B[x, y] = A[x, y] * T.float32(2)
    for i_o, j_o, i_i, j_i in T.grid(2, 2, 16, 16):
        with T.block("C"):
            vi = T.axis.spatial(32, i_o * 16 + i_i)
            vj = T.axis.spatial(32, j_o * 16 + j_i)
            C[vi, vj] = B[vi, vj] + T.float32(1)
"""
REVERSED = """def main(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    B = T.alloc_buffer((12,))
    for i in range(12):
        with T.block("outer"):
            vi = T.axis.spatial(12, i)
            B[11 - vi] = A[vi] * T.float32(2)
    for i_o, i_i in T.grid(3, 4):
        with T.block("C"):
            vi = T.axis.spatial(12, i_o * 4 + i_i)
            C[vi] = B[vi] + T.float32(1)
"""
SHARED = """def main(A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")):
    B = T.alloc_buffer((32,), scope="shared")
    for i in range(32):
        with T.block("outer"):
            vi = T.axis.spatial(32, i)
            B[vi] = A[vi] * T.float32(2)
    for b in T.thread_binding(4, thread="blockIdx.x"):
        for t in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("C"):
                vi = T.axis.spatial(32, b * 8 + t)
                C[vi] = B[vi] + T.float32(1)
"""
SHIFTED = """def main(A: T.Buffer((16,), "float32"), C: T.Buffer((24,), "float32")):
    B = T.alloc_buffer((16,))
    for i in range(16):
        with T.block("outer"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * T.float32(2)
    for i_o, i_i in T.grid(6, 4):
        with T.block("C"):
            vi = T.axis.spatial(24, i_o * 4 + i_i)
            C[vi] = T.if_then_else(4 <= vi and vi < 20, B[vi - 4], T.float32(0))
"""
PROGRAMS = {
    "nested": (NESTED, 1, "for ax0, ax1 in T.grid(2, 2)"),
    "reversed": (REVERSED, 0, "for ax0 in range(4)"),
    "shared": (SHARED, 1, "for ax0 in range(8)"),
    "shifted": (SHIFTED, 0, "T.where(4 <= i_o * 4 + ax0 and i_o * 4 + ax0 < 20)"),
}


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_just_what_is_needed_is_computed(name):
    source, level, line = PROGRAMS[name]
    mod = from_source(HEAD + source)
    sch = Schedule(mod, debug_mask="all")
    sch.compute_at(sch.get_block("outer"), sch.get_loops(sch.get_block("C"))[level])
    assert line in sch.mod.script()
    before = Schedule(mod).mod
    rng = np.random.default_rng(0)
    shapes = [[d.constant for d in p.type.dims] for p in sch.mod["main"].op.params]
    arrays = [rng.normal(size=s).astype("float32") for s in shapes]
    assert same_values(observe(before.op, "main", arrays), observe(sch.mod.op, "main", arrays))


def test_what_is_refused_has_the_words_of_the_field():
    sch = Schedule(from_source(HEAD + NESTED))
    outer, last = sch.get_block("outer"), sch.get_block("C")
    loop = sch.get_loops(last)[0]
    for block, where, words in (
        (last, loop, "the loop is an ancestor of block"),
        (sch.get_block("inner"), loop, "the same block scope"),
        (last, sch.get_loops(outer)[0], "an output block"),
    ):
        with pytest.raises(ScheduleError, match=words):
            sch.compute_at(block, where)


def test_a_handle_is_asked_for_what_it_stands_for():
    sch = Schedule(from_source(HEAD + NESTED))
    block, loop = sch.get(sch.get_block("C")), sch.get(sch.get_loops(sch.get_block("C"))[0])
    assert block.name_hint == "C" and str(block.writes[0].buffer.name) == "C" and loop.extent == 2
    assert sch.get_sref(sch.get_block("C")).stmt.same_as(block)
