"""Vectorized loops in chunks: which are cut, and that meanings and results stay."""

from __future__ import annotations

import numpy as np
import pytest

from tirax.dialects import tir
from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning
from tirax.lowering.tir_to_scf import outline
from tirax.runtime import set_num_threads
from tirax.transforms.tir import chunked_loops
from tirax.transforms.tir.parallelize_loops import ParallelizeLoops
from tirax.tvm_api.script import from_source

HEAD = """from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def main(a: T.handle, y: T.handle):
        T.func_attr({"tir.noalias": True})
        n = T.int64()
        A = T.match_buffer(a, (n, 3), "float32")
        Y = T.match_buffer(y, (n, 3), "float32")
        for i in T.vectorized(EXTENT):
            """
CUT = {
    "elements": ("n", "Y[i, 1] = A[i, 0] * A[i, 2]"),
    "rows that were fused": ("n * 3", "Y[i // 3, i % 3] = T.exp(A[i // 3, i % 3])"),
    "what is read where it is written": ("n * 3", "Y[i // 3, i % 3] = Y[i // 3, i % 3] + A[0, 0]"),
    "from the end": ("n", "Y[n - 1 - i, 0] = A[i, 0]"),
    "each third": ("n", "Y[i, 0] = A[n - 1 - i, 1]"),
}
KEPT = {
    "the next element is read": ("n - 1", "Y[i + 1, 0] = Y[i, 0]"),
    "one place for all": ("n", "Y[0, 0] = A[i, 0]"),
    "places that meet": ("n", "Y[i // 2, 0] = A[i, 0]"),
    "places that are computed": ("n", "Y[T.cast(A[i, 0], 'int64'), 0] = A[i, 1]"),
    "too few": ("100", "Y[0, 0] = A[0, 0]"),
}


def module(case):
    extent, body = case
    return from_source(HEAD.replace("EXTENT", extent) + body)


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(chunked_loops, "CHUNK", 4)


def is_cut(changed) -> bool:
    return any(isinstance(op, tir.ForOp) and op.kind is tir.ForKind.PARALLEL for op in changed.op.walk())


@pytest.mark.parametrize("name", CUT)
def test_loops_that_are_cut_mean_the_same(small_chunks, name):
    mod = module(CUT[name])
    changed = ParallelizeLoops("llvm -num-cores=4")(mod)
    assert is_cut(changed)
    assert_same_meaning(mod.op, changed.op, sizes=(0, 1, 3, 4, 5, 9))


@pytest.mark.parametrize("name", KEPT)
def test_loops_that_are_not_split(small_chunks, name):
    mod = module(KEPT[name])
    assert not is_cut(ParallelizeLoops("llvm -num-cores=4")(mod))


def test_loops_inside_of_others_are_not_split(small_chunks):
    """A row is added to sums each time: to share it out would cost more than it is."""
    text = HEAD.replace("for i in T.vectorized(EXTENT):\n            ", "for k in range(n):\n            BODY")
    body = "for i in T.vectorized(n):\n                Y[i, 0] = Y[i, 0] + A[k, 1]"
    assert not is_cut(ParallelizeLoops("llvm -num-cores=4")(from_source(text.replace("BODY", body))))


def test_one_core_needs_no_chunks(small_chunks):
    assert not is_cut(ParallelizeLoops("llvm -num-cores=1")(module(CUT["elements"])))


def test_no_chunk_is_written_where_none_is_full():
    mod = module(("4095", "Y[i // 3, i % 3] = T.exp(A[i // 3, i % 3]) * T.exp(A[i // 3, i % 3]) + T.sin(A[0, 0])"))
    assert not is_cut(ParallelizeLoops("llvm -num-cores=4")(mod))


@pytest.mark.parametrize("name", ["elements", "rows that were fused", "what is read where it is written"])
def test_results_are_those_of_one_core(monkeypatch, name):
    monkeypatch.setattr(outline, "_WORK_WORTH_A_THREAD", 1)
    mod = module(CUT[name])
    many, alone = build(mod, "llvm -num-cores=4"), build(mod, "llvm -num-cores=1")
    set_num_threads(4)
    try:
        for n in (0, 1, 1365, 4096, 4097, 20000):
            a, y = np.random.default_rng(n).random((2, n, 3), np.float32) if n else np.zeros((2, 1, 3), np.float32)
            again = y.copy()
            many["main"](a, y)
            alone["main"](a, again)
            np.testing.assert_array_equal(y, again)
    finally:
        set_num_threads(None)
