"""Passes on loops: partition, unrolling, hoisting."""

from __future__ import annotations

from ..rows import Row

_FUNCTION = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32, m: T.int32):
    {body}
"""


def _function(body: str) -> str:
    return _FUNCTION.format(body=body.strip().replace("\n", "\n    "))


_PARTITION = "tir.LoopPartition()"
_CONST = {"tir.LoopPartition": {"partition_const_loop": True}}
_LOOPS = {
    "an upper bound": """
for i in range(n):
    if T.likely(i < 11):
        B[i] = A[i]
""",
    "a lower bound": """
for i in range(n):
    if T.likely(3 <= i):
        B[i] = A[i]
""",
    "both bounds in two conditions": """
for i in range(n):
    if T.likely(3 <= i):
        if T.likely(i < 20):
            B[i] = A[i]
""",
    "a conjunction": """
for i in range(n):
    if T.likely(3 <= i and i < 20):
        B[i] = A[i]
""",
    "a tile": """
for i, j in T.grid(n, 4):
    if T.likely(i * 4 + j < m):
        B[i * 4 + j] = A[i * 4 + j]
    else:
        B[i * 4 + j] = T.float32(0)
""",
    "an equation": """
for i in range(n):
    if T.likely(i == 5):
        B[i] = A[i]
""",
    "an inequality": """
for i in range(n):
    if T.likely(i != 5):
        B[i] = A[i]
""",
    "a condition of another variable": """
for i in range(n):
    if T.likely(m < 5):
        B[i] = A[i]
""",
    "an unmarked condition": """
for i in range(n):
    if i < 11:
        B[i] = A[i]
""",
    "a choice": """
for i in range(n):
    B[i] = T.Select(T.likely(i < 11), A[i], T.float32(0))
""",
    "an inner loop that depends on the outer one": """
for i in range(n):
    for j in range(i):
        if T.likely(j < 3):
            B[j] = A[i]
""",
    "a loop that starts late": """
for i in range(m, n):
    if T.likely(i < 11):
        B[i] = A[i]
""",
    "a parallel loop": """
for i in T.parallel(n):
    if T.likely(i < 11):
        B[i] = A[i]
""",
    "annotations": """
for i in T.serial(n, annotations={"note": 1}):
    if T.likely(i < 11):
        B[i] = A[i]
""",
    "blocks of threads": """
b = T.launch_thread("blockIdx.x", n)
t = T.launch_thread("threadIdx.x", 4)
if T.likely(b * 4 + t < m):
    B[b * 4 + t] = A[b * 4 + t]
""",
    "threads": """
t = T.launch_thread("threadIdx.x", n)
if T.likely(t < 11):
    B[t] = A[t]
""",
}
_CONSTANT = {
    "a bound": """
for i in range(64):
    if T.likely(i < 60):
        B[i] = A[i]
""",
    "a part of one iteration": """
for i in range(64):
    if T.likely(i < 63):
        B[i] = A[i]
""",
    "a single point": """
for i in range(64):
    if T.likely(i == 5):
        B[i] = A[i]
""",
    "two loops": """
for i, j in T.grid(8, 10):
    if T.likely(i * 10 + j < 64):
        B[i * 10 + j] = A[i * 10 + j]
""",
    "always": """
for i in range(64):
    if T.likely(i < 70):
        B[i] = A[i]
""",
    "never": """
for i in range(64):
    if T.likely(i > 70):
        B[i] = A[i]
""",
    "a negative slope": """
for i in range(64):
    if T.likely(63 - i < 10):
        B[i] = A[i]
""",
    "a quotient": """
for i in range(64):
    if T.likely(i // 4 < 10):
        B[i] = A[i]
""",
    "a remainder": """
for i in range(64):
    if T.likely(i % 4 < 2):
        B[i] = A[i]
""",
}
_HINTED = {
    "a hint": """
for i in T.serial(64, annotations={"pragma_loop_partition_hint": 1}):
    if i < 60:
        B[i] = A[i]
""",
    "a hint without conditions": """
for i in T.serial(64, annotations={"pragma_loop_partition_hint": 1}):
    B[i] = A[i]
""",
    "a hint, conditions that exclude each other": """
for i in T.serial(64, annotations={"pragma_loop_partition_hint": 1}):
    if i < 20:
        B[i] = A[i]
    if 20 <= i and i < 40:
        B[i] = A[i] + T.float32(1)
    if 40 <= i:
        B[i] = A[i] + T.float32(2)
""",
    "a hint, ignored conditions": """
for i in T.serial(64, annotations={"pragma_loop_partition_hint": 1}):
    if T.ignore_loop_partition(i < 20):
        B[i] = A[i]
    if 2 <= i:
        B[i] = A[i] + T.float32(1)
""",
}
_KEPT = {"tir.LoopPartition": {"partition_const_loop": True, "no_unroll_loop_with_extent_one": True}}
_UNROLLED = {"tir.LoopPartition": {"unroll_loop_with_partition_hint_no_interval": True}}
_THEN = "; tir.Simplify(); tir.RemoveNoOp()"
_SUMS = "sums of sizes are in canonical form: `n` for `n - 1 + 1`"
_NOT_FOLDED = frozenset(
    (
        "an upper bound", "both bounds in two conditions", "a tile", "an equation", "an inequality", "a choice",
        "a loop that starts late", "a parallel loop", "annotations", "blocks of threads",
        "an inner loop that depends on the outer one",
    )
)  # fmt: skip
ROWS = [
    *[Row(_PARTITION, n, _function(b), reason=_SUMS if n in _NOT_FOLDED else "") for n, b in _LOOPS.items()],
    *[
        Row(
            _PARTITION + _THEN,
            name,
            _function(body),
        )
        for name, body in _LOOPS.items()
    ],
    *[Row(_PARTITION, f"of constant extent, {name}", _function(body), _CONST) for name, body in _CONSTANT.items()],
    *[Row(_PARTITION + _THEN, f"of constant extent, {n}", _function(b), _CONST) for n, b in _CONSTANT.items()],
    *[
        Row(
            "tir.LowerOpaqueBlock(); " + _PARTITION,
            name,
            _function(body),
            reason="TVM takes the sets of conditions in the order of their addresses" if "exclude" in name else "",
        )
        for name, body in _HINTED.items()
    ],
    *[Row("tir.LowerOpaqueBlock(); " + _PARTITION + _THEN, n, _function(b)) for n, b in _HINTED.items()],
    Row(_PARTITION, "loops of one iteration stay", _function(_CONSTANT["a part of one iteration"]), _KEPT),
    Row(
        "tir.LowerOpaqueBlock(); " + _PARTITION,
        "unrolled without an interval",
        _function("""
for i in T.serial(64, annotations={"pragma_loop_partition_hint": 1}):
    if i % 2 == 0:
        B[i] = A[i]
"""),
        _UNROLLED,
    ),
]
