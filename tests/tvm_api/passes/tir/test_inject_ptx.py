"""Copies by CUDA's instructions: what they need, and what remains as it is."""

from __future__ import annotations

import pytest

from tirax import tvm_api as tvm
from tirax.diagnostics import UnsupportedError
from tirax.tvm_api.script import from_source

HEAD = """
from tvm.script import tir as T
@T.prim_func
def f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    t = T.launch_thread("threadIdx.x", 32)
"""
MEMORY = """
    D = T.allocate([64], "float32", "local")
    S = T.decl_buffer((64,), "float32", data=D, scope="local")
"""


def applied(transform, body: str) -> str:
    source = HEAD + "    " + body.strip().replace("\n", "\n    ") + "\n"
    return transform(tvm.IRModule({"f": from_source(source)})).script()


def test_bytes_of_merged_memory_count() -> None:
    text = applied(
        tvm.tir.transform.InjectPTXAsyncCopy(),
        """
D = T.allocate([256], "uint8", "shared.dyn")
S = T.decl_buffer((64,), "float32", data=D, scope="shared.dyn")
with T.attr(0, "async_scope", 1):
    S[t] = A[t]
""",
    )
    assert 'T.ptx_cp_async("float32", D, t * 4, A.data, t, 4)' in text
    assert "async_scope" not in text


def test_scopes_in_scopes() -> None:
    body = 'with T.attr(0, "async_scope", 1):\n    with T.attr(0, "async_scope", 1):\n        B[t] = A[t]'
    with pytest.raises(UnsupportedError, match="Nested async scopes"):
        applied(tvm.tir.transform.InjectPTXAsyncCopy(), body)


@pytest.mark.parametrize("choice", ["t < 16, A[t + 1], T.float32(0)", "t < 16, T.float32(0), A[t + 1]"])
def test_loads_under_a_condition(choice: str) -> None:
    body = MEMORY.replace("\n    ", "\n") + f"S[t] = T.if_then_else({choice})\nB[t] = S[t]"
    text = applied(tvm.tir.transform.InjectPTXLDG32(), body)
    for line in (
        'predicate = T.allocate([1], "bool", "local")',
        'addr = T.allocate([2], "int32", "local")',
        "addr_1[0] = t + 1",
        "addr_1[1] = t",
        "predicate_1[0] = t < 16",
        "S[addr_1[1]] = T.float32(0.0)",
        'T.ptx_ldg32("float32", D, predicate_1[0], A[addr_1[0]], addr_1[1])',
    ):
        assert line in text
    assert from_source(text).script() == text


def test_loads_that_stay() -> None:
    body = MEMORY.replace("\n    ", "\n") + "S[t] = T.if_then_else(t < 16, A[t], T.float32(0))\nB[t] = S[t]"
    assert "ptx" not in applied(tvm.tir.transform.InjectPTXLDG32(False), body)
    plain = MEMORY.replace("\n    ", "\n") + "S[t] = T.if_then_else(t < 16, T.float32(1), T.float32(0))\nB[t] = S[t]"
    assert "ptx" not in applied(tvm.tir.transform.InjectPTXLDG32(), plain)
