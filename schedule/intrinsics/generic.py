"""Intrinsics for any machine: a small matrix product that stays in registers."""

from __future__ import annotations

from collections.abc import Callable

from ..tensor_intrin import TensorIntrin
from .source import from_script

MICROKERNEL_ROWS, MICROKERNEL_DEPTH = 4, 4


def microkernel(lanes: int, rows: int = MICROKERNEL_ROWS, depth: int = MICROKERNEL_DEPTH) -> TensorIntrin:
    """C[rows, lanes] += A[rows, depth] @ B[depth, lanes] of float32; a row of C is a vector."""
    head = f"""\
@T.prim_func
def main(
    A: T.Buffer(({rows}, {depth}), "float32", offset_factor=1),
    B: T.Buffer(({depth}, {lanes}), "float32", offset_factor=1),
    C: T.Buffer(({rows}, {lanes}), "float32", offset_factor=1),
):
    with T.block("root"):
        T.reads(C[0:{rows}, 0:{lanes}], A[0:{rows}, 0:{depth}], B[0:{depth}, 0:{lanes}])
        T.writes(C[0:{rows}, 0:{lanes}])
"""
    desc = f"""\
        for i, j, k in T.grid({rows}, {lanes}, {depth}):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
    steps = [f"C[{i}, 0:{lanes}]" for i in range(rows)]
    for k in range(depth):
        steps = [
            f'T.call_llvm_pure_intrin("float32x{lanes}", "llvm.fma",'
            f" T.Broadcast(A[{i}, {k}], {lanes}), B[{k}, 0:{lanes}], {step})"
            for i, step in enumerate(steps)
        ]
    impl = "".join(f"        C[{i}, 0:{lanes}] = {step}\n" for i, step in enumerate(steps))
    return from_script(head + desc, head + impl)


INTRINSICS: dict[str, Callable[[], TensorIntrin]] = {
    f"gemm_{MICROKERNEL_ROWS}x{lanes}x{MICROKERNEL_DEPTH}_f32": lambda lanes=lanes: microkernel(lanes)
    for lanes in (4, 8, 16)
}
"""Name -> what makes the intrinsic."""
