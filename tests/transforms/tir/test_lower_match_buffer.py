"""A matched buffer may be the source of another one, at any depth, in one block or in nested ones."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

import tirax.tvm_api as tvm
from tirax.interpreter import interpret
from tirax.ir.passes.transform import new_context
from tirax.script.parser.source import ScriptError
from tirax.tvm_api.script import from_source

A = np.arange(32, dtype="float32").reshape(4, 8)
COLUMNS = np.arange(8)
HEAD = """
@T.prim_func
def {name}(A: T.Buffer((4, 8), "float32"), O: T.Buffer((4, 8), "float32")):
    for i in range(4):
        with T.block("w"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi, 0:8])
            T.writes(O[vi, 0:8])
"""
CASES: dict[str, tuple[str, np.ndarray]] = {
    "nested blocks": (
        """
            W = T.match_buffer(A[vi, 0:8], (8,), "float32", offset_factor=1)
            with T.block("inner"):
                T.reads(W[0:8])
                T.writes(O[vi, 0:8])
                V = T.match_buffer(W[0:8], (8,), "float32", offset_factor=1)
                for c in range(8):
                    O[vi, c] = V[7 - c]
        """,
        A[:, ::-1],
    ),
    "a chain of three in one block": (
        """
            W = T.match_buffer(A[vi, 0:8], (8,), "float32", offset_factor=1)
            V = T.match_buffer(W[2:8], (6,), "float32", offset_factor=1)
            U = T.match_buffer(V[1:5], (4,), "float32", offset_factor=1)
            for c in range(8):
                O[vi, c] = U[c % 4] + V[c % 6] + W[c]
        """,
        A[:, 3 + COLUMNS % 4] + A[:, 2 + COLUMNS % 6] + A,
    ),
    "written": (
        """
            P = T.match_buffer(O[vi, 0:8], (8,), "float32", offset_factor=1)
            Q = T.match_buffer(P[4:8], (4,), "float32", offset_factor=1)
            for c in range(4):
                Q[3 - c] = A[vi, c]
            for c in range(4):
                P[c] = A[vi, c + 4]
        """,
        np.concatenate([A[:, 4:], A[:, 3::-1]], 1),
    ),
    "strides are variables": (
        """
            s0 = T.int32()
            s1 = T.int32()
            W = T.match_buffer(A[vi, 0:8], (1, 8), "float32", strides=[s0, s1], offset_factor=1)
            with T.block("inner"):
                T.reads(W[0, 0:8])
                T.writes(O[vi, 0:8])
                t0 = T.int32()
                V = T.match_buffer(W[0, 2:6], (4,), "float32", strides=[t0], offset_factor=1)
                for c in range(8):
                    O[vi, c] = V[c % 4] + T.Cast("float32", s0 * 100 + s1 * 10 + t0)
        """,
        A[:, 2 + COLUMNS % 4] + 811,
    ),
    "offsets are variables": (
        """
            o0 = T.int32()
            W = T.match_buffer(A[vi, 0:8], (1, 8), "float32", elem_offset=o0)
            with T.block("inner"):
                T.reads(W[0, 0:8])
                T.writes(O[vi, 0:8])
                o1 = T.int32()
                V = T.match_buffer(W[0, 2:6], (4,), "float32", elem_offset=o1)
                with T.block("innermost"):
                    o2 = T.int32()
                    U = T.match_buffer(V[1:4], (3,), "float32", elem_offset=o2)
                    for c in range(8):
                        O[vi, c] = U[c % 3] + T.Cast("float32", o0 * 100 + o1 * 10 + o2)
        """,
        A[:, 3 + COLUMNS % 3] + (np.arange(4) * 8 * 111 + 23)[:, None],
    ),
    "extents are variables": (
        """
            n = T.int32()
            m = T.int32()
            W = T.match_buffer(A[vi, 0:8], (n,), "float32", offset_factor=1)
            V = T.match_buffer(W[4:8], (m,), "float32", offset_factor=1)
            for c in range(8):
                O[vi, c] = V[c % m] + T.Cast("float32", n)
        """,
        A[:, 4 + COLUMNS % 4] + 8,
    ),
    "loops between, on both sides": (
        """
            W = T.match_buffer(A[vi, 0:8], (8,), "float32", offset_factor=1)
            for k in range(2):
                with T.block("inner"):
                    vk = T.axis.spatial(2, k)
                    T.reads(W[vk * 4:vk * 4 + 4])
                    T.writes(O[vi, vk * 4:vk * 4 + 4])
                    V = T.match_buffer(W[vk * 4:vk * 4 + 4], (4,), "float32", offset_factor=1)
                    P = T.match_buffer(O[vi, vk * 4:vk * 4 + 4], (4,), "float32", offset_factor=1)
                    for l in range(2):
                        with T.block("innermost"):
                            vl = T.axis.spatial(2, l)
                            U = T.match_buffer(V[vl * 2:vl * 2 + 2], (2,), "float32", offset_factor=1)
                            Q = T.match_buffer(P[vl * 2:vl * 2 + 2], (2,), "float32", offset_factor=1)
                            for c in range(2):
                                Q[c] = U[1 - c]
        """,
        A.reshape(4, 2, 2, 2)[..., ::-1].reshape(4, 8),
    ),
    "vectors": (
        """
            W = T.match_buffer(A[vi, 0:8], (8,), "float32", offset_factor=1)
            V = T.match_buffer(W[4:8], (4,), "float32", offset_factor=1)
            for c in T.vectorized(4):
                O[vi, c] = V[c]
            O[vi, 4:8] = V[0:4]
        """,
        np.concatenate([A[:, 4:]] * 2, 1),
    ),
    "of a local buffer": (
        """
            B = T.alloc_buffer((8,), "float32")
            for c in range(8):
                B[c] = A[vi, c] * T.float32(2)
            W = T.match_buffer(B[0:8], (8,), "float32", offset_factor=1)
            V = T.match_buffer(W[4:8], (4,), "float32", offset_factor=1)
            for c in range(8):
                O[vi, c] = V[c % 4]
        """,
        2 * A[:, 4 + COLUMNS % 4],
    ),
}


def test_regions_of_regions() -> None:
    functions = {
        f"f{k}": from_source(HEAD.format(name=f"f{k}") + text.lstrip("\n"))
        for k, (text, _) in enumerate(CASES.values())
    }
    module = tvm.IRModule(functions)
    run = tvm.build(module, target="llvm")
    for name, (case, (_, want)) in zip(functions, CASES.items(), strict=True):
        assert tvm.ir.structural_equal(from_source(functions[name].script()), functions[name]), case
        native, interpreted = tvm.nd.array(np.zeros_like(A)), np.zeros_like(A)
        run[name](tvm.nd.array(A), native)
        interpret(module, name, [A, interpreted])
        for actual in (native.numpy(), interpreted):
            np.testing.assert_array_equal(actual, want, err_msg=case)


def test_the_dimensions_that_a_region_keeps_are_the_last_ones() -> None:
    text = '            W = T.match_buffer(A[0:4, vi], (4,), "float32", strides=[8], offset_factor=1)\n'
    with pytest.raises(ScriptError, match="the shape is not that of the region"):
        from_source(HEAD.format(name="f") + text + "            O[vi, 0] = W[0]\n")


@pytest.mark.parametrize(
    "region, matched, message",
    [
        ("%i : 4, %i : 1", "[4], f32", "the shape \\[4\\] is not that of the region, \\[4, 1\\]"),
        ("%i : 1, %i : 4", "[2, 2], f32", "is not that of the region"),
        ("%i : 1, %i : 4", "[4], i32", "elements of i32, in the source of f32"),
    ],
)
def test_what_fits_no_region_is_refused(region: str, matched: str, message: str) -> None:
    body = f"%W = tir.match_buffer %A[{region}] : !tir.buffer<{matched}>"
    text = f"tir.func @f(%A: !tir.buffer<[4, 8], f32>, %i: i64) {{\n  {body}\n}}"
    with pytest.raises((VerifyException, ParseError), match=message):
        Parser(new_context(), text).parse_module().verify()
