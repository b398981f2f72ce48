"""Passes that let copies run ahead of what reads them, and barriers between threads."""

from __future__ import annotations

from ..rows import Row

_PIPELINE = "tir.InjectSoftwarePipeline(); tir.Simplify()"
_ALONE = "tir.InjectSoftwarePipeline()"
_DOUBLE = "tir.InjectDoubleBuffer(); tir.Simplify()"
_DEFAULTS = "TVM 0.27 prints the defaults of the call"
_SYNC = 'tir.ThreadSync("shared")'


def _pipeline(notes: str, body: str, count: str = "16", head: str = "") -> str:
    lines = body.strip().replace("\n", "\n                ")
    return f"""
@T.prim_func
def main(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32"){head}):
    for t in T.thread_binding(16, thread="threadIdx.x"):
        for i in T.serial({count}, annotations={{{notes}}}):
            with T.block("compute"):
                {lines}
"""


def _notes(stages: list[int], orders: list[int], more: str = "") -> str:
    return f'"software_pipeline_stage": {stages}, "software_pipeline_order": {orders}{more}'


_TWO = """
T.reads(A[t, i])
T.writes(C[t, i])
B = T.alloc_buffer((16, 1), scope="shared")
with T.block("load"):
    T.reads(A[t, i])
    T.writes(B[t, 0])
    B[t, 0] = A[t, i] * T.float32(2)
with T.block("store"):
    T.reads(B[t, 0])
    T.writes(C[t, i])
    C[t, i] = B[t, 0] + T.float32(1)
"""
_THREE = """
T.reads(A[t, i])
T.writes(C[t, i])
B = T.alloc_buffer((16, 1), scope="shared")
D = T.alloc_buffer((16, 1), scope="shared")
with T.block("load"):
    T.reads(A[t, i])
    T.writes(B[t, 0])
    B[t, 0] = A[t, i] * T.float32(2)
with T.block("middle"):
    T.reads(B[t, 0])
    T.writes(D[t, 0])
    D[t, 0] = B[t, 0] + T.float32(2)
with T.block("store"):
    T.reads(D[t, 0])
    T.writes(C[t, i])
    C[t, i] = D[t, 0] + T.float32(1)
"""
_PLAIN = """
T.reads(A[t, i])
T.writes(C[t, i])
B = T.alloc_buffer((16, 1), scope="shared")
B[t, 0] = A[t, i] * T.float32(2)
C[t, i] = B[t, 0] + T.float32(1)
"""
_NESTED = """
T.reads(A[t, i])
T.writes(C[t, i])
B = T.alloc_buffer((16, 1), scope="shared")
with T.block("load"):
    T.reads(A[t, i])
    T.writes(B[t, 0])
    B[t, 0] = A[t, i] * T.float32(2)
with T.block("rest"):
    T.reads(B[t, 0])
    T.writes(C[t, i])
    D = T.alloc_buffer((16, 1), scope="local")
    with T.block("middle"):
        T.reads(B[t, 0])
        T.writes(D[t, 0])
        D[t, 0] = B[t, 0] + T.float32(2)
    with T.block("store"):
        T.reads(D[t, 0])
        T.writes(C[t, i])
        C[t, i] = D[t, 0] + T.float32(1)
"""
_WHOLE = """
T.reads(A[0:16, i])
T.writes(C[0:16, i])
B = T.alloc_buffer((16, 2), scope="shared")
with T.block("load"):
    T.reads(A[0:16, i])
    T.writes(B[0:16, 0:2])
    for k in range(2):
        B[t, k] = A[t, i] * T.float32(2)
with T.block("store"):
    T.reads(B[0:16, 0:2])
    T.writes(C[t, i])
    C[t, i] = B[t, 0] + B[15 - t, 1]
"""
_DISJOINT = """
T.reads(A[t, i])
T.writes(C[t, i])
B = T.alloc_buffer((16, 2), scope="shared")
with T.block("load"):
    T.reads(A[t, i])
    T.writes(B[t, 0])
    B[t, 0] = A[t, i]
with T.block("store"):
    T.reads(B[t, 1])
    T.writes(C[t, i])
    C[t, i] = B[t, 1]
"""
_DOUBLED = _TWO.replace('with T.block("load"):', 'with T.block("load"):\n    T.block_attr({"double_buffer_scope": 0})')
_STRIDED = _TWO.replace('(16, 1), scope="shared"', '(16, 1), strides=(8, 1), scope="shared"')
_POINTER = """
T.reads(A[t, i])
T.writes(C[t, i])
B = T.alloc_buffer((16, 2), scope="shared")
with T.block("load"):
    T.reads(A[t, i])
    T.writes(B[0:16, 0:2])
    T.evaluate(T.call_extern("int32", "copy", B.access_ptr("w", offset=t), A[t, i]))
with T.block("store"):
    T.reads(B[0:16, 0:2])
    T.writes(C[t, i])
    C[t, i] = B[t, 0] + B[15 - t, 1]
"""
_ADD = """
T.reads(A[t, i])
T.writes(C[t, i])
B = T.alloc_buffer((16, 1), scope="shared")
D = T.alloc_buffer((16, 1), scope="shared")
with T.block("load"):
    T.reads(A[t, i])
    T.writes(B[t, 0])
    B[t, 0] = A[t, i] * T.float32(2)
with T.block("other"):
    T.reads(A[t, i])
    T.writes(D[t, 0])
    D[t, 0] = A[t, i]
with T.block("store"):
    T.reads(B[t, 0], D[t, 0])
    T.writes(C[t, i])
    C[t, i] = B[t, 0] + D[t, 0]
"""
_INTERLEAVED = """
T.reads(A[t, i])
T.writes(C[t, i])
B = T.alloc_buffer((16, 1), scope="shared")
D = T.alloc_buffer((16, 1), scope="shared")
E = T.alloc_buffer((16, 1), scope="local")
with T.block("load"):
    T.reads(A[t, i])
    T.writes(B[t, 0])
    B[t, 0] = A[t, i] * T.float32(2)
with T.block("first"):
    T.reads(B[t, 0])
    T.writes(E[t, 0])
    E[t, 0] = B[t, 0]
with T.block("other"):
    T.reads(A[t, i])
    T.writes(D[t, 0])
    D[t, 0] = A[t, i]
with T.block("store"):
    T.reads(E[t, 0], D[t, 0])
    T.writes(C[t, i])
    C[t, i] = E[t, 0] + D[t, 0]
"""
_INNER = """
T.reads(A[t, i])
T.writes(C[t, i])
B = T.alloc_buffer((16, 4), scope="shared")
with T.block("load"):
    T.reads(A[t, i])
    T.writes(B[t, 0:4])
    for k in range(4):
        B[t, k] = A[t, i] * T.float32(2)
for j in T.serial(4, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
    with T.block("inner"):
        T.reads(B[t, j])
        T.writes(C[t, i])
        D = T.alloc_buffer((16, 1), scope="local")
        with T.block("middle"):
            T.reads(B[t, j])
            T.writes(D[t, 0])
            D[t, 0] = B[t, j] + T.float32(2)
        with T.block("store"):
            T.reads(D[t, 0])
            T.writes(C[t, i])
            C[t, i] = D[t, 0] + T.float32(1)
"""
_ASYNC = ', "software_pipeline_async_stages": [0]'


