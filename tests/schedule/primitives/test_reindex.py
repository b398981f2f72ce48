"""`reindex`, `reindex_cache_read`, `reindex_cache_write`: text (tests/golden/schedule/reindex), meaning, refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from prologue import CONV, HEAD, scheduled
from prologue import MATMUL_AND_SUM as MATMUL

from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning
from tirax.schedule import Schedule, ScheduleError, Trace
from tirax.tvm_api.script import from_source

SYMBOLIC = (
    HEAD
    + """\
    def main(a: T.handle, c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(16)))
        C = T.match_buffer(c, (n, T.int64(16)))
        B = T.alloc_buffer((n, T.int64(16)))
        for i, j in T.grid(n, T.int64(16)):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(n, T.int64(16)):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)
"""
)


def reindex(block: str, *buffers):
    def steps(sch):
        for buffer in buffers:
            sch.reindex(sch.get_block(block), buffer)

    return steps


def read(block: str, index: int, scope: str, index_map):
    return lambda sch: sch.reindex_cache_read(sch.get_block(block), index, scope, index_map)


def write(block: str, index: int, scope: str, index_map):
    return lambda sch: sch.reindex_cache_write(sch.get_block(block), index, scope, index_map)


def split_first(sch):
    block = sch.get_block("C")
    sch.split(sch.get_loops(block)[0], [None, 5])
    sch.reindex(block, ("read", 1))
    sch.reindex(block, ("write", 0))


def split_then_read(sch):
    block = sch.get_block("C")
    sch.split(sch.get_loops(block)[0], [None, 8])
    sch.reindex_cache_read(block, 0, "local", lambda i, j, k: (k, i))


CASES = {
    "read": (MATMUL, reindex("C", ("read", 0))),
    "write": (MATMUL, reindex("C", ("write", 0))),
    "of_a_producer": (MATMUL, reindex("D", ("read", 1), ("read", 0))),
    "after_split": (MATMUL, split_first),
    "conv_image": (CONV, reindex("conv", ("read", 0))),
    "conv_weights": (CONV, reindex("conv", ("read", 1), "Y")),
    "symbolic": (SYMBOLIC, reindex("C", ("read", 0))),
    "cache_read": (MATMUL, read("C", 1, "shared", lambda i, j, k: (j, k))),
    "cache_read_tiled": (MATMUL, read("C", 0, "global", lambda i, j, k: (i // 4, k, i % 4))),
    "cache_read_of_a_producer": (MATMUL, read("D", 1, "local", lambda i, j: (j, i))),
    "cache_read_skewed": (MATMUL, read("D", 1, "local", lambda i, j: (j, i, i + j))),
    "cache_read_after_split": (MATMUL, split_then_read),
    "cache_read_conv": (CONV, read("conv", 0, "shared", lambda n, h, w, co, kh, kw, ci: (n, h, w, kh, kw, ci))),
    "cache_read_symbolic": (SYMBOLIC, read("C", 0, "local", lambda i, j: (j, i))),
    "cache_write": (MATMUL, write("C", 0, "shared", lambda i, j, k: (j, i))),
    "cache_write_fused": (MATMUL, write("D", 0, "local", lambda i, j: (i * 20 + j,))),
}


@pytest.mark.parametrize("name", CASES)
def test_text_meaning_and_traces(name, golden) -> None:
    module, sch = scheduled(*CASES[name])
    golden(f"schedule/reindex/{name}.txt", f"{sch.mod.script()}\n{sch.trace}")
    assert_same_meaning(module.op, sch.mod.op)
    for trace in (Trace.from_json(json.loads(json.dumps(sch.trace.as_json()))), Trace.from_mlir(sch.trace.mlir())):
        other = Schedule(module)
        trace.apply_to_schedule(other)
        assert other.mod.script() == sch.mod.script()


@pytest.mark.parametrize("name", ["conv_image", "conv_weights", "cache_read_tiled", "cache_write"])
def test_native(name) -> None:
    module, sch = scheduled(*CASES[name])
    func = module.op.body.block.first_op
    shapes = [[d.constant for d in p.type.dims] for p in func.params]
    inputs = [np.random.default_rng(k).random(s, np.float32) for k, s in enumerate(shapes)]
    actual, expected = inputs[-1].copy(), inputs[-1].copy()
    build(sch.mod.op)["main"](*inputs[:-1], actual)
    build(module.op)["main"](*inputs[:-1], expected)
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


def test_json_says_buffers_as_tvm_does() -> None:
    _, sch = scheduled(*CASES["write"])
    assert sch.trace.as_json()[0][1] == ["ReIndex", ["b0"], [0, 1], ["b1"]]


def test_buffers_and_blocks_by_name() -> None:
    _, by_name = scheduled(MATMUL, lambda sch: sch.reindex_cache_read("C", "B", "shared", lambda i, j, k: (j, k)))
    _, by_number = scheduled(*CASES["cache_read"])
    assert str(by_name.trace) == str(by_number.trace)
    _, plain = scheduled(MATMUL, lambda sch: sch.cache_read("C", "B", "shared"))
    assert "read_buffer_index=1" in str(plain.trace)


ONE = (
    HEAD
    + """\
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")):
        for i, j in T.grid(16, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                BODY
"""
)
CHAIN = (
    HEAD
    + """\
    def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
        B = T.alloc_buffer((16,))
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] * T.float32(2)
            with T.block("C"):
                vi = T.axis.spatial(16, i)
                C[vi] = B[vi] + T.float32(1)
