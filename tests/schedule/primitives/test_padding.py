"""`pad_einsum` and `decompose_padding`: text as TVM's (tests/golden/schedule/padding), meaning, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from prologue import HEAD, scheduled
from strength import thinned

from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning
from tirax.schedule import Schedule, ScheduleError
from tirax.tvm_api.script import from_source

MATMUL = (
    HEAD
    + """\
    def main(A: T.Buffer((15, 27), "float32"), B: T.Buffer((27, 11), "float32"), D: T.Buffer((15, 11), "float32")):
        A1 = T.alloc_buffer((15, 27))
        C = T.alloc_buffer((15, 11))
        for i, j in T.grid(15, 27):
            with T.block("A1"):
                vi, vj = T.axis.remap("SS", [i, j])
                A1[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j, k in T.grid(15, 11, 27):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A1[vi, vk] * B[vk, vj]
        for i, j in T.grid(15, 11):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] + T.float32(1)
"""
)
SYMBOLIC = (
    HEAD
    + """\
    def main(a: T.handle, b: T.handle, c: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n, 8), "float32")
        B = T.match_buffer(b, (8, 8), "float32")
        C = T.match_buffer(c, (n, 8), "float32")
        for i, j, k in T.grid(n, 8, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
"""
)
PADDED = (
    HEAD
    + """\
    def main(A: T.Buffer((30, 26), "float32"), P: T.Buffer((34, 32), "float32")):
        for i, j in T.grid(34, 32):
            with T.block("P"):
                vi, vj = T.axis.remap("SS", [i, j])
                P[vi, vj] = T.if_then_else(
                    2 <= vi and vi < 32 and 4 <= vj and vj < 30, A[vi - 2, vj - 4], T.float32(0))
"""
)
CONV = (
    HEAD
    + """\
    def main(A: T.Buffer((1, 30, 26, 8), "float32"), C: T.Buffer((1, 14, 12, 8), "float32")):
        P = T.alloc_buffer((1, 32, 28, 8))
        for n, i, j, c in T.grid(1, 32, 28, 8):
            with T.block("P"):
                vn, vi, vj, vc = T.axis.remap("SSSS", [n, i, j, c])
                P[vn, vi, vj, vc] = T.if_then_else(
                    1 <= vi and vi < 31 and 1 <= vj and vj < 27, A[vn, vi - 1, vj - 1, vc], T.float32(0))
        for n, i, j, c, x, y in T.grid(1, 14, 12, 8, 3, 3):
            with T.block("C"):
                vn, vi, vj, vc, vx, vy = T.axis.remap("SSSSRR", [n, i, j, c, x, y])
                with T.init():
                    C[vn, vi, vj, vc] = T.float32(0)
                C[vn, vi, vj, vc] = C[vn, vi, vj, vc] + P[vn, vi * 2 + vx, vj * 2 + vy, vc]
"""
)


def all_iterators(s):
    s.pad_einsum(s.get_block("C"), [8, 8, 8])


def spatial_only(s):
    s.pad_einsum(s.get_block("C"), [16, 1, 1])


def reduction_only(s):
    s.pad_einsum(s.get_block("C"), [1, 1, 5])


def no_reduction(s):
    s.pad_einsum(s.get_block("D"), [4, 4])


def split_before(s):
    block = s.get_block("C")
    s.split(s.get_loops(block)[0], [3, 5])
    s.pad_einsum(block, [4, 4, 4])


def inlined_before(s):
    s.compute_inline(s.get_block("A1"))
    s.pad_einsum(s.get_block("C"), [4, 4, 4])


def rounded(s):
    s.pad_einsum(s.get_block("C"), [4, 1, 1])


def at(block, loop, **options):
    def steps(s):
        b = s.get_block(block)
        if "compute_at" in options:
            s.compute_at(b, s.get_loops(s.get_block("C"))[options["compute_at"]])
        s.decompose_padding(b, s.get_loops(b)[loop])

    return steps


def split_loop(s):
    b = s.get_block("P")
    s.split(s.get_loops(b)[1], [4, 8])
    s.decompose_padding(b, s.get_loops(b)[1])


def fused(s):
    b = s.get_block("P")
    s.decompose_padding(b, s.fuse(*s.get_loops(b)))


def with_a_predicate(s):
    b = s.get_block("P")
    (i_0, i_1), (j_0, j_1) = (s.split(lp, [None, 8]) for lp in s.get_loops(b))
    s.reorder(i_0, j_0, i_1, j_1)
    s.decompose_padding(b, i_1)


CASES = {
    "all_iterators": (MATMUL, all_iterators),
    "spatial_only": (MATMUL, spatial_only),
    "reduction_only": (MATMUL, reduction_only),
    "no_reduction": (MATMUL, no_reduction),
    "split_before": (MATMUL, split_before),
    "inlined_before": (MATMUL, inlined_before),
    "rounded": (SYMBOLIC, rounded),
    "outer_loop": (PADDED, at("P", 0)),
    "inner_loop": (PADDED, at("P", 1)),
    "split_loop": (PADDED, split_loop),
    "fused": (PADDED, fused),
    "with_a_predicate": (PADDED, with_a_predicate),
    "unit_loop_outside": (CONV, at("P", 1)),
    "unit_loop_inside": (CONV, at("P", 0)),
    "computed_at": (CONV, at("P", 2, compute_at=1)),
    "computed_at_inner": (CONV, at("P", 3, compute_at=2)),
    "computed_at_outer": (CONV, at("P", 1, compute_at=2)),
}


@thinned("name", CASES, 8)
def test_text_and_meaning(name, golden) -> None:
    source, steps = CASES[name]
    module, s = scheduled(source, steps)
    golden(f"schedule/padding/{name}.txt", s.mod.script())
    assert_same_meaning(module.op, s.mod.op)


def test_natively() -> None:
    s = Schedule(from_source(MATMUL))
    all_iterators(s)
    rng = np.random.default_rng(0)
    a, b, d = rng.random((15, 27), np.float32), rng.random((27, 11), np.float32), np.zeros((15, 11), np.float32)
    build(s.mod.op)["main"](a, b, d)
    np.testing.assert_allclose(d, 2 * a @ b + 1, rtol=1e-5)
    s = Schedule(from_source(PADDED))
    with_a_predicate(s)
    x, p = rng.random((30, 26), np.float32), np.ones((34, 32), np.float32)
    build(s.mod.op)["main"](x, p)
    np.testing.assert_array_equal(p, np.pad(x, ((2, 2), (4, 2))))


def test_sums_of_padded_values_are_zero() -> None:
    module, s = scheduled(MATMUL.replace("A1[vi, vk] * B[vk, vj]", "(A1[vi, vk] - B[vk, vj])"))
    all_iterators(s)
    assert_same_meaning(module.op, s.mod.op)


def test_what_is_round_stays() -> None:
    module, s = scheduled(MATMUL)
    s.pad_einsum(s.get_block("C"), [15, 11, 27])
    assert s.mod.script() == module.script()


def test_the_filling_block_is_returned() -> None:
    s = Schedule(from_source(PADDED))
    b = s.get_block("P")
    result = s.decompose_padding(b, s.get_loops(b)[0])
    assert s.operation(result).block_name.data == "P_pad_const"
    assert s.operation(b).block_name.data == "P"


def pad(padding=(4, 4, 4), block="C"):
    return lambda s: s.pad_einsum(s.get_block(block), list(padding))


def updated(s):
    b = s.get_block("C")
    s.decompose_reduction(b, s.get_loops(b)[2])
    s.pad_einsum(s.get_block("C_update"), [4, 4, 4])


def shared(s):
    s.compute_at(s.get_block("A1"), s.get_loops(s.get_block("C"))[0])
    s.pad_einsum(s.get_block("C"), [4, 4, 4])


def guarded(s):
    b = s.get_block("C")
    s.split(s.get_loops(b)[0], [None, 4])
    s.pad_einsum(b, [4, 4, 4])


def a_part(s):
    s.loop_partition(s.get_loops(s.get_block("D"))[1], [4, None])
    s.pad_einsum(s.get_block("D_j0"), [4, 8])


def overlapping(s):
    b = s.get_block("P")
    s.parallel(s.get_loops(s.get_block("C"))[1])
    s.compute_at(b, s.get_loops(s.get_block("C"))[2])
    s.decompose_padding(b, s.get_loops(b)[3])


@pytest.mark.parametrize(
    ("source", "steps", "rule"),
    [
        (MATMUL, pad((4, 4)), "padding is a positive integer for each iterator"),
        (MATMUL, pad((0, 4, 4)), "padding is a positive integer for each iterator"),
        (MATMUL, updated, "the block is neither a complete block"),
        (MATMUL, shared, "the block shares its loops"),
        (MATMUL, guarded, "the block has a predicate"),
        (MATMUL, a_part, "do not run over all of its domain"),
        (PADDED.replace("A[vi - 2, vj - 4]", "A[vi, vj]"), pad((4, 8), "P"), "depends on a condition"),
        (CONV, overlapping, "a loop outside that is not serial"),
        (MATMUL.replace("A1[vi, vk] * B[vk, vj]", "A1[vi, vk] + T.float32(3)"), pad(), "terms that are zero"),
        (
            MATMUL.replace("C[vi, vj] + A1[vi, vk] * B", "T.max(C[vi, vj], A1[vi, vk]) + B"),
            pad(),
            "terms that are zero",
        ),
        (MATMUL.replace("D[vi, vj] = C[vi, vj]", "D[vi, vj] = C[14 - vi, vj]"), pad((4, 4), "D"), "no iterator"),
        (MATMUL, at("D", 0), "does not store a value under a condition"),
        (PADDED.replace("vj < 30,", "vj + vi < 30,"), at("P", 0), "no bound of an iterator"),
        (PADDED.replace("T.float32(0))", "A[0, 0])"), at("P", 0), "is no constant"),
        (CONV, lambda s: s.decompose_padding(s.get_block("P"), s.get_loops(s.get_block("C"))[0]), "not around"),
    ],
)
def test_refused(source, steps, rule) -> None:
    s = Schedule(from_source(source))
    with pytest.raises(ScheduleError, match=rule) as caught:
        steps(s)
    assert "^^^" in str(caught.value)
