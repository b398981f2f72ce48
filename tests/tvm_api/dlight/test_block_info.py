"""What rules see of a function: blocks in a normal form, iterators of accesses, what was inlined, loops."""

import pytest

import tirax.tvm_api as tvm
from tirax.schedule import Schedule
from tirax.schedule.state import ScheduleError
from tirax.tvm_api import dlight as dl
from tirax.tvm_api.dlight.base import analysis
from tirax.tvm_api.script import from_source

NORM = """
@T.prim_func
def main(X: T.Buffer((1, 8, n)), Y: T.Buffer((1, 8, n)), n: T.int32):
    A = T.alloc_buffer((1, 8, n))
    S = T.alloc_buffer((1, 8))
    B = T.alloc_buffer((1, 8, n))
    for b, i, j in T.grid(1, 8, n):
        with T.block("double"):
            vb, vi, vj = T.axis.remap("SSS", [b, i, j])
            A[vb, vi, vj] = X[vb, vi, vj] * T.float32(2)
    for b, i, j in T.grid(1, 8, n):
        with T.block("sum"):
            vb, vi, vj = T.axis.remap("SSR", [b, i, j])
            with T.init():
                S[vb, vi] = T.float32(0)
            S[vb, vi] = S[vb, vi] + A[vb, vi, vj]
    for b, i, j in T.grid(1, 8, n):
        with T.block("divide"):
            vb, vi, vj = T.axis.remap("SSS", [b, i, j])
            B[vb, vi, vj] = X[vb, vi, vj] / S[vb, vi]
    for b, i, j in T.grid(1, 8, n):
        with T.block("next"):
            vb, vi, vj = T.axis.remap("SSS", [b, i, j])
            Y[vb, vi, vj] = B[vb, vi, vj] + T.float32(1)
"""
TOTAL = """
@T.prim_func
def main(A: T.Buffer((8,)), B: T.Buffer((1,))):
    for i, k in T.grid(1, 8):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vk]
"""
COPY = """
@T.prim_func
def main(A: T.Buffer((8, 8)), B: T.Buffer((8, 8))):
    for i, j in T.grid(8, 8):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
"""


@pytest.fixture
def norm():
    return Schedule(from_source(NORM.strip()))


def test_blocks_in_normal_form(norm):
    blocks = dl.normalize_prim_func(norm)
    assert [f"{b.name} {b.dom_kind()}" for b in blocks] == ["double SS", "sum SR", "divide SS", "next SS"]
    assert [b.is_injective() for b in blocks] == [True, False, True, True]
    assert [b.is_reduction() for b in blocks] == [False, True, False, False]
    assert [b.is_elementwise(norm) for b in blocks] == [False] * 4  # one dimension more than iterators
    assert str(blocks[1]) == 'BlockInfo("sum", "SR", [8, n])' and str(blocks[1].iters[0]) == 'Iter("S", 8)'
    assert blocks[1].get_loops() == [i.loop_rv for i in blocks[1].iters]


def test_what_has_no_spatial_iterator_gets_one():
    schedule = Schedule(from_source(TOTAL.strip()))
    (block,) = dl.normalize_prim_func(schedule)
    assert (block.dom_kind(), block.dom()) == ("SR", [1, 8])


def test_the_same_of_the_same_element_is_elementwise():
    for text, elementwise in ((COPY, True), (COPY.replace("A[vi, vj]", "A[vj, vi]"), False)):
        schedule = Schedule(from_source(text.strip()))
        (block,) = dl.normalize_prim_func(schedule)
        assert block.is_elementwise(schedule) is elementwise


def test_loops_of_another_form_have_no_normal_form(norm):
    norm.split(norm.get_loops(norm.get_block("sum"))[1], factors=[2, None])
    before = norm.mod.script()
    assert dl.normalize_prim_func(norm) is None
    assert dl.try_inline_contiguous_spatial(norm, None) is None
    assert norm.mod.script() == before


def test_runs_of_spatial_blocks_are_inlined(norm):
    blocks = dl.try_inline_contiguous_spatial(norm, dl.normalize_prim_func(norm))
    assert [b.name for b in blocks] == ["sum", "next"]
    shown = norm.mod.script()
    assert "X[0, v0, v1] / S[0, v0] + T.float32(1.0)" in shown and "X[0, v0, v1] * T.float32(2.0)" in shown
    for block in blocks:  # the variables are those of the function as it is now
        assert [i.var for i in block.iters] == [i.var for i in norm.get(block.block_rv).iter_vars]


def test_the_parts_of_an_access(norm):
    blocks = dl.normalize_prim_func(norm)
    divide = norm.get(blocks[2].block_rv)
    uses = [analysis.collect_block_iter_vars_used_in_access_region(divide, r.region) for r in divide.reads]
    assert [sorted(map(str, used)) for used in uses] == [["v0", "v1"], ["v0"]]
    assert str(dl.base.detect_dominant_read(divide)) == "v0 * n + v1"
    assert dl.base.is_broadcast_epilogue(norm, blocks[1].block_rv, blocks[2].block_rv)
    assert not dl.base.is_broadcast_epilogue(norm, blocks[2].block_rv, blocks[3].block_rv)


def test_what_reads_nothing_or_regions_has_no_dominant_read():
    fill = Schedule(from_source(COPY.replace("A[vi, vj]", "T.float32(0)").strip()))
    with pytest.raises(ScheduleError, match="reads nothing"):
        dl.base.detect_dominant_read(fill.get(fill.get_block("copy")))
    rows = Schedule(
        from_source(COPY.replace("            B[", "            T.reads(A[vi, 0:8])\n            B[").strip())
    )
    with pytest.raises(ScheduleError, match="more than one element"):
        dl.base.detect_dominant_read(rows.get(rows.get_block("copy")))


def test_the_root_block_is_around_all(norm):
    names = [norm.get(b).name_hint for b in norm.get_child_blocks(analysis.get_root_block(norm))]
    assert names == ["double", "sum", "divide", "next"]


def test_loops_as_vectors():
    for lanes, shown in ((4, "T.vectorized(4)"), (16, "T.vectorized(8)")):
        schedule = Schedule(from_source(COPY.strip()))
        dl.cpu.utils.auto_vectorize(schedule, schedule.get_loops(schedule.get_block("copy"))[-1], lanes)
        assert shown in schedule.mod.script()
    assert [dl.cpu.utils.get_bytes(t) for t in ("int8", "float32", tvm.DataType("float64"))] == [1, 4, 8]


def test_loops_of_unknown_extent_stay_as_they_are(norm):
    (*_, loop) = norm.get_loops(norm.get_block("double"))
    before = norm.mod.script()
    dl.cpu.utils.auto_vectorize(norm, loop, 4)
    assert norm.mod.script() == before
    assert str(dl.cpu.utils.get_extent(norm, loop)) == "n"


def test_a_unit_loop_is_of_an_int32_whatever_the_others_are():
    schedule = Schedule(from_source(COPY.replace("8", "T.int64(8)").strip()))
    schedule.add_unit_loop(schedule.get_block("copy"))
    assert "for i, j, u in T.grid(T.int64(8), T.int64(8), 1):" in schedule.mod.script()
