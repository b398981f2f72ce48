"""A tensor intrinsic: eight elements of a row are updated by one fused multiply-add."""

from tirax.extend import TensorIntrin
from tirax.tvm_api.script import tir as T


@T.prim_func
def described(A: T.Buffer((1,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    with T.block("root"):
        T.reads(C[0:8], A[0], B[0:8])
        T.writes(C[0:8])
        for j in range(8):
            with T.block("update"):
                vj = T.axis.spatial(8, j)
                C[vj] = C[vj] + A[0] * B[vj]


@T.prim_func
def done(A: T.Buffer((1,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    with T.block("root"):
        T.reads(C[0:8], A[0], B[0:8])
        T.writes(C[0:8])
        C[0:8] = T.call_llvm_pure_intrin("float32x8", "llvm.fma", T.Broadcast(A[0], 8), B[0:8], C[0:8])


TensorIntrin.register("row_update_8", described, done)