def _kernel(body: str) -> str:
    lines = body.strip().replace("\n", "\n    ")
    return f"""
@T.prim_func
def main(A: T.Buffer((128,), "float32"), C: T.Buffer((128,), "float32"), n: T.int32):
    {lines}
"""


_SHARED = """
b = T.launch_thread("blockIdx.x", 1)
B = T.decl_buffer((32,), scope="shared")
t = T.launch_thread("threadIdx.x", 32)
"""
_DB = """
for i in range(100):
    B = T.decl_buffer((4,), scope="shared")
    with T.attr(B.data, "double_buffer_scope", 1):
        for j in range(4):
            B[j] = A[i + j]
    for j in range(4):
        C[j] = B[j] + T.float32(1)
"""


def _sync(body: str) -> str:
    return _kernel(_SHARED + body.strip())


ROWS = [
    Row(_PIPELINE, "two stages", _pipeline(_notes([0, 1], [0, 1]), _TWO)),
    Row(_ALONE, "two stages, not simplified", _pipeline(_notes([0, 1], [0, 1]), _TWO)),
    Row(_PIPELINE, "the stage that reads comes first", _pipeline(_notes([0, 1], [1, 0]), _TWO)),
    Row(_PIPELINE, "one stage", _pipeline(_notes([0, 0], [0, 1]), _TWO)),
    Row(_PIPELINE, "stages far from each other", _pipeline(_notes([0, 3], [0, 1]), _TWO)),
    Row(_PIPELINE, "three stages", _pipeline(_notes([0, 1, 2], [0, 1, 2]), _THREE)),
    Row(_PIPELINE, "three stages, backwards", _pipeline(_notes([0, 1, 2], [2, 1, 0]), _THREE)),
    Row(_PIPELINE, "two statements in one stage", _pipeline(_notes([0, 1, 1], [0, 1, 2]), _THREE)),
    Row(_PIPELINE, "two statements in the first stage", _pipeline(_notes([0, 0, 1], [0, 1, 2]), _THREE)),
    Row(_PIPELINE, "a stage more than between", _pipeline(_notes([0, 0, 2], [0, 1, 2]), _THREE)),
    Row(_PIPELINE, "statements that are no blocks", _pipeline(_notes([0, 1], [0, 1]), _PLAIN)),
    Row(_PIPELINE, "a nested sequence", _pipeline(_notes([0, 1, 1], [0, 1, 2]), _NESTED)),
    Row(_PIPELINE, "a nested sequence in other stages", _pipeline(_notes([0, 1, 2], [0, 1, 2]), _NESTED)),
    Row(_PIPELINE, "regions of several elements", _pipeline(_notes([0, 1], [0, 1]), _WHOLE)),
    Row(_PIPELINE, "regions that are disjoint", _pipeline(_notes([0, 1], [0, 1]), _DISJOINT)),
    Row(_PIPELINE, "two versions by an annotation", _pipeline(_notes([0, 0], [0, 1]), _DOUBLED)),
    Row(_PIPELINE, "two versions by an annotation, backwards", _pipeline(_notes([0, 1], [1, 0]), _DOUBLED)),
    Row(_PIPELINE, "a buffer with strides", _pipeline(_notes([0, 1], [0, 1]), _STRIDED)),
    Row(_PIPELINE, "addresses of buffers", _pipeline(_notes([0, 1], [0, 1]), _POINTER)),
    Row(_PIPELINE, "a loop in the body", _pipeline(_notes([0, 1], [0, 1]), _INNER)),
    Row(_PIPELINE, "another annotation", _pipeline(_notes([0, 1], [0, 1], ', "pragma_x": 1'), _TWO)),
    Row(_PIPELINE, "an unknown number of iterations", _pipeline(_notes([0, 1], [0, 1]), _TWO, "n", ", n: T.int32")),
    Row(_PIPELINE, "an unknown number, far stages", _pipeline(_notes([0, 3], [0, 1]), _TWO, "n", ", n: T.int32")),
    Row(
        _PIPELINE,
        "an unknown start",
        _pipeline(_notes([0, 1], [0, 1]), _TWO, "n, n + 8", ", n: T.int32"),
        reason="TVM leaves a condition that the range of the loop implies",
    ),
    Row(_PIPELINE, "a start", _pipeline(_notes([0, 1], [0, 1]), _TWO, "2, 14")),
    Row(_PIPELINE, "fewer iterations than stages", _pipeline(_notes([0, 3], [0, 1]), _TWO, "2")),
    Row(_PIPELINE, "one iteration", _pipeline(_notes([0, 1], [0, 1]), _TWO, "1")),
    Row(_PIPELINE, "two iterations", _pipeline(_notes([0, 1], [0, 1]), _TWO, "2")),
    Row(_PIPELINE, "asynchronous copies", _pipeline(_notes([0, 1], [0, 1], _ASYNC), _TWO)),
    Row(_PIPELINE, "asynchronous copies, far stages", _pipeline(_notes([0, 3], [0, 1], _ASYNC), _TWO)),
    Row(_PIPELINE, "asynchronous copies, three stages", _pipeline(_notes([0, 1, 2], [0, 1, 2], _ASYNC), _THREE)),
    Row(_PIPELINE, "asynchronous copies of two", _pipeline(_notes([0, 0, 1], [0, 1, 2], _ASYNC), _ADD)),
    Row(_PIPELINE, "asynchronous copies of two, far stages", _pipeline(_notes([0, 0, 3], [0, 1, 2], _ASYNC), _ADD)),
    Row(_PIPELINE, "asynchronous copies between", _pipeline(_notes([0, 1, 0, 2], [0, 1, 2, 3], _ASYNC), _INTERLEAVED)),
    Row(
        _PIPELINE,
        "asynchronous copies between, far stages",
        _pipeline(_notes([0, 3, 0, 3], [0, 1, 2, 3], _ASYNC), _INTERLEAVED),
    ),
    Row(_PIPELINE, "asynchronous copies, after what reads", _pipeline(_notes([0, 3], [1, 0], _ASYNC), _TWO)),
    Row(
        _PIPELINE,
        "asynchronous in two stages",
        _pipeline(_notes([0, 1, 2], [0, 1, 2], ', "software_pipeline_async_stages": [0, 1]'), _THREE),
    ),
    Row(
        _PIPELINE, "asynchronous, unknown number", _pipeline(_notes([0, 1], [0, 1], _ASYNC), _TWO, "n", ", n: T.int32")
    ),
    Row(_PIPELINE, "asynchronous, few iterations", _pipeline(_notes([0, 3], [0, 1], _ASYNC), _TWO, "2")),
    Row(_PIPELINE, "no order", _pipeline('"software_pipeline_stage": [0, 1]', _TWO)),
    Row(_PIPELINE, "no stages", _pipeline('"software_pipeline_order": [0, 1]', _TWO)),
    Row(_PIPELINE, "the same order twice", _pipeline(_notes([0, 1], [0, 0]), _TWO)),
    Row(_PIPELINE, "too few stages", _pipeline(_notes([0], [0, 1]), _TWO)),
    Row(_PIPELINE, "too many orders", _pipeline(_notes([0, 1], [0, 1, 2]), _TWO)),
    Row(_PIPELINE, "a reader in an earlier stage", _pipeline(_notes([1, 0], [0, 1]), _TWO)),
    Row(_PIPELINE, "a reader before in its stage", _pipeline(_notes([0, 0], [1, 0]), _TWO)),
    Row(_PIPELINE, "no sequence", _pipeline(_notes([0], [0]), "C[t, i] = A[t, i]")),
    Row(_DOUBLE, "a copy ahead", _kernel(_DB)),
    Row(_DOUBLE, "two iterations in one", _kernel(_DB), {"tir.InjectDoubleBuffer": {"split_loop": 2}}),
    Row(_DOUBLE, "four iterations in one", _kernel(_DB), {"tir.InjectDoubleBuffer": {"split_loop": 4}}),
    Row(_DOUBLE, "a test in each iteration", _kernel(_DB), {"tir.InjectDoubleBuffer": {"split_loop": 0}}),
    Row(_DOUBLE, "an unknown number of iterations", _kernel(_DB.replace("100", "n"))),
    Row(_DOUBLE, "an odd factor", _kernel(_DB), {"tir.InjectDoubleBuffer": {"split_loop": 3}}),
    Row(
        _DOUBLE,
        "no loop",
        _kernel("""
B = T.decl_buffer((4,), scope="shared")
with T.attr(B.data, "double_buffer_scope", 1):
    B[0] = A[0]
C[0] = B[0]
"""),
    ),
    Row(_DOUBLE, "nothing doubled", _kernel("for i in range(4):\n    C[i] = A[i]")),
    Row(
        "tir.InjectDoubleBuffer(); tir.ThreadSync('shared'); tir.Simplify()",
        "threads",
        _kernel("""
b = T.launch_thread("blockIdx.x", 1)
t = T.launch_thread("threadIdx.x", 4)
for i in range(16):
    B = T.decl_buffer((4,), scope="shared")
    with T.attr(B.data, "double_buffer_scope", 1):
        B[t] = A[i * 4 + t]
    C[t] = B[3 - t] + T.float32(1)
"""),
    ),
    Row(_SYNC, "another thread's element", _sync("B[t] = A[t]\nC[t] = B[31 - t]")),
    Row(_SYNC, "a thread's own element", _sync("B[t] = A[t]\nC[t] = B[t]")),
    Row(_SYNC, "an element that all write", _sync("B[0] = A[t]\nC[t] = B[0]")),
    Row(_SYNC, "a write after reads", _sync("C[t] = B[31 - t]\nB[t] = A[t]")),
    Row(
        _SYNC,
        "two writes, one barrier",
        _sync("B[t] = A[t]\nB[t] = B[t] + T.float32(1)\nC[t] = B[31 - t]\nC[t] = B[0]"),
    ),
    Row(_SYNC, "a loop", _sync("for i in range(4):\n    B[t] = A[i * 32 + t]\n    C[i * 32 + t] = B[31 - t]")),
    Row(_SYNC, "carried by a loop", _sync("for i in range(4):\n    C[i * 32 + t] = B[t]\n    B[31 - t] = A[t]")),
    Row(_SYNC, "a loop that only writes", _sync("for i in range(4):\n    B[i * 8 + t % 8] = A[i]\nC[t] = B[31 - t]")),
    Row(_SYNC, "a branch", _sync("B[t] = A[t]\nif n > 2:\n    C[t] = B[31 - t]")),
    Row(_SYNC, "inside of a branch", _sync("if n > 2:\n    B[t] = A[t]\n    C[t] = B[31 - t]")),
    Row(
        _SYNC,
        "inside of a branch that all threads take",
        _sync("if T.tvm_thread_invariant(n > 2):\n    B[t] = A[t]\n    C[t] = B[31 - t]"),
    ),
    Row(_SYNC, "both sides", _sync("if n > 2:\n    B[t] = A[t]\nelse:\n    B[t] = A[0]\nC[t] = B[31 - t]")),
    Row(_SYNC, "a name", _sync("B[t] = A[t]\nx: T.float32 = B[31 - t]\nC[t] = x")),
    Row(
        _SYNC,
        "a barrier of the program",
        _sync('B[t] = A[t]\nT.evaluate(T.tvm_storage_sync("shared"))\nC[t] = B[31 - t]'),
        reason=_DEFAULTS,
    ),
    Row(
        _SYNC,
        "a barrier of warps",
        _sync('B[t] = A[t]\nT.evaluate(T.tvm_storage_sync("warp"))\nC[t] = B[31 - t]'),
        reason=_DEFAULTS,
    ),
    Row(
        _SYNC,
        "an address",
        _sync('B[t] = A[t]\nT.evaluate(T.call_extern("int32", "f", B.access_ptr("r")))'),
    ),
    Row(
        _SYNC,
        "an address that is written",
        _sync('T.evaluate(T.call_extern("int32", "f", B.access_ptr("w")))\nC[t] = B[t]'),
    ),
    Row(_SYNC, "a vector", _sync("B[T.ramp(t // 4 * 4, 1, 4)] = T.broadcast(A[t], 4)\nC[t] = B[t]")),
    Row(_SYNC, "threads by hand", _sync('with T.attr(0, "hand_threaded", 0):\n    B[t] = A[t]\n    C[t] = B[31 - t]')),
    Row(_SYNC, "a while loop", _sync("B[t] = A[t]\nwhile n > 4:\n    C[t] = B[31 - t]")),
    Row(_SYNC, "another memory", _sync('D = T.decl_buffer((32,), scope="local")\nD[t] = A[t]\nC[t] = D[31 - t]')),
    Row(
        'tir.ThreadSync("shared.dyn")',
        "two buffers of dynamic memory",
        _kernel("""
b = T.launch_thread("blockIdx.x", 1)
t = T.launch_thread("threadIdx.x", 32)
B = T.decl_buffer((32,), scope="shared.dyn")
D = T.decl_buffer((32,), scope="shared.dyn")
B[t] = A[t]
D[t] = A[31 - t]
C[t] = B[31 - t] + D[t]
"""),
    ),
    Row(
        _SYNC,
        "a wait for copies",
        _sync("""
with T.attr(0, "async_commit_queue_scope", 0):
    with T.attr(0, "async_scope", 1):
        B[t] = A[t]
with T.attr(0, "async_wait_queue_scope", 0):
    with T.attr(0, "async_wait_inflight_count", 0):
        C[t] = B[31 - t]
"""),
    ),
    Row(
        _SYNC,
        "kernels one after the other",
        _kernel("""
with T.launch_thread("threadIdx.x", 32) as t:
    B = T.decl_buffer((32,), scope="shared")
    B[t] = A[t]
    C[t] = B[31 - t]
with T.launch_thread("threadIdx.x", 32) as u:
    A[u] = C[31 - u]
"""),
    ),
]
