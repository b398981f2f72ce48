"""DefaultGPUSchedule: spatial loops run on threads, results stay the same, and so do functions that are scheduled."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import UnsupportedError
from tirax.interpreter import assert_same_meaning
from tirax.tvm_api import te, tir
from tirax.tvm_api.script import from_source
from tirax.tvm_api.target import Target

GPU = Target({"kind": "cuda", "arch": "sm_70", "max_num_threads": 4})


def module(*tensors):
    return tvm.IRModule({"main": te.create_prim_func(list(tensors))})


def one_more(n, m):
    a = te.placeholder((n, m), name="A")
    return module(a, te.compute((n, m), lambda i, j: a[i, j] + 1.0, name="B"))


def sums(rows):
    a = te.placeholder((*rows, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    return module(a, te.compute(rows, lambda *i: te.sum(a[(*i, k)], axis=k), name="B"))


def scheduled(mod):
    with GPU:
        return tir.transform.DefaultGPUSchedule()(mod)


@pytest.mark.parametrize(
    "mod, extents",
    [(one_more(4, 6), [6, 4]), (one_more(1, 2), [1, 2]), (sums((3,)), [1, 3]), (sums(()), [1, 1])],
    ids=["blocks and threads", "few", "a reduction", "no spatial loop"],
)
def test_loops_run_on_threads(mod, extents):
    out = scheduled(mod)
    loops = [op for op in out.op.walk() if getattr(op, "thread", None) is not None]
    assert [loop.extent.constant for loop in loops] == extents
    assert [loop.thread.data for loop in loops] == ["blockIdx.x", "threadIdx.x"]
    assert_same_meaning(mod.op, out.op)


def test_more_iterations_than_threads():
    out = scheduled(one_more(64, 32))
    assert "T.thread_binding(256" in out.script() and "T.thread_binding(4" in out.script()
    assert out.script().count("for ") == 3


def test_functions_with_a_schedule_or_for_cpus_stay():
    mod = scheduled(one_more(4, 6))
    assert scheduled(mod).script() == mod.script()
    host = tir.transform.BindTarget(Target("llvm"))(one_more(4, 6))
    assert "thread_binding" not in tir.transform.DefaultGPUSchedule()(host).script()


def test_a_target_is_needed():
    with pytest.raises(UnsupportedError, match="target is missing"):
        tir.transform.DefaultGPUSchedule()(one_more(4, 6))
    with Target("hexagon"):
        assert "thread_binding" not in tir.transform.DefaultGPUSchedule()(one_more(4, 6)).script()


def test_iterators_that_are_not_the_loops():
    func = from_source("""
@T.prim_func
def main(A: T.Buffer((16,), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("A"):
            v = T.axis.spatial(16, i * 4 + j)
            A[v] = T.float32(1)
""")
    with pytest.raises(UnsupportedError, match="iterators are not its loops"):
        scheduled(tvm.IRModule({"main": func}))
