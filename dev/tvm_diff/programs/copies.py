"""Passes that copy by instructions of CUDA, and that place shared memory."""

from __future__ import annotations

from ..rows import Row

_COPY = "tir.InjectPTXAsyncCopy()"
_LOAD = "tir.InjectPTXLDG32()"


def _kernel(body: str, dtype: str = "float32", scope: str = "shared") -> str:
    lines = body.strip().replace("\n", "\n    ")
    return f"""
@T.prim_func
def main(A: T.Buffer((1024,), "{dtype}"), B: T.Buffer((1024,), "{dtype}")):
    t = T.launch_thread("threadIdx.x", 32)
    S = T.decl_buffer((1024,), "{dtype}", scope="{scope}")
    {lines}
"""


def _async(stored: str, at: str = "t", **options: str) -> str:
    return _kernel(f'with T.attr(0, "async_scope", 1):\n    S[{at}] = {stored}\nB[t] = S[t]', **options)


ROWS = [
    Row(_COPY, "a copy", _async("A[t]")),
    Row(_COPY, "a copy to dynamic memory", _async("A[t]", scope="shared.dyn")),
    Row(_COPY, "a copy to local memory", _async("A[t]", scope="local")),
    Row(_COPY, "no copy", _async("A[t] + T.float32(1)")),
    Row(_COPY, "no scope", _kernel("S[t] = A[t]\nB[t] = S[t]")),
    Row(_COPY, "two bytes", _async("A[t]", dtype="float16")),
    Row(_COPY, "four halves", _async("A[T.Ramp(t * 4, 1, 4)]", "T.Ramp(t * 4, 1, 4)", dtype="float16")),
    Row(_COPY, "eight halves", _async("A[T.Ramp(t * 8, 1, 8)]", "T.Ramp(t * 8, 1, 8)", dtype="float16")),
    Row(_COPY, "three numbers", _async("A[T.Ramp(t * 3, 1, 3)]", "T.Ramp(t * 3, 1, 3)")),
    Row(_COPY, "eight numbers", _async("A[T.Ramp(t * 8, 1, 8)]", "T.Ramp(t * 8, 1, 8)")),
    Row(_COPY, "a condition", _async("T.if_then_else(t < 16, A[t], T.float32(0))")),
    Row(_COPY, "a condition, else another number", _async("T.if_then_else(t < 16, A[t], T.float32(1))")),
    Row(
        _COPY,
        "a condition on a vector",
        _async("T.if_then_else(t < 16, A[T.Ramp(t * 4, 1, 4)], T.Broadcast(T.float32(0), 4))", "T.Ramp(t * 4, 1, 4)"),
    ),
    Row(_COPY, "an integer", _async("A[t]", dtype="int32")),
    Row(_LOAD, "nothing allocated", _kernel("S[t] = T.if_then_else(t < 16, A[t], T.float32(0))\nB[t] = S[t]")),
]
