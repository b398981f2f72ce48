"""compute_at: blocks of blocks, reversed indices, memory that threads share; what the moved block says."""

import numpy as np
import pytest

from tirax.interpreter import assert_same_meaning
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


def test_a_handle_resolves_to_its_statement():
    sch = Schedule(from_source(HEAD + NESTED))
    block, loop = sch.get(sch.get_block("C")), sch.get(sch.get_loops(sch.get_block("C"))[0])
    assert block.name_hint == "C" and str(block.writes[0].buffer.name) == "C" and loop.extent == 2
    assert sch.get_sref(sch.get_block("C")).stmt.same_as(block)


PACKED = """def main(A: T.Buffer((3, 16), "float32"), C: T.Buffer((6, 8), "float32")):
    B = T.alloc_buffer((1, 3, 16))
    for i, j in T.grid(3, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[0, vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(6, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi // 8, (vi * 8 + vj) // 16, (vi * 8 + vj) % 16] * T.float32(2)
"""
JOINED = """def main(A: T.Buffer((16,), "float32"), D: T.Buffer((85,), "float32"), C: T.Buffer((87,), "float32")):
    X = T.alloc_buffer((16,))
    for i in range(16):
        with T.block("X"):
            vi = T.axis.spatial(16, i)
            X[vi] = A[vi] + T.float32(1)
    for n in range(1):
        for i in range(87):
            with T.block("C"):
                vi = T.axis.spatial(87, i)
                C[vi] = T.if_then_else(85 <= vi, X[vi - 85], D[vi])
"""
FEW = """def main(A: T.Buffer((128,), "float32"), C: T.Buffer((2,), "float32")):
    B = T.alloc_buffer((128,))
    for i_0, i_1 in T.grid(8, 16):
        with T.block("B"):
            vi = T.axis.spatial(128, i_0 * 16 + i_1)
            B[vi] = A[vi] + T.float32(1)
    for i in range(2):
        with T.block("C"):
            vi = T.axis.spatial(2, i)
            C[vi] = B[vi] * T.float32(2)
"""
FUSED = """def main(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (32, n))
    C = T.match_buffer(c, (32, n))
    B = T.alloc_buffer((32, n))
    for f in range(n * 32):
        with T.block("B"):
            vi = T.axis.spatial(32, f // n)
            vj = T.axis.spatial(n, f % n)
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for f in range(n * 32):
        with T.block("C"):
            vi = T.axis.spatial(32, f // n)
            vj = T.axis.spatial(n, f % n)
            C[vi, vj] = B[vi, vj] * T.float32(2)
"""
CONSTANT = """def main(A: T.Buffer((4,), "float32"), C: T.Buffer((4, 8), "float32")):
    B = T.alloc_buffer((4,))
    data = T.allocate_const([1.0, 2.0, 3.0, 4.0], dtype="float32", extents=[4])
    offset = T.decl_buffer((4,), data=data)
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] + offset[vi]
    for i, j in T.grid(4, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi] * T.float32(2)
"""


def _under(source, step, block, other):
    mod = from_source(HEAD + source)
    sch = Schedule(mod, debug_mask="all")
    getattr(sch, step)(sch.get_block(block), *[sch.get_loops(sch.get_block(b))[0] for b in other])
    shapes = [[d.constant for d in p.type.dims] for p in sch.mod["main"].op.params]
    arrays = [np.random.default_rng(0).normal(size=s).astype("float32") for s in shapes]
    before = Schedule(mod).mod
    assert same_values(observe(before.op, "main", arrays), observe(sch.mod.op, "main", arrays))
    return sch.mod.script()


def test_a_consumer_whose_indices_mix_its_iterators_runs_over_what_they_come_from():
    text = _under(PACKED, "reverse_compute_at", "C", "B")
    assert "for ax0, ax1 in T.grid(2, 8)" in text and "T.axis.spatial(6, i * 2 + ax0)" in text


def test_a_condition_limits_what_is_needed_to_a_part_of_the_domain():
    assert "for ax0 in range(2)" in _under(JOINED, "compute_at", "X", "C")


def test_iterations_that_provide_nothing_do_nothing():
    assert "T.where(i_0 * 16 + ax0 < 2)" in _under(FEW, "reverse_compute_at", "C", "B")


def test_one_iteration_provides_what_there_is_one_of():
    """Without the condition every iteration of the loop computed it again."""
    source = FEW.replace("for i in range(2):", "for i in range(1):").replace("spatial(2, i)", "spatial(1, i)")
    mod = from_source(HEAD + source.replace("T.Buffer((2,)", "T.Buffer((1,)"))
    sch = Schedule(mod, debug_mask="all")
    sch.reverse_compute_at(sch.get_block("C"), sch.get_loops(sch.get_block("B"))[1], preserve_unit_loops=True)
    assert "T.where(i_0 * 16 + i_1 < 1)" in sch.mod.script()
    assert_same_meaning(Schedule(mod).mod.op, sch.mod.op)


def test_the_outer_part_of_a_fused_loop_needs_no_condition():
    sch = Schedule(from_source(HEAD + FUSED), debug_mask="all")
    sch.reverse_compute_at(sch.get_block("C"), sch.get_loops(sch.get_block("B"))[0], preserve_unit_loops=True)
    assert "T.where" not in sch.mod.script()


def test_an_inlined_block_uses_the_constant_that_is_declared_outside():
    text = _under(CONSTANT, "compute_inline", "B", ())
    assert text.count("allocate_const") == 1 and text.index("allocate_const") < text.index("for i")
