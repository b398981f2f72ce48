"""FlattenBuffer as TVM has it: memory apart from its views, axes between separators, regions, booleans as int8."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import UnsupportedError
from tirax.interpreter import assert_same_meaning
from tirax.tvm_api.script import from_source

HEAD = "from tvm.script import tir as T\n@T.prim_func\ndef main({}):\n"
BUFFERS = 'A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")'
ROWS = {
    "parameters": (BUFFERS, ["for i, j in T.grid(4, 8):", "    B[i, j] = A[i, j]"], ["[i * 8 + j]", "T.Buffer((32,)"]),
    "memory": (
        BUFFERS,
        ["C = T.decl_buffer((1, 8))", "for i, j in T.grid(4, 8):", "    C[0, j] = A[i, j]", "    B[i, j] = C[0, j]"],
        ['T.allocate([8], "float32", "global")', "C_1[j] = "],
    ),
    "strides": (
        BUFFERS,
        ["C = T.decl_buffer((4, 9))", "D = T.Buffer((4, 8), data=C.data, strides=[9, 1])"]
        + ["for i, j in T.grid(4, 8):", "    D[i, j] = A[i, j]", "    B[i, j] = D[i, j]"],
        ["T.allocate([36]", "[i * 9 + j]"],
    ),
    "separators": (
        "",
        ["A = T.alloc_buffer((2, 3, 5, 7), axis_separators=[2])"]
        + ["for i, j, k, l in T.grid(2, 3, 5, 7):", "    T.evaluate(A[i, j, k, l])"],
        ["T.alloc_buffer((6, 35), axis_separators=[1])", "A[i * 3 + j, k * 7 + l]"],
    ),
    "booleans": (
        'A: T.Buffer((8,), "bool"), B: T.Buffer((8,), "bool")',
        ["for i in range(8):", "    B[i] = A[i]"],
        ['T.Cast("int8", T.Cast("bool", A_1[i]))'],
    ),
    "digits of one number": (
        'A: T.Buffer((4, 8), "float32"), B: T.Buffer((32,), "float32")',
        ["for i in range(32):", "    B[i] = A[i // 8, i % 8]"],
        ["B[i] = A_1[i]"],
    ),
    "regions of blocks": (
        BUFFERS,
        [
            "for i, j in T.grid(4, 8):",
            "    with T.block('b'):",
            "        T.reads(A[i, j])",
            "        T.writes(B[i, 0:8])",
        ]
        + ["        B[i, j] = A[i, j]"],
        ["T.reads(A_1[i * 8 + j])", "T.writes(B_1[i * 8:i * 8 + 8])"],
    ),
}


@pytest.mark.parametrize(("parameters", "body", "texts"), ROWS.values(), ids=list(ROWS))
def test_buffers_are_flat(parameters, body, texts):
    source = HEAD.format(parameters) + "".join(f"    {line}\n" for line in body)
    before = tvm.IRModule({"main": from_source(source)})
    after = tvm.tir.transform.FlattenBuffer()(before)
    for text in texts:
        assert text in after.script()
    if parameters and "reads" not in source:
        assert_same_meaning(before.op, after.op)


def test_matched_buffers_are_lowered_before():
    body = ["for i in range(4):", "    with T.block('b'):", "        T.reads(A[i, 0:8])", "        T.writes()"]
    body += ["        C = T.match_buffer(A[i, 0:8], (8,), offset_factor=1)", "        T.evaluate(C[0])"]
    module = tvm.IRModule({"main": from_source(HEAD.format(BUFFERS) + "".join(f"    {line}\n" for line in body))})
    with pytest.raises(UnsupportedError, match="MatchBufferRegion"):
        tvm.tir.transform.FlattenBuffer()(module)


CONSTRAINTS = {
    "an offset": "T.match_buffer(A[i, 0:8], (8,))",
    "a stride": "T.match_buffer(A[i, 0:8], (1, 8), strides=[16, 1], offset_factor=1)",
    "a multiple": "T.match_buffer(A[i, 0:8], (8,), offset_factor=16)",
    "a scope": 'T.match_buffer(A[i, 0:8], (8,), offset_factor=1, scope="shared")',
}


@pytest.mark.parametrize("match", CONSTRAINTS.values(), ids=list(CONSTRAINTS))
def test_what_a_matched_buffer_declares_is_checked(match):
    body = ["for i in range(4):", "    with T.block('b'):", "        T.reads(A[i, 0:8])", "        T.writes()"]
    body += [f"        C = {match}", "        T.evaluate(C.data)"]
    module = tvm.IRModule({"main": from_source(HEAD.format(BUFFERS) + "".join(f"    {line}\n" for line in body))})
    with pytest.raises(UnsupportedError, match="constraint"):
        tvm.tir.transform.LowerMatchBuffer()(module)
