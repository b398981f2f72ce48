"""`read_at`, `write_at`, `cache_inplace`, `cache_index`: text (tests/golden/schedule/staging), meaning, refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from prologue import CONV, HEAD, scheduled
from prologue import MATMUL_AND_ONE as MATMUL
from strength import only_full, thinned

from tirax.dialects import tir
from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning
from tirax.schedule import Schedule, ScheduleError, Trace
from tirax.tvm_api.script import from_source

UPDATED = (
    HEAD
    + """\
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.block("A"):
                vi = T.axis.remap("S", [i])
                T.reads(A[vi, 0:16], B[vi])
                T.writes(A[vi, 0:16])
                for j in range(16):
                    A[vi, j] = A[vi, j] + B[vi]
"""
)
FULL = (
    HEAD
    + """\
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "float32")):
        for u in range(1):
            with T.block("A"):
                T.reads(A[0:16, 0:16], B[0:16])
                T.writes(A[0:16, 0:16])
                for i, j in T.grid(16, 16):
                    A[i, j] = A[i, j] + B[i]
"""
)
RESIZE = (
    HEAD
    + """\
    def main(A: T.Buffer((1, 3, 40, 40), "float32"), B: T.Buffer((1, 3, 80, 80), "float32")):
        for i0, i1, i2, i3 in T.grid(1, 3, 80, 80):
            with T.block("resize"):
                n, c, vi, vj = T.axis.remap("SSSS", [i0, i1, i2, i3])
                B[n, c, vi, vj] = A[n, c, vi // 4 + vj // 4, vj // 2]
"""
)
GATHER = (
    HEAD
    + """\
    def main(A: T.Buffer((80, 80), "float32"), I0: T.Buffer((16,), "int32"), B: T.Buffer((16, 16), "float32")):
        for i, j in T.grid(16, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vj, 15 - vi] = A[vi * 4 + vj, vj * 2] + A[vi * 4 + vj, I0[vj] % 80] + A[vj * 2, vi * 4 + vj]
"""
)


def tiles(sch):
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    i_0, i_1 = sch.split(i, [None, 4])
    k_0, k_1 = sch.split(k, [None, 6])
    sch.reorder(i_0, k_0, i_1, j, k_1)
    sch.read_at(k_0, block, 0, "shared")
    sch.read_at(k_0, block, 1, "shared")
    sch.write_at(i_0, block, 0, "local")


def in_the_reduction(sch):
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    j_0, j_1 = sch.split(j, [None, 4])
    k_0, k_1 = sch.split(k, [None, 6])
    sch.reorder(j_0, i, k_0, j_1, k_1)
    sch.read_at(k_0, block, 1, "shared")
    sch.write_at(k_0, block, 0, "local")


def uneven(sch):
    block = sch.get_block("C")
    i_0, _ = sch.split(sch.get_loops(block)[0], [None, 5])
    sch.read_at(i_0, block, 0, "shared")
    sch.write_at(i_0, block, 0, "local")


def image(sch):
    block = sch.get_block("conv")
    sch.read_at(sch.get_loops(block)[1], block, 0, "shared")


def fused(sch):
    block = sch.get_block("C")
    i, j, _ = sch.get_loops(block)
    outer, _ = sch.split(sch.fuse(i, j), [None, 10])
    sch.read_at(outer, block, 0, "shared")


def under_threads(sch, scope="shared", height=8, width=4):
    """Each block of threads needs a part of both inputs and writes one, each thread in it less of that."""
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    (by, ty), (bx, tx) = sch.split(i, [None, height]), sch.split(j, [None, width])
    ty, i_1 = sch.split(ty, [None, 1 if height == 1 else 2])
    k_0, k_1 = sch.split(k, [None, 6])
    sch.reorder(by, bx, ty, tx, k_0, k_1, i_1)
    for loop, axis in zip((by, bx, ty, tx), ("blockIdx.y", "blockIdx.x", "vthread.y", "threadIdx.x"), strict=True):
        sch.bind(loop, axis)
    sch.read_at(k_0, block, 0, scope)
    sch.read_at(k_0, block, 1, scope)
    sch.write_at(tx, block, 0, scope)


CASES = {
    "threads": (MATMUL, under_threads),
    "tiles": (MATMUL, tiles),
    "in_the_reduction": (MATMUL, in_the_reduction),
    "uneven": (MATMUL, uneven),
    "image": (CONV, image),
    "fused": (MATMUL, fused),
    "inplace_rows": (UPDATED, lambda sch: sch.cache_inplace(sch.get_block("A"), 0, "local")),
    "inplace_whole": (FULL, lambda sch: sch.cache_inplace(sch.get_block("A"), "A", "local")),
    "index_resize": (RESIZE, lambda sch: sch.cache_index(sch.get_block("resize"), "global")),
    "index_gather": (GATHER, lambda sch: sch.cache_index(sch.get_block("B"), "local", 3)),
}


@thinned("name", CASES, 3)
def test_text_meaning_and_traces(name, golden) -> None:
    source, steps = CASES[name]
    module, sch = scheduled(source, steps)
    golden(f"schedule/staging/{name}.txt", f"{sch.mod.script()}\n{sch.trace}")
    assert_same_meaning(module.op, sch.mod.op)
    for trace in (Trace.from_json(json.loads(json.dumps(sch.trace.as_json()))), Trace.from_mlir(sch.trace.mlir())):
        other = Schedule(module)
        trace.apply_to_schedule(other)
        assert other.mod.script() == sch.mod.script()


@only_full  # `test_text_meaning_and_traces` copies for threads, too
@thinned(
    ("scope", "height", "width"),
    [("shared", 8, 4), ("shared.dyn", 4, 2), ("local", 8, 2), ("global", 4, 4), ("shared", 1, 1)],
    1,
)
def test_copies_of_what_threads_share(scope, height, width) -> None:
    module, sch = scheduled(MATMUL, lambda sch: under_threads(sch, scope, height, width))
    assert_same_meaning(module.op, sch.mod.op)
    rows = height if scope.startswith("shared") else min(height, 2)
    copies = [op for op in sch.mod.op.walk() if isinstance(op, tir.BlockOp) and op.annotations is not None]
    assert [copy.writes[0].extents[0].constant for copy in copies] == [rows, 6, rows]


@thinned("name", list(CASES), 5)
def test_native(name) -> None:
    source, steps = CASES[name]
    module, sch = scheduled(source, steps)
    rng = np.random.default_rng(0)
    inputs = [
        (rng.random([d.constant for d in p.type.dims]) * 10).astype("int32" if str(p.type.dtype) == "i32" else "f4")
        for p in module.op.body.block.first_op.params
    ]
    actual, expected = ([a.copy() for a in inputs] for _ in range(2))
    build(sch.mod.op)["main"](*actual)
    build(module.op)["main"](*expected)
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


SPARSE = (
    HEAD
    + """\
    def main(A: T.Buffer((16,), "float32"), C: T.Buffer((32,), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("C"):
                vi = T.axis.spatial(16, i * 4 + j)
                C[vi * 2] = A[vi]
"""
)
CHAIN = (
    HEAD
    + """\
    def main(A: T.Buffer((16, 4), "float32"), C: T.Buffer((16, 4), "float32")):
        B = T.alloc_buffer((16, 4))
        for i in range(16):
            for j in range(4):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj] * T.float32(2)
            for j in range(4):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = B[vi, vj] + T.float32(1)
"""
)


def at(primitive: str, block: str, loop_of: str, loop: int = 0):
    return lambda sch: getattr(sch, primitive)(
        sch.get_loops(sch.get_block(loop_of))[loop], sch.get_block(block), 0, "local"
    )


TRIANGLE = (
    HEAD
    + """\
    def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
        for i in T.thread_binding(4, thread="threadIdx.x"):
            for k in range(i):
                for j in range(8):
                    with T.block("C"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        C[vi, vj] = A[vi, vj]
"""
)
VECTORS = TRIANGLE.replace('T.thread_binding(4, thread="threadIdx.x")', "T.vectorized(4)")
SOME = TRIANGLE.replace("for k in range(i)", "if i < 3")
READ = TRIANGLE.replace("for k in range(i)", "for k in range(2)") + (
    """\
            for j in range(8):
                with T.block("A"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    A[vi, vj] = C[vi, vj]
"""
)


def under_thread(primitive: str, loop: int):
    return lambda sch: getattr(sch, primitive)(sch.get_loops(sch.get_block("C"))[loop], sch.get_block("C"), 0, "shared")


REFUSED = {
    "not_all_threads": (TRIANGLE, under_thread("write_at", 1), "not every thread writes the buffer"),
    "some_threads": (SOME, under_thread("write_at", 1), "not every thread writes the buffer"),
    "read_by_threads": (READ, under_thread("write_at", 1), "another block uses the buffer, too"),
    "written_by_threads": (READ, under_thread("read_at", 1), "a block in the loop writes the buffer"),
    "vectorized": (VECTORS, under_thread("read_at", 1), "the loop, or one around it, is vectorized"),
    "outside": (MATMUL, at("read_at", "D", "C"), "the block is not in the loop"),
    "writer_in_the_loop": (CHAIN, at("read_at", "C", "C"), "a block in the loop writes the buffer"),
    "reader_in_the_loop": (CHAIN, at("write_at", "B", "B"), "another block uses the buffer, too"),
    "sparse": (SPARSE, at("write_at", "C", "C"), "does not write all of a region"),
    "only_read": (MATMUL, lambda sch: sch.cache_inplace(sch.get_block("D"), 0, "local"), "does not write the buffer"),
    "plain_indices": (MATMUL, lambda sch: sch.cache_index(sch.get_block("D"), "local"), "at no index that is more"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name) -> None:
    source, steps, message = REFUSED[name]
    sch = Schedule(from_source(source))
    before = sch.mod.script()
    with pytest.raises(ScheduleError, match=message) as caught:
        steps(sch)
    assert "^^^" in str(caught.value)
    assert sch.mod.script() == before
