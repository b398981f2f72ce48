"""Small programs of all kinds, through every pass that both implementations have."""

from __future__ import annotations

from ..rows import Row

_MAIN = """
@T.prim_func
def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16,), "float32"), n: T.int32):
    {body}
"""


def _main(body: str) -> str:
    return _MAIN.format(body=body.strip().replace("\n", "\n    "))


_BODIES = {
    "copy": """
for i, j in T.grid(16, 16):
    with T.block("b"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj]
""",
    "reduction": """
for i, j in T.grid(16, 16):
    with T.block("b"):
        vi, vj = T.axis.remap("SR", [i, j])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + A[vi, vj]
""",
    "two stages": """
D = T.alloc_buffer((16, 16))
for i in range(16):
    for j in range(16):
        with T.block("d"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = A[vi, vj] + T.float32(1)
    for j in range(16):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = D[vi, vj] * T.float32(2)
""",
    "tiles": """
D = T.alloc_buffer((16, 16))
for io, jo in T.grid(4, 4):
    for ii, ji in T.grid(4, 4):
        with T.block("d"):
            vi = T.axis.spatial(16, io * 4 + ii)
            vj = T.axis.spatial(16, jo * 4 + ji)
            D[vi, vj] = A[vi, vj] + T.float32(1)
    for ii, ji in T.grid(4, 4):
        with T.block("b"):
            vi = T.axis.spatial(16, io * 4 + ii)
            vj = T.axis.spatial(16, jo * 4 + ji)
            B[vi, vj] = D[vi, vj] * T.float32(2)
""",
    "predicate": """
for io, ii in T.grid(4, 5):
    with T.block("b"):
        vi = T.axis.spatial(16, io * 5 + ii)
        T.where(io * 5 + ii < 16)
        C[vi] = A[vi, 0]
""",
    "opaque alloc": """
for i in range(16):
    with T.block():
        T.reads(A[i, 0:16])
        T.writes(B[i, 0:16])
        D = T.alloc_buffer((16, 16))
        for j in range(16):
            with T.block():
                T.reads(A[i, j])
                T.writes(D[i, j])
                D[i, j] = A[i, j] + T.float32(1)
        for j in range(16):
            with T.block():
                T.reads(D[i, j])
                T.writes(B[i, j])
                B[i, j] = D[i, j] * T.float32(2)
""",
    "opaque tile": """
for io in range(4):
    with T.block():
        T.reads(A[io * 4:io * 4 + 4, 0:16])
        T.writes(B[io * 4:io * 4 + 4, 0:16])
        D = T.alloc_buffer((16, 16))
        for ii, j in T.grid(4, 16):
            with T.block():
                T.reads(A[io * 4 + ii, j])
                T.writes(D[io * 4 + ii, j])
                D[io * 4 + ii, j] = A[io * 4 + ii, j] + T.float32(1)
        for ii, j in T.grid(4, 16):
            with T.block():
                T.reads(D[io * 4 + ii, j])
                T.writes(B[io * 4 + ii, j])
                B[io * 4 + ii, j] = D[io * 4 + ii, j] * T.float32(2)
""",
    "opaque padding": """
with T.block():
    T.reads(A[0:16, 0:16])
    T.writes(B[0:16, 0:16])
    D = T.alloc_buffer((20, 20))
    for i, j in T.grid(20, 20):
        with T.block():
            T.reads(A[0:16, 0:16])
            T.writes(D[i, j])
            D[i, j] = T.if_then_else(2 <= i and i < 18 and 2 <= j and j < 18, A[i - 2, j - 2], T.float32(0))
    for i, j in T.grid(16, 16):
        with T.block():
            T.reads(D[i + 1, j + 1])
            T.writes(B[i, j])
            B[i, j] = D[i + 1, j + 1]
""",
    "opaque align": """
with T.block():
    T.reads(A[0:16, 0:16])
    T.writes(B[0:16, 0:16])
    D = T.alloc_buffer((16, 16))
    for i, j in T.grid(16, 16):
        with T.block():
            T.reads(A[i, j])
            T.writes(D[i, j])
            T.block_attr({"buffer_dim_align": [[0, 0, 32, 8]]})
            D[i, j] = A[i, j]
    for i, j in T.grid(16, 16):
        with T.block():
            T.reads(D[i, j])
            T.writes(B[i, j])
            B[i, j] = D[i, j]
""",
    "opaque threads shared": """
for bx in T.thread_binding(4, "blockIdx.x"):
    with T.block():
        T.reads(A[bx * 4:bx * 4 + 4, 0:16])
        T.writes(B[bx * 4:bx * 4 + 4, 0:16])
        D = T.alloc_buffer((16, 16), scope="shared")
        E = T.alloc_buffer((16, 16), scope="local")
        for tx in T.thread_binding(4, "threadIdx.x"):
            for j in range(16):
                with T.block():
                    T.reads(A[bx * 4 + tx, j])
                    T.writes(D[bx * 4 + tx, j])
                    D[bx * 4 + tx, j] = A[bx * 4 + tx, j]
            for j in range(16):
                with T.block():
                    T.reads(D[bx * 4 + tx, j])
                    T.writes(E[bx * 4 + tx, j])
                    E[bx * 4 + tx, j] = D[bx * 4 + tx, j]
            for j in range(16):
                with T.block():
                    T.reads(E[bx * 4 + tx, j])
                    T.writes(B[bx * 4 + tx, j])
                    B[bx * 4 + tx, j] = E[bx * 4 + tx, j]
""",
    "if in loops": """
for i in range(16):
    for j in range(16):
        if i < n:
            B[i, j] = A[i, j]
""",
    "if else": """
for i in range(16):
    for j in range(16):
        if n < 3:
            B[i, j] = A[i, j]
        else:
            B[i, j] = A[j, i]
""",
    "if seq": """
for i in range(16):
    for j in range(16):
        if i < n:
            B[i, j] = A[i, j]
        B[i, j] = B[i, j] + T.float32(1)
""",
    "two ifs": """
for i in range(16):
    for j in range(16):
        if i < n:
            if n < 5:
                B[i, j] = A[i, j]
""",
    "unroll": """
for i in T.unroll(4):
    for j in range(16):
        B[i, j] = A[i, j]
""",
    "unroll 2": """
for i in range(16):
    for j in T.unroll(2):
        B[i, j] = A[i, j + 1]
""",
    "vector": """
for i in range(16):
    for j in T.vectorized(16):
        B[i, j] = A[i, j] + T.float32(1)
""",
    "vector if": """
for i in range(16):
    for j in T.vectorized(16):
        if j < n:
            B[i, j] = A[i, j] + T.float32(1)
""",
    "vector strided": """
for i in T.vectorized(16):
    B[i, 0] = T.exp(A[i, 1]) * C[i]
""",
    "vector const": """
for i in T.vectorized(4):
    C[i] = T.Select(i < 2, A[0, i], T.float32(3))
""",
    "let": """
for i in range(16):
    x: T.int32 = i * 2 + n
    if x < 16:
        C[x] = A[i, 0]
""",
    "no op": """
for i in range(16):
    T.evaluate(0)
for i in range(0):
    C[i] = T.float32(1)
if n < 0:
    T.evaluate(0)
else:
    C[0] = T.float32(0)
C[0] = C[0]
""",
    "split pattern": """
for i in range(256):
    B[i // 16, i % 16] = A[i // 16, i % 16 // 4 * 4 + i % 4]
""",
    "common": """
for i in range(16):
    C[i] = A[i, (n + 3) * 2 % 16] + A[i, (n + 3) * 2 % 8]
""",
    "undef": """
for i in range(16):
    C[i] = T.undef(dtype="float32")
for i in range(16):
    C[i] = A[i, 0]
""",
    "assume": """
for i in range(16):
    T.evaluate(T.assume(n < 16))
    if n < 16:
        C[i] = A[i, 0]
""",
    "thread if": """
bx = T.launch_thread("blockIdx.x", 16)
tx = T.launch_thread("threadIdx.x", 16)
for k in range(4):
    if bx < 7:
        B[bx, tx] = A[bx, k]
""",
    "pragma": """
for i in T.serial(4, annotations={"pragma_auto_unroll_max_step": 16}):
    for j in range(4):
        B[i, j] = A[i, j]
""",
    "unit loops": """
for i, u in T.grid(16, 1):
    with T.block("b"):
        vi, vu = T.axis.remap("SS", [i, u])
        C[vi] = A[vi, vu]
""",
    "annotated block": """
for i in T.serial(16, annotations={"a": 1}):
    with T.block("b"):
        vi = T.axis.spatial(16, i)
        T.block_attr({"pragma_x": 1, "y": "z"})
        C[vi] = A[vi, 0]
""",
}
_OTHERS = {
    "int64": """
@T.prim_func
def main(A: T.Buffer((T.int64(16), T.int64(16)), "float32"), B: T.Buffer((T.int64(16), T.int64(16)), "float32")):
    for i, j in T.grid(T.int64(16), T.int64(16)):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
""",
    "int64 flat": """
@T.prim_func
def main(A: T.Buffer((T.int64(256),), "float32"), B: T.Buffer((T.int64(256),), "float32")):
    for i, j in T.grid(T.int64(16), T.int64(16)):
        B[i * T.int64(16) + j] = A[i * T.int64(16) + j]
""",
}
PROGRAMS = {**{name: _main(body) for name, body in _BODIES.items()}, **_OTHERS}
_PASSES = (
    "LowerInitBlock()", "PlanAndUpdateBufferAllocationLocation()", "ConvertBlocksToOpaque()", "LowerOpaqueBlock()",
    "CompactBufferAllocation()", "UnrollLoop()", "VectorizeLoop()", "HoistIfThenElse()", "RemoveNoOp()",
    "NarrowDataType(32)", "ForceNarrowIndexToInt32()", "RenormalizeSplitPattern()", "RemoveStoreUndef()", "Simplify()",
    "RemoveAssume()", "HoistExpression()", "StorageRewrite()", "InjectVirtualThread()", "AnnotateEntryFunc()",
    "UnifyThreadBinding()", "LiftThreadBinding()", "RewriteUnsafeSelect()", "LoopPartition()",
)  # fmt: skip
_BLOCKS = frozenset(name for name, text in PROGRAMS.items() if "T.block" in text)
_ITERATORS = frozenset(name for name, text in PROGRAMS.items() if "T.axis" in text)
_REASONS: dict[str, dict[str, str]] = {
    "HoistExpression()": {"opaque padding": "a condition of several terms is hoisted term by term"},
    "LowerOpaqueBlock()": {
        "pragma": "a pragma is about no variable, which would be defined inside of it",
        "opaque align": "TVM 0.27 leaves the strides to a later pass",
    },
    "CompactBufferAllocation()": dict.fromkeys(_ITERATORS, "buffers of blocks with iterators are compacted, too"),
    "VectorizeLoop()": {"vector strided": "what is no vector in memory stays a loop"},
    "NarrowDataType(32)": dict.fromkeys(_BLOCKS, "TVM 0.27 ends with a fault on blocks"),
}


def _reason(call: str, name: str) -> str:
    return _REASONS.get(call, {}).get(name, "")


ROWS = [
    Row(f"tir.{call}", name, program, reason=_reason(call, name))
    for call in _PASSES
    for name, program in PROGRAMS.items()
]
