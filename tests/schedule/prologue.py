"""What tests of primitives begin with: programs that several of them schedule, and a schedule of one."""

from __future__ import annotations

from collections.abc import Callable

from tirax.handles.module import IRModule
from tirax.schedule import Schedule
from tirax.tvm_api.script import from_source

HEAD = "from tvm.script import ir as I, tir as T\n@I.ir_module\nclass Module:\n    @T.prim_func\n"
MATMUL_AND_SUM = (
    HEAD
    + """\
    def main(A: T.Buffer((16, 24), "float32"), B: T.Buffer((24, 20), "float32"), D: T.Buffer((16, 20), "float32")):
        C = T.alloc_buffer((16, 20))
        E = T.alloc_buffer((16, 20))
        for i, j in T.grid(16, 20):
            with T.block("E"):
                vi, vj = T.axis.remap("SS", [i, j])
                E[vi, vj] = A[vi, vj] + T.float32(1.0)
        for i, j, k in T.grid(16, 20, 24):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(16, 20):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] + E[vi, vj]
"""
)
TWO_STEPS = (
    HEAD
    + """\
    def main(A: T.Buffer((14, 16), "float32"), C: T.Buffer((14, 16), "float32")):
        B = T.alloc_buffer((14, 16))
        for i, j in T.grid(14, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(14, 16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)
"""
)
MATMUL_AND_ONE = (
    HEAD
    + """\
    def main(A: T.Buffer((16, 24), "float32"), B: T.Buffer((24, 20), "float32"), D: T.Buffer((16, 20), "float32")):
        C = T.alloc_buffer((16, 20))
        for i, j, k in T.grid(16, 20, 24):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(16, 20):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] + T.float32(1)
"""
)
CONV = (
    HEAD
    + """\
    def main(
        X: T.Buffer((1, 8, 8, 3), "float32"),
        W: T.Buffer((3, 3, 3, 16), "float32"),
        Y: T.Buffer((1, 6, 6, 16), "float32"),
    ):
        for n, h, w, co, kh, kw, ci in T.grid(1, 6, 6, 16, 3, 3, 3):
            with T.block("conv"):
                vn, vh, vw, vco, vkh, vkw, vci = T.axis.remap("SSSSRRR", [n, h, w, co, kh, kw, ci])
                with T.init():
                    Y[vn, vh, vw, vco] = T.float32(0)
                Y[vn, vh, vw, vco] = Y[vn, vh, vw, vco] + X[vn, vh + vkh, vw + vkw, vci] * W[vkh, vkw, vci, vco]
"""
)


def scheduled(source: str, steps: Callable[[Schedule], object] | None = None) -> tuple[IRModule, Schedule]:
    """The module, and a schedule of it that is verified after each step, on which `steps` were taken."""
    module = from_source(source)
    sch = Schedule(module, debug_mask="all")
    if steps is not None:
        steps(sch)
    return module, sch
