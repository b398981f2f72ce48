"""`storage-rewrite` and `share-buffers`: what shares memory means the same, and what each leaves of the buffers."""

import numpy as np
import pytest

from tirax import tvm_api as tvm
from tirax.dialects import tir
from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning, interpret
from tirax.transforms.tir.share_buffers import ShareBuffers
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir import transform as T

HEAD = "from tvm.script import ir as I, tir as T\n@I.ir_module\nclass Module:\n    @T.prim_func\n"
CHAIN = """
        B = T.decl_buffer((16,), "float32")
        C = T.decl_buffer((16,), "float32")
        Unused = T.decl_buffer((16,), "float32")
        for i in range(16):
            B[i] = A[i]
        for i in range(16):
            C[i] = T.float32(2) * B[i]
        for i in range(16):
            D[i] = C[i]
"""
MIXED = """
        for j in range(4):
            X_data = T.allocate([16], "float32", "SCOPE")
            X = T.Buffer((16,), "float32", data=X_data, scope="SCOPE")
            Y_data = T.allocate([4], "int64", "SCOPE")
            Y = T.Buffer((4,), "int64", data=Y_data, scope="SCOPE")
            for i in range(16):
                X[i] = A[i] + T.Cast("float32", j)
            for i in range(4):
                Y[i] = T.Cast("int64", X[i * 4 + 1] * T.float32(10))
            Z_data = T.allocate([40], "int16", "SCOPE")
            Z = T.Buffer((40,), "int16", data=Z_data, scope="SCOPE")
            for i in range(40):
                Z[i] = T.Cast("int16", Y[i % 4] + T.Cast("int64", i))
            for i in range(4):
                D[j * 4 + i] = T.Cast("float32", Z[i * 9])
"""


def program(body):
    return from_source(HEAD + f'    def main(A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")):\n{body}')


def memory(module):
    """The extents of what is allocated."""
    kinds = {
        tir.AllocateOp: lambda op: [e.constant for e in op.extents],
        tir.AllocBufferOp: lambda op: [d.constant for d in op.result.type.dims],
    }
    return [kinds[type(op)](op) for op in module.op.walk() if type(op) in kinds]


def test_a_buffer_stays_at_the_address_that_it_shares():
    before = program(CHAIN)
    shared, merged = T.StorageRewrite()(before), ShareBuffers()(before)
    assert "C = T.decl_buffer((16,), data=B.data)" in shared.script()
    assert memory(shared) == [[16]] and "C = " not in merged.script()
    for after in (shared, merged):
        assert_same_meaning(before.op, after.op)


@pytest.mark.parametrize(("scope", "sizes"), [("global", [[20], [4]]), ("local.L0A", [[28]])])
def test_memory_is_shared_by_elements_of_several_types(scope, sizes):
    before = program(MIXED.replace("SCOPE", scope))
    after = T.StorageRewrite()(before)
    assert memory(after) == sizes
    assert_same_meaning(before.op, after.op)
    a = np.arange(16, dtype="float32")
    want, have = np.zeros((2, 16), "float32")
    interpret(before, "main", [a, want])
    build(after)["main"](a, have)
    np.testing.assert_array_equal(want, have)


def test_a_builder_allocates_between_statements():
    ib = tvm.tir.ir_builder.create()
    out = ib.buffer_ptr(tvm.tir.decl_buffer((4,), "float32", "out"))
    with ib.for_range(0, 4) as i:
        first = ib.allocate("float32", 4, name="first")
        first[i] = 2.0
        second = ib.allocate("int32", 4, name="second")
        second[i] = i
        out[i] = first[i] + second[i].astype("float32")
    module = tvm.IRModule.from_expr(tvm.tir.PrimFunc([out], ib.get()).with_attr("global_symbol", "main"))
    assert "T.handle(" not in module.script().split("def main")[1].split("\n", 1)[1]
    assert_same_meaning(module.op, T.StorageRewrite()(module).op)
