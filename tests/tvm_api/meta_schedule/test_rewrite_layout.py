"""RewriteLayout: weights in the order of their reader's loops, also through copies."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.tvm_api import meta_schedule as ms
from tirax.tvm_api.script import from_source

MATMUL = """
@T.prim_func
def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    T.func_attr({"layout_free_buffers": [1]})
    for i0, j, k0, i1, k1 in T.grid(4, 16, 4, 4, 4):
        with T.block("matmul"):
            vi = T.axis.S(16, i0 * 4 + i1)
            vj = T.axis.S(16, j)
            vk = T.axis.R(16, k0 * 4 + k1)
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def rewritten(program):
    sch = tvm.tir.Schedule(from_source(program))
    assert ms.postproc.RewriteLayout().apply(sch)
    return sch


def test_a_weight_is_copied_into_the_order_of_loops():
    text = rewritten(MATMUL).mod.script()
    assert "B_global = T.alloc_buffer((16, 4, 4))" in text
    assert '"meta_schedule.layout_rewrite_preproc": T.bool(True)' in text


def test_copies_get_the_layout_too():
    sch = tvm.tir.Schedule(from_source(MATMUL))
    sch.cache_read(sch.get_block("matmul"), 1, "global")
    assert ms.postproc.RewriteLayout().apply(sch)
    assert sch.mod.script().count("T.alloc_buffer((16, 4, 4))") == 2


def test_functions_without_weights_stay():
    program = MATMUL.replace('    T.func_attr({"layout_free_buffers": [1]})\n', "")
    assert rewritten(program).mod.script() == tvm.tir.Schedule(from_source(program)).mod.script()


def test_a_read_outside_of_blocks():
    program = """
@T.prim_func
def main(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    T.func_attr({"layout_free_buffers": [0]})
    for i, j in T.grid(16, 16):
        C[i, j] = A[j, i]
"""
    with pytest.raises(TiraxError, match="outside of any block"):
        rewritten(program)
