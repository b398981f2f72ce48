"""`LowerThreadAllreduce`: which way a reduction takes, its memory, and what reads its result."""

from __future__ import annotations

import numpy as np
import pytest

from tirax import tvm_api as tvm
from tirax.diagnostics import UnsupportedError
from tirax.tvm_api.script import from_source

SUM = "T.comm_reducer(lambda x, y: x + y, [T.float32(0)])"
LAST = (
    "T.comm_reducer(lambda x0, x1, y0, y1: (T.Select(x1 >= y1, x0, y0), T.Select(x1 >= y1, x1, y1)),"
    ' [T.int32(-1), T.min_value("float32")])'
)


def lowered(threads: dict[str, int | str], over: str, target: str = "cuda", reducer: str = SUM) -> str:
    launches = "\n    ".join(f't{k} = T.launch_thread("threadIdx.{k}", {n})' for k, n in threads.items())
    call = f"T.tvm_thread_allreduce(T.uint32(1), A[tx], T.bool(True), red[0], {over})"
    pair = f"T.tvm_thread_allreduce(T.uint32(2), tx, A[tx], T.bool(True), arg[0], red[0], {over})"
    source = f"""
from tvm.script import tir as T
@T.prim_func
def f(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32"), n: T.int32):
    T.func_attr({{"target": T.target("{target}")}})
    {launches}
    D = T.allocate([1], "float32", "local")
    red = T.decl_buffer((1,), "float32", data=D, scope="local")
    E = T.allocate([1], "int32", "local")
    arg = T.decl_buffer((1,), "int32", data=E, scope="local")
    with T.attr({reducer}, "reduce_scope", T.reinterpret("handle", T.uint64(0))):
        {call if reducer is SUM else pair}
    B[0] = red[0]
"""
    text = tvm.tir.transform.LowerThreadAllreduce()(tvm.IRModule({"f": from_source(source)})).script()
    assert from_source(text).script() == text
    return text


def test_a_warp_shuffles() -> None:
    text = lowered({"x": 32}, "tx")
    assert [f", {offset}, 32, 32)" in text for offset in (16, 8, 4, 2, 1)] == [True] * 5
    assert text.index('mask = T.allocate([1], "uint32", "local")') < text.index(
        't0 = T.allocate([1], "float32", "local")'
    )
    assert text.count("reduce_scope") == 1
    assert "storage_sync" not in text


def test_several_warps_meet_in_shared_memory() -> None:
    text = lowered({"x": 128, "y": 2}, "tx")
    assert 'T.allocate([8], "float32", "shared")' in text
    assert 'red_result = T.allocate([2], "float32", "shared")' in text
    assert 'T.attr(red_result, "volatile_scope", 1)' in text
    assert "B[0] = red[ty]" in text
    assert text.count('T.tvm_storage_sync("shared")') == 2


def test_other_targets_halve_in_memory() -> None:
    text = lowered({"x": 24}, "tx", "opencl")
    assert "if tx < 8:" in text
    assert text.index("if tx < 8:") < text.index("if tx < 4:")
    assert 'T.allocate([24], "float32", "shared")' in text
    assert 'T.attr(red_result, "volatile_scope", 1)' in text


def test_within_a_warp_loads_come_before_stores() -> None:
    text = lowered({"x": 8, "y": 32}, "ty")
    assert "tvm_warp_shuffle" not in text
    wide = lowered({"x": 64}, "tx", "rocm")
    assert "tvm_warp_shuffle" in wide
    narrow = lowered({"x": 32}, "tx", "rocm")
    assert narrow.index("w_16_0: T.float32 = ") < narrow.index('T.tvm_storage_sync("warp")')
    assert "if tx < 16:" in narrow


def test_pairs() -> None:
    text = lowered({"x": 32}, "tx", reducer=LAST)
    assert text.count("T.tvm_warp_shuffle(") == 2
    assert "arg[0] = T.Select(red[0] >= t1_1[0], arg[0], t0_1[0])" in text


def test_one_thread_copies() -> None:
    assert "red[0] = A[tx]\n" in lowered({"x": 1}, "0")
    with pytest.raises(UnsupportedError, match="Not all reduce index"):
        lowered({"x": 1}, "tx")


def test_what_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="constant extent"):
        lowered({"x": "n"}, "tx")
    with pytest.raises(UnsupportedError, match="Not all reduce index"):
        lowered({"x": 32}, "n")


@pytest.mark.parametrize("threads", [32, 24, 8])
def test_the_sum_of_a_warp(threads: int) -> None:
    """The shuffles of the text, computed by numpy: all lanes have the sum of all values."""
    text = lowered({"x": threads}, "tx")
    values = np.arange(threads, dtype=np.float64)
    lanes = np.zeros(32)
    lanes[:threads] = values
    for line in text.splitlines():
        if "shuffle_down" in line:
            offset = int(line.split(", ")[2])
            moved = np.concatenate([lanes[offset:], np.zeros(offset)])
        if "red[0] = red[0] + t0_1[0]" in line:
            limited = line.startswith(" " * 16)
            active = np.arange(32) + offset < threads if limited else np.ones(32, bool)
            lanes = np.where(active, lanes + moved, lanes)
    assert lanes[0] == values.sum()
