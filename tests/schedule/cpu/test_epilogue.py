"""Stages after reductions that become parts of them."""

from __future__ import annotations

import numpy as np

from tirax.driver.build import build
from tirax.tvm_api.script import from_source

BRANCHES = """
from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((9, 5), "float32"), B: T.Buffer((5, 33), "float32"), D: T.Buffer((9, 33), "float32")):
        C = T.alloc_buffer((9, 33))
        for i, j, k in T.grid(9, 33, 5):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(9, 33):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = T.if_then_else(vi < vj, C[vi, vj] + T.float32(1), T.float32(2)) * T.float32(3)
"""


def test_a_result_that_is_read_in_a_branch():
    rng = np.random.default_rng(0)
    a, b, d = rng.random((9, 5), "float32"), rng.random((5, 33), "float32"), np.zeros((9, 33), "float32")
    build(from_source(BRANCHES))["main"](a, b, d)
    upper = np.arange(9)[:, None] < np.arange(33)
    np.testing.assert_allclose(d, np.where(upper, a @ b + 1, 2) * 3, rtol=1e-5)
