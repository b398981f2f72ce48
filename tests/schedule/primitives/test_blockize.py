"""`blockize`: text as TVM's, meaning, refusals. The texts below tests/golden/schedule/blockize are TVM's, too."""

from __future__ import annotations

import numpy as np
import pytest
from prologue import HEAD, scheduled
from prologue import MATMUL_AND_SUM as MATMUL
from strength import thinned

from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning
from tirax.schedule import Schedule, ScheduleError, Trace
from tirax.tvm_api.script import from_source

CONV = (
    HEAD
    + """\
    def main(A: T.Buffer((1, 16, 34), "float32"), B: T.Buffer((1, 16, 32), "float32"), W: T.Buffer((3,), "float32")):
        for n, i, j, k in T.grid(1, 16, 32, 3):
            with T.block("B"):
                vn, vi, vj, vk = T.axis.remap("SSSR", [n, i, j, k])
                with T.init():
                    B[vn, vi, vj] = T.float32(0)
                B[vn, vi, vj] = B[vn, vi, vj] + A[vn, vi, vj + vk] * W[vk]
"""
)
SHIFTED = (
    HEAD
    + """\
    def main(A: T.Buffer((16, 34), "float32"), B: T.Buffer((16, 34), "float32")):
        for i in T.serial(4, 12):
            for j in range(32):
                with T.block("B"):
                    vi = T.axis.spatial(16, i)
                    vj = T.axis.spatial(34, j + 1)
                    B[vi, vj] = A[vi, vj]
"""
)
SYMBOLIC = (
    HEAD
    + """\
    def main(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(16)))
        B = T.match_buffer(b, (n, T.int64(16)))
        for i, j in T.grid(n, T.int64(16)):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1.0)
"""
)
PACKED = (
    HEAD
    + """\
    def main(A: T.Buffer((4, 32), "float32"), B: T.Buffer((32, 4), "float32")):
        for i, j in T.grid(4, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vj // 4 * 4 + vj % 4, vi] = A[vi // 4, vj]
"""
)


def tiled(s, block="C", sizes=((4, 4), (5, 4), (6, 4))):
    """The loops of a block split; all outer ones before all inner ones."""
    pairs = [s.split(lp, list(f)) for lp, f in zip(s.get_loops(s.get_block(block)), sizes, strict=True)]
    s.reorder(*(outer for outer, _ in pairs), *(inner for _, inner in pairs))
    return [outer for outer, _ in pairs], [inner for _, inner in pairs]


def tile(s):
    s.blockize(tiled(s)[1][0])


def reduction_only(s):
    s.blockize(s.get_loops(s.get_block("C"))[2])


def everything(s):
    s.blockize(s.get_loops(s.get_block("C"))[0])


def decomposed(s):
    outer, inner = tiled(s)
    s.decompose_reduction(s.blockize(inner[0]), outer[2])


def twice(s):
    s.annotate(s.get_block("C"), "note", 1)
    s.blockize(s.get_loops(s.blockize(s.get_loops(s.get_block("C"))[1]))[0])


def inside_twice(s):
    s.blockize(s.get_loops(s.get_block("C"))[0])
    s.blockize(s.get_loops(s.get_block("C"))[1])


def predicate_inside(s):
    j_0, _ = s.split(s.get_loops(s.get_block("E"))[1], [None, 16])
    s.parallel(j_0)
    s.blockize(j_0)


def conv_unit(s):
    _, _, j, _ = s.get_loops(s.get_block("B"))
    s.blockize(s.split(j, [4, 8])[1])


def conv_no_unit(s):
    _, _, j, _ = s.get_loops(s.get_block("B"))
    s.blockize(s.split(j, [4, 8])[1], preserve_unit_iters=False)


def conv_fused(s):
    n, i, j, _ = s.get_loops(s.get_block("B"))
    (i_0, i_1), (j_0, j_1) = s.split(i, [4, 4]), s.split(j, [4, 8])
    s.reorder(i_0, j_0, i_1, j_1)
    s.fuse(i_0, j_0)
    s.blockize(s.fuse(i_1, j_1))


def conv_predicate_outside(s):
    n, i, j, k = s.get_loops(s.get_block("B"))
    i_0, i_1 = s.split(i, [None, 3])
    s.reorder(i_0, i_1, n, j, k)
    s.blockize(j)


def conv_predicate_of_init(s):
    _, _, j, _ = s.get_loops(s.get_block("B"))
    s.blockize(s.split(j, [None, 5])[0])


TEXTS = [
    *((MATMUL, f) for f in (tile, reduction_only, everything, decomposed, twice, inside_twice, predicate_inside)),
    *((CONV, f) for f in (conv_unit, conv_no_unit, conv_fused, conv_predicate_outside, conv_predicate_of_init)),
]


