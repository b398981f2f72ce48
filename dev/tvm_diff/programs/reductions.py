"""Reductions among threads."""

from __future__ import annotations

from ..rows import Row

_PASS = "tir.LowerCrossThreadReduction()"
_MAIN = """
@T.prim_func
def main(A: T.Buffer((16, 128), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16, 128), "float32")):
    {body}
"""
_SUM = """
{pad}with T.block("s"):
{pad}    vi = T.axis.spatial(16, {i})
{pad}    vk = T.axis.reduce(128, {k})
{pad}    with T.init():
{pad}        B[vi] = T.float32(0)
{pad}    B[vi] = B[vi] + A[vi, vk]"""
_WHERE = "T.where(ko * 32 + ki < 128)\n" + " " * 16


def _main(body: str) -> str:
    return _MAIN.format(body=body.strip("\n").replace("\n", "\n    "))


def _sum(depth: int, i: str = "i", k: str = "k") -> str:
    return _SUM.format(pad="    " * depth, i=i, k=k).strip("\n")


_BODIES = {
    "one loop": f"""
for i in T.thread_binding(16, "blockIdx.x"):
    for k in T.thread_binding(128, "threadIdx.x"):
{_sum(2)}
""",
    "a loop of each thread": f"""
for i in T.thread_binding(16, "blockIdx.x"):
    for ko in range(4):
        for ki in T.thread_binding(32, "threadIdx.x"):
{_sum(3, k="ko * 32 + ki")}
""",
    "a loop of each thread inside": f"""
for i in T.thread_binding(16, "blockIdx.x"):
    for ki in T.thread_binding(32, "threadIdx.x"):
        for ko in range(4):
{_sum(3, k="ko * 32 + ki")}
""",
    "two dimensions of threads": f"""
for i in T.thread_binding(16, "blockIdx.x"):
    for ko in T.thread_binding(4, "threadIdx.y"):
        for ki in T.thread_binding(32, "threadIdx.x"):
{_sum(3, k="ko * 32 + ki")}
""",
    "rows of threads": f"""
for i in T.thread_binding(16, "threadIdx.y"):
    for ki in T.thread_binding(128, "threadIdx.x"):
{_sum(2, k="ki")}
""",
    "no loops of threads": f"""
for i in T.thread_binding(16, "blockIdx.x"):
    for k in range(128):
{_sum(2)}
""",
    "a predicate": f"""
for i in T.thread_binding(16, "blockIdx.x"):
    for ko in range(5):
        for ki in T.thread_binding(32, "threadIdx.x"):
{_sum(3, k="ko * 32 + ki").replace("with T.init", _WHERE + "with T.init")}
""",
    "other threads than those of a block": f"""
for i in range(16):
    for k in T.thread_binding(128, "blockIdx.x"):
{_sum(2)}
""",
    "a loop that is not the innermost": f"""
for k in T.thread_binding(128, "threadIdx.x"):
    for i in range(16):
{_sum(2)}
""",
    "a maximum": f"""
for i in T.thread_binding(16, "blockIdx.x"):
    for k in T.thread_binding(128, "threadIdx.x"):
{_sum(2).replace("T.float32(0)", "T.min_value('float32')").replace("B[vi] + A[vi, vk]", "T.max(B[vi], A[vi, vk])")}
""",
    "a product": f"""
for i in T.thread_binding(16, "blockIdx.x"):
    for k in T.thread_binding(128, "threadIdx.x"):
{_sum(2).replace("T.float32(0)", "T.float32(1)").replace("B[vi] + A[vi, vk]", "B[vi] * A[vi, vk]")}
""",
    "a block that is no reduction of a known form": f"""
for i in T.thread_binding(16, "blockIdx.x"):
    for k in T.thread_binding(128, "threadIdx.x"):
{_sum(2).replace("B[vi] + A[vi, vk]", "B[vi] - A[vi, vk]")}
""",
    "readers of the result": f"""
for i in T.thread_binding(16, "blockIdx.x"):
    for k in T.thread_binding(128, "threadIdx.x"):
{_sum(2)}
    for j in T.thread_binding(128, "threadIdx.x"):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] / B[vi]
""",
    "a reader of the result in one thread": f"""
for i in T.thread_binding(16, "blockIdx.x"):
    for k in T.thread_binding(128, "threadIdx.x"):
{_sum(2)}
    with T.block("copy"):
        vi = T.axis.spatial(16, i)
        C[vi, 0] = B[vi]
""",
    "a reader in another kernel": f"""
for i in T.thread_binding(16, "blockIdx.x"):
    for k in T.thread_binding(128, "threadIdx.x"):
{_sum(2)}
for i in T.thread_binding(16, "blockIdx.x"):
    with T.block("copy"):
        vi = T.axis.spatial(16, i)
        C[vi, 0] = B[vi]
""",
    "memory of a thread": f"""
D = T.alloc_buffer((16,), scope="local")
for i in T.thread_binding(16, "blockIdx.x"):
    for k in T.thread_binding(128, "threadIdx.x"):
{_sum(2).replace("B[", "D[")}
    with T.block("copy"):
        vi = T.axis.spatial(16, i)
        C[vi, 0] = D[vi]
""",
    "another block after it": f"""
for i in T.thread_binding(16, "blockIdx.x"):
    for ko in range(4):
        for ki in T.thread_binding(32, "threadIdx.x"):
{_sum(3, k="ko * 32 + ki")}
        with T.block("copy"):
            vi = T.axis.spatial(16, i)
            C[vi, 0] = A[vi, 0]
""",
    "two writers": f"""
for i in T.thread_binding(16, "blockIdx.x"):
    with T.block("copy"):
        vi = T.axis.spatial(16, i)
        B[vi] = A[vi, 0]
    for k in T.thread_binding(128, "threadIdx.x"):
{_sum(2)}
""",
}
ROWS = [Row(_PASS, name, _main(body)) for name, body in _BODIES.items()]
