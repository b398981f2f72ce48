"""`storage_align`, `unsafe_set_dtype`, `annotate_buffer_access`, `unsafe_hide_buffer_access`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from prologue import TWO_STEPS as SOURCE
from prologue import scheduled

from tirax.diagnostics import TiraxError
from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning
from tirax.schedule import Schedule, ScheduleError, Trace
from tirax.tvm_api import tir
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir import IndexMap


def align(sch: Schedule) -> None:
    block = sch.get_block("B")
    sch.storage_align(block, 0, 0, 32, 8)
    sch.storage_align(block, buffer_index=0, axis=-1, factor=16, offset=4)
    sch.storage_align(block, 0, 0, 8, 0)


def widened(sch: Schedule) -> None:
    sch.annotate_buffer_access(sch.get_block("C"), 0, "read", lambda i, j: ((i - 1, i + 2), j))


STEPS = {
    "align": align,
    "dtype": lambda sch: sch.unsafe_set_dtype(sch.get_block("B"), 0, "float64"),
    "annotate": widened,
    "hide": lambda sch: sch.unsafe_hide_buffer_access(sch.get_block("C"), "read", [0]),
}
EXPECTED = {
    "align": (
        'T.block_attr({"buffer_dim_align": [[0, 0, 8, 0], [0, 1, 16, 4]]})',
        "sch.storage_align(block=b0, buffer_index=0, axis=-1, factor=16, offset=4)",
    ),
    "dtype": (
        'B = T.alloc_buffer((14, 16), "float64")',
        'B[vi, vj] = T.Cast("float64", A[vi, vj] * T.float32(2.0))',
        'C[vi, vj] = T.Cast("float32", B[vi, vj]) + T.float32(1.0)',
        'sch.unsafe_set_dtype(block=b0, buffer_index=0, dtype="float64")',
    ),
    "annotate": (
        "T.reads(B[vi - 1:vi - 1 + 3, vj])",
        'T.block_attr({"explicit_read_region": [0]})',
        'sch.annotate_buffer_access(block=b0, buffer_index=0, buf_type="read", '
        "gen_new_ranges=lambda vi, vj: [(vi - 1, vi + 2), (vj, vj + 1)])",
    ),
    "hide": (
        "T.reads()",
        'sch.unsafe_hide_buffer_access(block=b0, buf_type="read", buf_index_array=[0])',
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_text_meaning_and_traces(name) -> None:
    module = from_source(SOURCE)
    _, sch = scheduled(SOURCE, STEPS[name])
    text = f"{sch.mod.script()}\n{sch.trace}"
    assert [line for line in EXPECTED[name] if line not in text] == []
    assert_same_meaning(module.op, sch.mod.op)
    for trace in (Trace.from_json(json.loads(json.dumps(sch.trace.as_json()))), Trace.from_mlir(sch.trace.mlir())):
        other = Schedule(module)
        trace.apply_to_schedule(other)
        assert other.mod.script() == sch.mod.script()


def test_the_type_of_elements_in_machine_code() -> None:
    x, z = np.random.default_rng(0).random((14, 16), np.float32), np.zeros((14, 16), np.float32)
    _, sch = scheduled(SOURCE, lambda sch: sch.unsafe_set_dtype(sch.get_block("B"), 0, "float16"))
    build(sch.mod.op)["main"](x, z)
    np.testing.assert_array_equal(z, (x * 2).astype(np.float16).astype(np.float32) + 1)


def test_an_annotated_region_outlives_later_steps() -> None:
    def steps(sch: Schedule) -> None:
        widened(sch)
        sch.transform_layout(sch.get_block("C"), ("write", 0), lambda i, j: (j, i))

    text = scheduled(SOURCE, steps)[1].mod.script()
    assert "T.reads(B[vi - 1:vi - 1 + 3, vj])" in text
    assert "T.writes(C[vj, vi])" in text


def test_dependences_on_hidden_accesses_are_not_seen() -> None:
    _, sch = scheduled(SOURCE, STEPS["hide"])
    assert sch.get_consumers(sch.get_block("B")) == []


REFUSED = {
    "axis": (lambda sch: sch.storage_align(sch.get_block("B"), 0, 2, 32, 8), "no such axis"),
    "factor": (lambda sch: sch.storage_align(sch.get_block("B"), 0, 0, 0, 8), "factor of an alignment is positive"),
    "aligned_parameter": (lambda sch: sch.storage_align(sch.get_block("C"), 0, 0, 8, 8), "not allocated in a block"),
    "no_such_buffer": (lambda sch: sch.storage_align(sch.get_block("B"), 1, 0, 8, 8), "the block writes 1 buffers"),
    "parameter": (lambda sch: sch.unsafe_set_dtype(sch.get_block("C"), 0, "float16"), "not allocated in a block"),
    "ranges": (
        lambda sch: sch.annotate_buffer_access(sch.get_block("C"), 0, "read", lambda i, j: (i,)),
        "a range for each dimension",
    ),
    "extent": (
        lambda sch: sch.annotate_buffer_access(sch.get_block("C"), 0, "read", lambda i, j: ((0, i), j)),
        "extent of a region is an expression of sizes",
    ),
    "hidden": (lambda sch: sch.unsafe_hide_buffer_access(sch.get_block("C"), "read", [3]), "the block reads 1 buffers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name) -> None:
    steps, message = REFUSED[name]
    _, sch = scheduled(SOURCE)
    before = sch.mod.script()
    with pytest.raises(ScheduleError, match=message) as caught:
        steps(sch)
    assert "^^^" in str(caught.value)
    assert sch.mod.script() == before


def test_wrong_arguments() -> None:
    _, sch = scheduled(SOURCE)
    block = sch.get_block("C")
    with pytest.raises(TiraxError, match="which regions of the block"):
        sch.unsafe_hide_buffer_access(block, "either", [0])
    with pytest.raises(TiraxError, match="a function of the block's iterators"):
        sch.annotate_buffer_access(block, 0, "read", [(0, 1)])
    with pytest.raises(TiraxError, match="float17"):
        sch.unsafe_set_dtype(sch.get_block("B"), 0, "float17")


WINDOWS = """
from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8, 16), "float32")):
        B = T.alloc_buffer((8, 16))
        for i, j in T.grid(8, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                W = T.match_buffer(B[vi, vj], (), offset_factor=1)
                W[()] = A[vi, vj] * T.float32(2)
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                R = T.match_buffer(B[vi, 0:16], (1, 16), offset_factor=1)
                for j in range(16):
                    C[vi, j] = R[0, j] + T.float32(1)
"""


def test_windows_change_with_their_buffer() -> None:
    module, sch = scheduled(WINDOWS)
    sch.unsafe_set_dtype("B", 0, "float64")
    sch.set_axis_separator("B", ("write", 0), [1])
    text = sch.mod.script()
    assert 'W = T.match_buffer(B[vi, vj], (), "float64", offset_factor=1, axis_separators=[0])' in text
    assert 'R_1 = T.match_buffer(B[vi, 0:16], (1, 16), "float64", offset_factor=1, axis_separators=[1])' in text
    assert 'C[vi, j] = T.Cast("float32", R_1[0, j]) + T.float32(1.0)' in text
    assert_same_meaning(module.op, sch.mod.op)


def test_a_map_that_moves_nothing_may_set_separators_of_windows() -> None:
    _, sch = scheduled(WINDOWS)
    sch.transform_layout("B", "B", lambda i, j: [i, IndexMap.AXIS_SEPARATOR, j])
    assert "axis_separators=[1]" in sch.mod.script()


def test_constant_expressions_are_factors() -> None:
    _, sch = scheduled(SOURCE)
    loop = sch.get_loops("B")[0]
    assert len(sch.split(loop, [tir.const(2, "int64"), None])) == 2
    assert "factors=[2, None]" in str(sch.trace)