@thinned(("source", "steps"), TEXTS, 6, ids=lambda p: getattr(p, "__name__", ""))
def test_text_and_meaning(source, steps, golden) -> None:
    module, s = scheduled(source, steps)
    golden(f"schedule/blockize/{steps.__name__}.txt", s.mod.script())
    assert_same_meaning(module.op, s.mod.op)


def test_natively() -> None:
    module, s = scheduled(MATMUL)
    decomposed(s)
    rng = np.random.default_rng(0)
    a, b = rng.random((16, 24), np.float32), rng.random((24, 20), np.float32)
    d = np.zeros((16, 20), np.float32)
    build(s.mod.op)["main"](a, b, d)
    np.testing.assert_allclose(d, a @ b + a[:, :20] + 1, rtol=1e-5)


@pytest.mark.parametrize("loop", [0, 1], ids=["both loops", "the inner loop"])
def test_offsets_of_bindings_and_loops_are_kept(loop) -> None:
    """What TVM drops: the first values of loops and constants in bindings."""
    module, s = scheduled(SHIFTED)
    s.blockize(s.get_loops(s.get_block("B"))[loop])
    assert_same_meaning(module.op, s.mod.op)
    assert "vj_i + 1" in s.mod.script()


@pytest.mark.parametrize("order", [(1,), (0, 1)])
def test_symbolic_sizes(order) -> None:
    module, s = scheduled(SYMBOLIC)
    i, j = s.get_loops(s.get_block("B"))
    j_0, j_1 = s.split(j, [2, 8])
    s.reorder(j_0, i, j_1)
    s.blockize((i, j_1)[order[0]])
    assert_same_meaning(module.op, s.mod.op)


def test_a_fused_loop_is_divided_at_full_rows() -> None:
    """TVM refuses it."""
    module, s = scheduled(MATMUL)
    _, inner = s.split(s.fuse(*s.get_loops(s.get_block("E"))), [8, 40])
    s.blockize(inner)
    assert "vi_i = T.axis.spatial(2, i_j_fused_1 // 20)" in s.mod.script()
    assert_same_meaning(module.op, s.mod.op)


def test_quotients_that_are_simple_now_are_written_so() -> None:
    module, s = scheduled(PACKED)
    s.blockize(s.split(s.get_loops(s.get_block("B"))[1], [8, 4])[1])
    assert "B[vj_o * 4 + vj_i, vi_o] = A[0, vj_o * 4 + vj_i]" in s.mod.script()
    assert_same_meaning(module.op, s.mod.op)


def test_handles_stay() -> None:
    s = Schedule(from_source(MATMUL))
    block = s.get_block("C")
    outer = s.blockize(s.get_loops(block)[2])
    assert s.operation(block).block_name.data == "C"
    assert s.operation(outer).block_name.data == "C_o"
    assert [len(s.get_loops(b)) for b in (outer, block)] == [2, 1]


def several(s, names=("E", "D")):
    d, e = s.get_block("D"), s.get_block("E")
    i_0, _ = s.split(s.get_loops(d)[0], [4, 4])
    s.compute_at(e, i_0)
    return s.blockize([s.get_block(n) for n in names])


def test_several_blocks(golden) -> None:
    module, s = scheduled(MATMUL)
    outer = several(s)
    assert s.operation(outer).block_name.data == "outer_E_D_"
    golden("schedule/blockize/several.txt", s.mod.script())
    assert_same_meaning(module.op, s.mod.op)


def test_several_blocks_with_a_reduction_inside() -> None:
    module, s = scheduled(MATMUL)
    i_0, _ = s.split(s.get_loops(s.get_block("D"))[0], [4, 4])
    s.compute_at(s.get_block("C"), i_0)
    s.blockize([s.get_block("C"), s.get_block("D")])
    assert_same_meaning(module.op, s.mod.op)
    assert "outer_C_D_" in s.mod.script()


GATHER = f"""{HEAD}\
    def main(A: T.Buffer((16, 8), "float32"), K: T.Buffer((4,), "int32"), B: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[T.min(T.max(K[vi], 0), 15), vj]
"""


def test_an_index_that_is_read_inside_is_any_outside() -> None:
    module, s = scheduled(GATHER)
    s.blockize(s.get_loops(s.get_block("B"))[0])
    assert "T.reads(A[0:16, 0:8], K[0:4])" in s.mod.script()
    assert_same_meaning(module.op, s.mod.op)


def test_blocks_without_loops_of_their_own() -> None:
    """Also: the trace gives the same again from JSON."""
    module, s = scheduled(MATMUL)
    e, d = s.get_block("E"), s.get_block("D")
    s.compute_at(e, s.get_loops(d)[1])
    s.blockize([e, d], preserve_unit_iters=False)
    assert_same_meaning(module.op, s.mod.op)
    again = Schedule(module)
    Trace.from_json(s.trace.as_json()).apply_to_schedule(again)
    assert again.mod.script() == s.mod.script()


