"""Memory of vectors: what is accessed by vectors alone has them for elements, and means the same."""

import numpy as np
import pytest

from tirax.dialects import tir
from tirax.dialects.dtypes import lanes_of
from tirax.interpreter import assert_same_meaning, interpret
from tirax.transforms.tir.share_buffers import ShareBuffers
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir import transform as T

HEAD = "from tvm.script import ir as I, tir as T\n@I.ir_module\nclass Module:\n    @T.prim_func\n"
PARAMS = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")'
OWN = """
        C_data = T.allocate([16], "float32", "global")
        C = T.decl_buffer((16,), "float32", data=C_data)
        for i in range(4):
            C[i * 4 : i * 4 + 4] = A[i * 4 : i * 4 + 4] + A[0:4]
"""
READ = OWN + "        for i in range(4):\n            B[i] = C[i * 4 + 1] + C[i * 4 + 3] * C[6]\n"


def program(body, params=PARAMS):
    return from_source(HEAD + f"    def main({params}):\n" + body)


def widths(module):
    """The lanes of the elements of parameters and of memory."""
    function = next(op for op in module.op.walk() if isinstance(op, tir.FuncOp))
    own = [op.dtype for op in module.op.walk() if isinstance(op, tir.AllocateOp)]
    return [lanes_of(t) for t in (*(p.type.dtype for p in function.params), *own)]


def test_own_memory_and_parameters():
    before = program(READ)
    after = T.PointerValueTypeRewrite()(before)
    assert widths(after) == [4, 1, 4]
    A, B = np.random.default_rng(0).random((2, 16), "float32")
    x, y = B.copy(), B.copy()
    interpret(before, "main", [A, x])
    interpret(after, "main", [A.reshape(4, 4), y])
    np.testing.assert_array_equal(x, y)


def test_storage_rewrite_leaves_parameters_and_single_reads():
    vectors = OWN + "        for i in range(4):\n            B[i * 4 : i * 4 + 4] = C[i * 4 : i * 4 + 4]\n"
    for body, expected in ((READ, [1, 1, 1]), (vectors, [1, 1, 4])):
        before = program(body)
        after = T.StorageRewrite()(before)
        assert widths(after) == expected
        assert_same_meaning(before.op, after.op)
        assert widths(ShareBuffers()(before)) == [1, 1, 1]


def test_a_name_for_an_address():
    body = """
        h: T.handle("float32") = T.address_of(A[0])
        C = T.decl_buffer((16,), "float32", data=h)
        for i in range(2):
            B[i * 8 : i * 8 + 8] = C[i * 8 : i * 8 + 8]
"""
    before = program(body)
    after = T.StorageRewrite()(before)
    assert any(isinstance(op, tir.LetOp) and lanes_of(op.result.type.dtype) == 8 for op in after.op.walk())
    assert 'h: T.handle("float32x8", "global") = T.address_of(A[0])' in after.script()
    assert_same_meaning(before.op, after.op)


STAY = {
    "vectors of two widths": "B[0:4] = A[0:4]\n        B[0:8] = A[8:16]",
    "vectors that begin elsewhere": "B[0:4] = A[2:6]\n        B[2:6] = A[0:4]\n        B[0] = A[1]",
    "every second element": "B[T.Ramp(0, 2, 4)] = A[T.Ramp(0, 2, 4)]",
    "single elements": "for i in range(16):\n            B[i] = A[i]",
    "addresses": "T.evaluate(T.address_of(A[0]))\n        T.evaluate(T.address_of(B[0]))\n        B[0:4] = A[0:4]",
}


@pytest.mark.parametrize("body", STAY.values(), ids=list(STAY))
def test_stays(body):
    assert widths(T.PointerValueTypeRewrite()(program("        " + body))) == [1, 1]


def test_extents_are_multiples():
    params = 'A: T.Buffer((18,), "float32"), B: T.Buffer((18,), "float32")'
    assert widths(T.PointerValueTypeRewrite()(program("        B[0:4] = A[4:8]", params))) == [1, 1]
