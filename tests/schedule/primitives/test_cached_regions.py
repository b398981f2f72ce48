"""Caches of what is written only in part: behind a split that does not divide, in a partition, in a block of blocks."""

import pytest

from tirax.dev.fuzz.workloads import WORKLOADS
from tirax.interpreter import assert_same_meaning
from tirax.schedule import Schedule
from tirax.schedule.state import ScheduleError
from tirax.tvm_api.script import from_source


def uneven_symbolic(sch: Schedule) -> None:
    sch.split(sch.get_loops(sch.get_block("bias"))[0], [None, 12])
    sch.cache_write(sch.get_block("bias"), 0, "global")


def past_the_end(sch: Schedule) -> None:
    sch.split(sch.get_loops(sch.get_block("scale"))[2], [1, 5])
    sch.loop_partition(sch.get_loops(sch.get_block("scale"))[3], [None, 1])
    sch.cache_write(sch.get_block("scale_w_11"), 0, "global")


def of_a_block_of_blocks(sch: Schedule) -> None:
    sch.blockize(sch.get_loops(sch.get_block("exp"))[0])
    sch.blockize(sch.get_loops(sch.get_block("maxelem"))[1])
    sch.cache_read(sch.get_block("exp_o"), 1, "global")


@pytest.mark.parametrize(
    ("workload", "steps"),
    [("symbolic", uneven_symbolic), ("pooling", past_the_end), ("softmax", of_a_block_of_blocks)],
)
def test_meaning(workload, steps) -> None:
    module = from_source(WORKLOADS[workload]) if isinstance(WORKLOADS[workload], str) else WORKLOADS[workload]
    sch = Schedule(module, debug_mask="all")
    steps(sch)
    assert_same_meaning(module.op, sch.mod.op)


HEAD = "from tvm.script import tir as T\n\n@T.prim_func\n"
TILES = f"""{HEAD}def main(x: T.handle, y: T.handle, z: T.handle):
    X = T.match_buffer(x, (8, 8))
    Y = T.match_buffer(y, (8, 8))
    Z = T.match_buffer(z, (8, 8))
    for i0, j0 in T.grid(2, 2):
        with T.block("tile"):
            i, j = T.axis.remap("SS", [i0, j0])
            for x, y in T.grid(4, 4):
                with T.block("A"):
                    vi = T.axis.spatial(8, i * 4 + x)
                    vj = T.axis.spatial(8, j * 4 + y)
                    Y[vi, vj] = X[vi, vj] + T.float32(1)
            for x, y in T.grid(4, 4):
                with T.block("B"):
                    vi = T.axis.spatial(8, i * 4 + x)
                    vj = T.axis.spatial(8, j * 4 + y)
                    Z[vi, vj] = Y[vi, vj] * X[vi, vj]
"""
UPDATED = f"""{HEAD}def main(X: T.Buffer((16,), "float32"), Y: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("read"):
            vi = T.axis.spatial(16, i)
            Y[vi] = X[vi] * T.float32(2)
    for i in range(16):
        with T.block("write"):
            vi = T.axis.spatial(16, i)
            X[vi] = Y[vi] + T.float32(1)
"""
SIZES = f"""{HEAD}def main(x: T.handle, y: T.handle, n: T.int32):
    X = T.match_buffer(x, ((n + 7) // 8 * 8,))
    Y = T.match_buffer(y, ((n + 7) // 8 * 8,))
    for i0 in range((n + 7) // 8):
        with T.block("outer"):
            io = T.axis.spatial((n + 7) // 8, i0)
            for i1 in range(8):
                with T.block("inner"):
                    ii = T.axis.spatial(8, i1)
                    Y[io * 8 + ii] = X[io * 8 + ii] + T.float32(1)
"""
CONSTANTS = f"""{HEAD}def main(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
    data = T.allocate_const([0.5, 1.5, 2.5, 3.5], "float32", [4])
    C = T.decl_buffer((4,), "float32", data=data)
    for i in range(4):
        with T.block("add"):
            vi = T.axis.spatial(4, i)
            Y[vi] = X[vi] + C[vi]
"""


def written_in_the_block(sch: Schedule) -> None:
    sch.cache_write("tile", 0, "global")


def read_before_it_is_written(sch: Schedule) -> None:
    sch.cache_read("read", 0, "local")


def in_a_block_of_symbolic_number(sch: Schedule) -> None:
    sch.cache_read("inner", 0, "shared")
    sch.cache_write("inner", 0, "local")
    assert "T.where" not in sch.mod.script()  # the tiles are inside of the buffer, whatever n is


def of_a_constant(sch: Schedule) -> None:
    sch.cache_read("add", 1, "global")
    sch.cache_read("add", 0, "global")


@pytest.mark.parametrize(
    ("source", "steps"),
    [
        (TILES, written_in_the_block),
        (UPDATED, read_before_it_is_written),
        (SIZES, in_a_block_of_symbolic_number),
        (CONSTANTS, of_a_constant),
    ],
)
def test_where_the_copy_may_be(source, steps) -> None:
    module = Schedule(from_source(source)).mod
    sch = Schedule(module, debug_mask="all")
    steps(sch)
    assert_same_meaning(module.op, sch.mod.op)


@pytest.mark.parametrize(
    ("source", "block", "message"),
    [
        (TILES.replace("Y[vi, vj] * X", "Y[vi, 7 - vj] * X"), "tile", "reads what it writes"),
        (TILES.replace("Y[vi, vj] = X[vi, vj]", "Y[vi, vj] = Y[vi, vj]"), "tile", "reads what it writes"),
    ],
)
def test_what_is_read_must_have_been_written(source, block, message) -> None:
    sch = Schedule(from_source(source))
    with pytest.raises(ScheduleError, match=message):
        sch.cache_write(block, 0, "global")


def test_a_reader_that_runs_again_after_the_writer_has_no_copy_before() -> None:
    text = f"""{HEAD}def main(X: T.Buffer((16,), "float32"), Y: T.Buffer((16,), "float32")):
    for r in range(2):
        for i in range(16):
            with T.block("read"):
                vi = T.axis.spatial(16, i)
                Y[vi] = X[vi] * T.float32(2)
        for i in range(16):
            with T.block("write"):
                vi = T.axis.spatial(16, i)
                X[vi] = Y[vi] + T.float32(1)
"""
    with pytest.raises(ScheduleError, match="a consumer stands before what is written"):
        Schedule(from_source(text)).cache_read("read", 0, "local")


def test_addresses_and_windows_have_the_scope_of_their_buffer() -> None:
    source = f"""{HEAD}def main(X: T.Buffer((16,), "float32"), Y: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,))
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            W = T.match_buffer(B[vi], (), offset_factor=1)
            W[()] = X[vi]
    for i in range(1):
        with T.block("Y"):
            T.reads(B[0:16])
            T.writes(Y[0:16])
            T.evaluate(T.call_extern("copy", Y.data, B.data, dtype="int32"))
"""
    sch = Schedule(from_source(source))
    sch.set_scope("B", 0, "shared")
    text = str(sch.mod.op)
    assert text.count('scope = "shared"') >= 2 and "B_shared" in text and "W_shared" in text
    from_source(sch.mod["main"].script())
    assert sch.mod["main"].op.verify() is None
    cached = Schedule(from_source(source))
    cached.cache_read("Y", 0, "local")
    read = cached.mod["main"].script()
    assert str(from_source(read).op) == str(cached.mod["main"].op)