def test_an_init_keeps_the_predicate_that_names_a_loop_which_runs_once() -> None:
    module = from_source(CONV)
    s = Schedule(module, debug_mask="all")
    s.split(s.get_loops(s.get_block("B"))[2], [1, 40])
    s.blockize(s.get_loops(s.get_block("B"))[2], preserve_unit_iters=False)
    assert s.mod.script().count("T.where(") == 2
    assert_same_meaning(module.op, s.mod.op)


LATE = CONV.replace('T.axis.remap("SSSR", [n, i, j, k])', 'T.axis.remap("SSS", [n, i, j])').replace(
    "                with T.init", "                vk = T.axis.reduce(3, k + 1)\n                with T.init"
)
LATE = LATE.replace("vn, vi, vj, vk =", "vn, vi, vj =").replace("(1, 16, 32, 3)", "(1, 16, 32, 2)")


def test_refused_where_the_init_would_not_have_run() -> None:
    s = Schedule(from_source(LATE))
    with pytest.raises(ScheduleError, match="a reduction does not begin where its domain does") as caught:
        s.blockize(s.get_loops(s.get_block("B"))[2])
    assert "^^^" in str(caught.value)


def mixed(s):
    i_0, i_1 = s.split(s.get_loops(s.get_block("C"))[0], [None, 5])
    s.reorder(i_0, *s.get_loops(s.get_block("C"))[2:], i_1)
    s.blockize(i_1)


def across(s):
    s.blockize(s.split(s.fuse(*s.get_loops(s.get_block("E"))), [None, 8])[1])


def separate(s):
    i_0, _ = s.split(s.get_loops(s.get_block("D"))[0], [4, 4])
    s.compute_at(s.get_block("E"), i_0)
    s.compute_at(s.get_block("C"), i_0)
    s.blockize([s.get_block("E"), s.get_block("D")])


def two_blocks(s):
    i_0, _ = s.split(s.get_loops(s.get_block("D"))[0], [4, 4])
    s.compute_at(s.get_block("E"), i_0)
    s.blockize(i_0)


def reduction_outside(s):
    k_0, k_1 = s.split(s.get_loops(s.get_block("C"))[2], [6, 4])
    i, j = s.get_loops(s.get_block("C"))[:2]
    s.reorder(k_0, i, j, k_1)
    s.blockize([s.get_block("C")])


@pytest.mark.parametrize(
    ("steps", "rule"),
    [
        (mixed, "a part of a binding is of outer and inner loops"),
        (across, "the bindings cannot be divided at the loops"),
        (separate, "something else stands between the blocks"),
        (two_blocks, "the loop is around other than one block"),
        (reduction_outside, "a loop around the blocks drives a reduction"),
        (lambda s: s.blockize(s.get_block("C")), "target is not what the step takes"),
        (lambda s: s.blockize([]), "at least one block"),
    ],
)
def test_refused(steps, rule) -> None:
    s = Schedule(from_source(MATMUL))
    with pytest.raises(ScheduleError, match=rule) as caught:
        steps(s)
    assert "blockize: " in str(caught.value)
    assert "^^^" in str(caught.value) or not caught.value.places


UNITS = (
    HEAD
    + """\
    def main(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16, 32), "float32")):
        for i, j, k, m in T.grid(1, 4, 16, 8):
            with T.block("B"):
                vi = T.axis.spatial(16, i * 16 + k)
                vj = T.axis.spatial(32, j * 8 + m)
                B[vi, vj] = A[vi, vj] + T.float32(1.0)
        for i, j in T.grid(3, 1):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
"""
)


@pytest.mark.parametrize("preserve", [True, False])
def test_a_loop_that_runs_once_drives_its_iterator(preserve: bool) -> None:
    module, s = scheduled(UNITS)
    s.blockize(s.get_loops(s.get_block("B"))[2], preserve_unit_iters=preserve)
    row = 'vi_o, vj_o = T.axis.remap("SS", [i, j])' if preserve else "vi_o = T.axis.spatial(1, 0)"
    assert row in s.mod.script()
    assert_same_meaning(module.op, s.mod.op)


def test_a_block_keeps_all_its_iterators_that_are_nothing_outside() -> None:
    module, s = scheduled(UNITS)
    s.blockize([s.get_block("B"), s.get_block("C")], preserve_unit_iters=False)
    text = s.mod.script()
    assert "vi_o = T.axis.spatial(1, 0)" in text and "vj_o = T.axis.spatial(1, 0)" in text
    assert_same_meaning(module.op, s.mod.op)