"""
)


SHARED = (
    HEAD
    + """\
    def main(A: T.Buffer((4, 8, 3), "float32"), C: T.Buffer((4, 8), "float32")):
        B = T.alloc_buffer((4, 8))
        for i in range(4):
            for j, k in T.grid(8, 3):
                with T.block("B"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    with T.init():
                        B[vi, vj] = T.float32(0)
                    B[vi, vj] = B[vi, vj] + A[vi, vj, vk]
            for j in range(8):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = B[vi, vj] + T.float32(1)
"""
)


@pytest.mark.parametrize(
    "steps",
    [read("C", 0, "shared", lambda i, j: (j, i)), write("B", 0, "local", lambda i, j, k: (j, i))],
)
def test_copies_in_shared_loops(steps) -> None:
    """The writer and the reader share a loop: the copy is between them, in that loop."""
    module = from_source(SHARED)
    sch = Schedule(module, debug_mask="all")
    steps(sch)
    copy = next(name for name in ("B_shared", "B_local") if f'T.block("{name}")' in sch.mod.script())
    assert len(sch.get_loops(copy)) == 2 and sch.mod.script().count("for i in range(4)") == 1
    assert_same_meaning(module.op, sch.mod.op)


def test_an_incomplete_sum_is_not_copied() -> None:
    source = SHARED.replace(
        "for i in range(4):\n            for j, k in T.grid(8, 3):",
        "for k, i in T.grid(3, 4):\n            for j in range(8):",
    )
    with pytest.raises(ScheduleError):
        write("B", 0, "local", lambda i, j, k: (j, i))(Schedule(from_source(source)))


def one(body: str) -> str:
    return ONE.replace("BODY", body)


REFUSED = {
    "updates": (one("A[vi, vj] = A[vi, vj] + B[vi, vj]"), reindex("B", ("read", 0)), "neither a complete block"),
    "two_places": (one("B[vi, vj] = A[vi, vj] + A[vj, vi]"), reindex("B", ("read", 0)), "at other than one place"),
    "collisions": (one("B[vi // 2, vj] = A[vi, vj]"), reindex("B", ("write", 0)), "may write one element"),
    "some_iterations_write": (
        one("if vi < 3:\n                    B[vi, vj] = A[vi, vj]"),
        reindex("B", ("write", 0)),
        "not every iteration of the block writes",
    ),
    "guarded_read": (
        one("B[vi, vj] = T.if_then_else(vi > 0, A[vi - 1, vj], T.float32(0))"),
        reindex("B", ("read", 0)),
        "without which the index may be outside",
    ),
    "another_iterator": (MATMUL, read("C", 0, "local", lambda i, j, k: (j,)), "does not appear in"),
    "shared_place": (MATMUL, read("C", 0, "local", lambda i, j, k: (i + k,)), "no inverse"),
    "written_in_the_same_loop": (CHAIN, reindex("C", ("read", 0)), "a block in the same loops uses the buffer"),
    "read_in_the_same_loop": (CHAIN, reindex("B", ("write", 0)), "a block in the same loops uses the buffer"),
    "no_such_buffer": (MATMUL, read("C", 2, "local", lambda i, j, k: (j, k)), "the block reads 2 buffers"),
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
