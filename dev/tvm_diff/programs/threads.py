"""Passes on loops over threads and on memory that threads share."""

from __future__ import annotations

from ..rows import Row

_UNIFY = "tir.UnifyThreadBinding()"
_LIFT = "tir.LiftThreadBinding()"
_SELECT = "tir.RewriteUnsafeSelect()"
_KERNEL = """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    {body}
"""


def _kernel(body: str) -> str:
    return _KERNEL.format(body=body.strip().replace("\n", "\n    "))


ROWS = [
    Row(_UNIFY, "two loops of one tag", _kernel("""
for i in T.thread_binding(4, "blockIdx.x"):
    for j in T.thread_binding(8, "threadIdx.x"):
        B[i, j] = A[i, j]
    for k in T.thread_binding(8, "threadIdx.x"):
        C[i, k] = B[i, k]
""")),
    Row(_UNIFY, "two kernels of other extents", _kernel("""
for i in T.thread_binding(4, "blockIdx.x"):
    B[i, 0] = A[i, 0]
for i in T.thread_binding(2, "blockIdx.x"):
    C[i, 0] = A[i, 0]
""")),
    Row(_UNIFY, "threads without blocks", _kernel("""
for i in T.thread_binding(4, "threadIdx.y"):
    for j in T.thread_binding(8, "threadIdx.x"):
        for k in T.thread_binding(4, "threadIdx.y"):
            B[i, j] = A[k, j]
""")),
    Row(_UNIFY, "other extents of one tag", _kernel("""
for i in T.thread_binding(4, "blockIdx.x"):
    for j in T.thread_binding(8, "threadIdx.x"):
        B[i, j] = A[i, j]
    for k in T.thread_binding(4, "threadIdx.x"):
        C[i, k] = B[i, k]
""")),
    Row(_UNIFY, "annotations on a loop over threads", _kernel("""
for i in T.thread_binding(4, "blockIdx.x", annotations={"note": 1}):
    for j in T.thread_binding(8, "threadIdx.x", annotations={"pragma": 2}):
        B[i, j] = A[i, j]
""")),
    Row(_UNIFY, "annotations on a loop over threads, around a loop", _kernel("""
for i in T.thread_binding(4, "blockIdx.x"):
    for j in T.thread_binding(8, "threadIdx.x", annotations={"pragma": 2}):
        for k in range(3):
            B[i, j] = A[i, k]
""")),
    Row(_UNIFY, "a block", _kernel("""
for i in T.thread_binding(4, "blockIdx.x"):
    for j in T.thread_binding(8, "threadIdx.x"):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for j in T.thread_binding(8, "threadIdx.x"):
        with T.block("twice"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * 2.0
""")),
    Row(_UNIFY, "statements that launch threads", _kernel("""
b = T.launch_thread("blockIdx.x", 4)
t = T.launch_thread("threadIdx.x", 8)
B[b, t] = A[b, t]
""")),
    Row(_UNIFY, "virtual threads", _kernel("""
for b in T.thread_binding(2, "blockIdx.x"):
    for v in T.thread_binding(2, "vthread.x"):
        for t in T.thread_binding(8, "threadIdx.x"):
            B[b * 2 + v, t] = A[b * 2 + v, t]
""")),
    Row(_UNIFY, "a symbolic extent", """
@T.prim_func
def main(n: T.int32, A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.thread_binding(n, "blockIdx.x"):
        for j in T.thread_binding(8, "threadIdx.x"):
            B[i * 8 + j] = A[i * 8 + j]
        for j in T.thread_binding(8, "threadIdx.x"):
            B[i * 8 + j] = B[i * 8 + j] + 1.0
"""),
    Row(_UNIFY, "indices of other types", """
@T.prim_func
def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for i in T.thread_binding(T.int64(4), "blockIdx.x"):
        for j in T.thread_binding(T.int64(8), "threadIdx.x"):
            B[i * T.int64(8) + j] = A[i * T.int64(8) + j]
        for j in T.thread_binding(8, "threadIdx.x"):
            B[j] = B[j] + 1.0
"""),
    Row(_LIFT, "one loop", _kernel("""
for i in range(4):
    for j in T.thread_binding(8, "threadIdx.x"):
        B[i, j] = A[i, j]
""")),
    Row(_LIFT, "two loops inside of a loop", _kernel("""
for b in T.thread_binding(4, "blockIdx.x"):
    for i in range(3):
        for j in T.thread_binding(8, "threadIdx.x"):
            B[b, j] = A[b, j]
        for j in T.thread_binding(8, "threadIdx.x"):
            C[b, j] = B[b, i]
""")),
    Row(_LIFT, "two loops inside of different loops", _kernel("""
for b in T.thread_binding(4, "blockIdx.x"):
    for i in range(3):
        for j in T.thread_binding(8, "threadIdx.x"):
            B[b, j] = A[i, j]
    for j in T.thread_binding(8, "threadIdx.x"):
        for i in range(3):
            C[b, j] = B[i, j]
""")),
    Row(_LIFT, "annotations of both loops", _kernel("""
for b in T.thread_binding(4, "blockIdx.x"):
    for j in T.thread_binding(8, "threadIdx.x", annotations={"first": 1}):
        B[b, j] = A[b, j]
    for j in T.thread_binding(8, "threadIdx.x", annotations={"second": 2}):
        C[b, j] = B[b, j]
""")),
    Row(_LIFT, "blocks", _kernel("""
for b in T.thread_binding(4, "blockIdx.x"):
    for k in T.serial(2):
        for j in T.thread_binding(4, "threadIdx.x"):
            with T.block("copy"):
                vi = T.axis.spatial(4, b)
                vj = T.axis.spatial(8, k * 4 + j)
                B[vi, vj] = A[vi, vj]
    for j in T.thread_binding(4, "threadIdx.x"):
        for k in T.serial(2):
            with T.block("twice"):
                vi = T.axis.spatial(4, b)
                vj = T.axis.spatial(8, k * 4 + j)
                C[vi, vj] = B[vi, vj] * 2.0
""")),
    Row(_SELECT, "a side that reads", _kernel("""
for i, j in T.grid(4, 8):
    B[i, j] = T.Select(j < 7, A[i, j + 1], T.float32(0))
""")),
    Row(_SELECT, "sides that compute", _kernel("""
for i, j in T.grid(4, 8):
    B[i, j] = T.Select(j < 7, T.Cast("float32", i + j), T.exp(T.Cast("float32", j)))
""")),
    Row(_SELECT, "a choice in a side", _kernel("""
for i, j in T.grid(4, 8):
    B[i, j] = T.Select(j < 7, T.Select(i < 2, A[i, j], T.float32(1)), T.float32(0))
""")),
    Row(_SELECT, "a choice that reads in its condition", _kernel("""
for i, j in T.grid(4, 8):
    B[i, j] = T.Select(j < 7, T.Select(A[i, j] < T.float32(2), T.float32(2), T.float32(1)), T.float32(0))
""")),
    Row(_SELECT, "a call with effects", _kernel("""
for i, j in T.grid(4, 8):
    B[i, j] = T.Select(j < 7, T.call_extern("float32", "f", j), T.float32(0))
""")),
    Row(_SELECT, "a pure call", _kernel("""
for i, j in T.grid(4, 8):
    B[i, j] = T.Select(j < 7, T.call_pure_extern("float32", "f", j), T.float32(0))
""")),
    Row(_SELECT, "a choice in an index", _kernel("""
for i, j in T.grid(4, 8):
    B[i, j] = A[i, T.Select(j < 7, j + 1, j)]
""")),
    Row("tir.DecorateDeviceScope()", "a function", _kernel("""
for i, j in T.grid(4, 8):
    B[i, j] = A[i, j]
""")),
]  # fmt: skip
