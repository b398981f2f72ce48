"""What tests of memory passes share: a module's tensor functions, and from the body of a function to a module."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from tirax.script import parse_source

MODULE = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def exp(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(4)))
        B = T.match_buffer(b, (n, T.int64(4)))
        for i, j in T.grid(n, T.int64(4)):
            B[i, j] = T.exp(A[i, j])

    @T.prim_func(private=True)
    def add(a: T.handle, b: T.handle, c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(4)))
        B = T.match_buffer(b, (n, T.int64(4)))
        C = T.match_buffer(c, (n, T.int64(4)))
        for i, j in T.grid(n, T.int64(4)):
            C[i, j] = A[i, j] + B[i, j]

    @T.prim_func(private=True)
    def two(a: T.handle, b: T.handle, c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(4)))
        B = T.match_buffer(b, (n, T.int64(4)))
        C = T.match_buffer(c, (n, T.int64(4)))
        for i, j in T.grid(n, T.int64(4)):
            B[i, j] = A[i, j] + T.float32(1)
            C[i, j] = A[i, j] + T.float32(2)

    @T.prim_func(private=True)
    def double(a: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(4)))
        for i, j in T.grid(n, T.int64(4)):
            A[i, j] = A[i, j] * T.float32(2)

    @T.prim_func(private=True)
    def plus(a: T.handle, b: T.handle, n: T.int64):
        A = T.match_buffer(a, (n, T.int64(4)))
        B = T.match_buffer(b, (n, T.int64(4)))
        for i, j in T.grid(n, T.int64(4)):
            B[i, j] = A[i, j] + T.Cast("float32", n)

"""


@pytest.fixture
def module():
    """`module(text)`: the functions of `text`, indented as in a class, beside the tensor functions of `MODULE`."""

    def make(text: str) -> ModuleOp:
        return parse_source(MODULE + text)

    return make
