"""Fifteen small workloads for testing schedules. `WORKLOADS[name]` is a function `main` as TVMScript.

Extents are small and mostly have several prime factors, so that splits both divide and do not; every
workload has at least one feature that a schedule can get wrong: reductions, padding, indirect reads, masks,
symbolic sizes.
"""

from __future__ import annotations

from textwrap import indent

_HEAD = """\
from tvm.script import ir as I, tir as T

@I.ir_module
class Module:
"""


def _module(function: str) -> str:
    return _HEAD + indent(function.strip("\n"), "    ") + "\n"


_MATMUL = """
@T.prim_func
def main(A: T.Buffer((12, 16), "float32"), B: T.Buffer((16, 10), "float32"), D: T.Buffer((12, 10), "float32")):
    C = T.alloc_buffer((12, 10))
    for i, j, k in T.grid(12, 10, 16):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(12, 10):
        with T.block("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))
"""

_BATCH_MATMUL = """
@T.prim_func
def main(A: T.Buffer((3, 6, 8), "float32"), B: T.Buffer((3, 10, 8), "float32"), C: T.Buffer((3, 6, 10), "float32")):
    AT = T.alloc_buffer((3, 6, 8))
    for b, i, k in T.grid(3, 6, 8):
        with T.block("scale"):
            vb, vi, vk = T.axis.remap("SSS", [b, i, k])
            AT[vb, vi, vk] = A[vb, vi, vk] * T.float32(0.5)
    for b, i, j, k in T.grid(3, 6, 10, 8):
        with T.block("batch_matmul"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = T.float32(0)
            C[vb, vi, vj] = C[vb, vi, vj] + AT[vb, vi, vk] * B[vb, vj, vk]
"""

_CONV1D = """
@T.prim_func
def main(X: T.Buffer((2, 3, 12), "float32"), W: T.Buffer((4, 3, 3), "float32"), Y: T.Buffer((2, 4, 12), "float32")):
    P = T.alloc_buffer((2, 3, 14))
    for n, c, i in T.grid(2, 3, 14):
        with T.block("pad"):
            vn, vc, vi = T.axis.remap("SSS", [n, c, i])
            P[vn, vc, vi] = T.if_then_else(1 <= vi and vi < 13, X[vn, vc, vi - 1], T.float32(0))
    for n, f, i, c, r in T.grid(2, 4, 12, 3, 3):
        with T.block("conv"):
            vn, vf, vi, vc, vr = T.axis.remap("SSSRR", [n, f, i, c, r])
            with T.init():
                Y[vn, vf, vi] = T.float32(0)
            Y[vn, vf, vi] = Y[vn, vf, vi] + P[vn, vc, vi + vr] * W[vf, vc, vr]
"""

_CONV2D = """
@T.prim_func
def main(
    X: T.Buffer((1, 9, 9, 3), "float32"),
    W: T.Buffer((3, 3, 3, 4), "float32"),
    B: T.Buffer((4,), "float32"),
    Z: T.Buffer((1, 4, 4, 4), "float32"),
):
    Y = T.alloc_buffer((1, 4, 4, 4))
    for n, h, w, f, r, s, c in T.grid(1, 4, 4, 4, 3, 3, 3):
        with T.block("conv"):
            vn, vh, vw, vf, vr, vs, vc = T.axis.remap("SSSSRRR", [n, h, w, f, r, s, c])
            with T.init():
                Y[vn, vh, vw, vf] = T.float32(0)
            Y[vn, vh, vw, vf] = Y[vn, vh, vw, vf] + X[vn, vh * 2 + vr, vw * 2 + vs, vc] * W[vr, vs, vc, vf]
    for n, h, w, f in T.grid(1, 4, 4, 4):
        with T.block("bias"):
            vn, vh, vw, vf = T.axis.remap("SSSS", [n, h, w, f])
            Z[vn, vh, vw, vf] = Y[vn, vh, vw, vf] + B[vf]
"""

_DEPTHWISE = """
@T.prim_func
def main(X: T.Buffer((4, 8, 8), "float32"), W: T.Buffer((4, 3, 3), "float32"), Z: T.Buffer((4, 8, 8), "float32")):
    P = T.alloc_buffer((4, 10, 10))
    Y = T.alloc_buffer((4, 8, 8))
    for c, h, w in T.grid(4, 10, 10):
        with T.block("pad"):
            vc, vh, vw = T.axis.remap("SSS", [c, h, w])
            P[vc, vh, vw] = T.if_then_else(
                1 <= vh and vh < 9 and 1 <= vw and vw < 9, X[vc, vh - 1, vw - 1], T.float32(0)
            )
    for c, h, w, r, s in T.grid(4, 8, 8, 3, 3):
        with T.block("depthwise"):
            vc, vh, vw, vr, vs = T.axis.remap("SSSRR", [c, h, w, r, s])
            with T.init():
                Y[vc, vh, vw] = T.float32(0)
            Y[vc, vh, vw] = Y[vc, vh, vw] + P[vc, vh + vr, vw + vs] * W[vc, vr, vs]
    for c, h, w in T.grid(4, 8, 8):
        with T.block("relu"):
            vc, vh, vw = T.axis.remap("SSS", [c, h, w])
            Z[vc, vh, vw] = T.max(Y[vc, vh, vw], T.float32(0))
"""

_POOLING = """
@T.prim_func
def main(X: T.Buffer((2, 10, 9), "float32"), Y: T.Buffer((2, 5, 3), "float32")):
    M = T.alloc_buffer((2, 5, 3))
    for c, h, w, r, s in T.grid(2, 5, 3, 2, 3):
        with T.block("pool_max"):
            vc, vh, vw, vr, vs = T.axis.remap("SSSRR", [c, h, w, r, s])
            with T.init():
                M[vc, vh, vw] = T.float32(-100)
            M[vc, vh, vw] = T.max(M[vc, vh, vw], X[vc, vh * 2 + vr, vw * 3 + vs])
    for c, h, w in T.grid(2, 5, 3):
        with T.block("scale"):
            vc, vh, vw = T.axis.remap("SSS", [c, h, w])
            Y[vc, vh, vw] = M[vc, vh, vw] * T.float32(0.25)
"""

_SOFTMAX = """
@T.prim_func
def main(X: T.Buffer((6, 20), "float32"), Y: T.Buffer((6, 20), "float32")):
    M = T.alloc_buffer((6,))
    E = T.alloc_buffer((6, 20))
    S = T.alloc_buffer((6,))
    for i, k in T.grid(6, 20):
        with T.block("maxelem"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.float32(-100)
            M[vi] = T.max(M[vi], X[vi, vk])
    for i, j in T.grid(6, 20):
        with T.block("exp"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = T.exp(X[vi, vj] - M[vi])
    for i, k in T.grid(6, 20):
        with T.block("expsum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + E[vi, vk]
    for i, j in T.grid(6, 20):
        with T.block("norm"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = E[vi, vj] / S[vi]
"""

_LAYERNORM = """
@T.prim_func
def main(
    X: T.Buffer((5, 12), "float32"),
    G: T.Buffer((12,), "float32"),
    B: T.Buffer((12,), "float32"),
    Y: T.Buffer((5, 12), "float32"),
):
    S = T.alloc_buffer((5,))
    Q = T.alloc_buffer((5,))
    for i, k in T.grid(5, 12):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + X[vi, vk]
    for i, k in T.grid(5, 12):
        with T.block("square_sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Q[vi] = T.float32(0)
            Q[vi] = Q[vi] + X[vi, vk] * X[vi, vk]
    for i, j in T.grid(5, 12):
        with T.block("norm"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = (X[vi, vj] - S[vi] * T.float32(0.0833333)) * T.rsqrt(
                Q[vi] * T.float32(0.0833333) - S[vi] * T.float32(0.0833333) * (S[vi] * T.float32(0.0833333))
                + T.float32(0.001)
            ) * G[vj] + B[vj]
"""

_ROW_SUM = """
@T.prim_func
def main(X: T.Buffer((7, 23), "float32"), Y: T.Buffer((7,), "float32")):
    S = T.alloc_buffer((7,))
    for i, k in T.grid(7, 23):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + X[vi, vk]
    for i in range(7):
        with T.block("mean"):
            vi = T.axis.spatial(7, i)
            Y[vi] = S[vi] * T.float32(0.0434783)
"""

_MIDDLE_SUM = """
@T.prim_func
def main(X: T.Buffer((5, 11, 3, 2), "int32"), Y: T.Buffer((5, 3), "int32")):
    for k, i, l, j in T.grid(11, 5, 2, 3):
        with T.block("sum"):
            vk, vi, vl, vj = T.axis.remap("RSRS", [k, i, l, j])
            with T.init():
                Y[vi, vj] = 0
            Y[vi, vj] = Y[vi, vj] + X[vi, vk, vj, vl] * 2
"""

_TRANSPOSES = """
@T.prim_func
def main(X: T.Buffer((4, 6, 10), "float32"), Y: T.Buffer((10, 24), "float32")):
    T1 = T.alloc_buffer((10, 4, 6))
    T2 = T.alloc_buffer((10, 24))
    for i, j, k in T.grid(10, 4, 6):
        with T.block("transpose"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            T1[vi, vj, vk] = X[vj, vk, vi]
    for i, j in T.grid(10, 24):
        with T.block("reshape"):
            vi, vj = T.axis.remap("SS", [i, j])
            T2[vi, vj] = T1[vi, vj // 6, vj % 6]
    for i, j in T.grid(10, 24):
        with T.block("add"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = T2[vi, vj] + T.float32(1)
"""

_GATHER = """
@T.prim_func
def main(X: T.Buffer((9, 8), "float32"), K: T.Buffer((6,), "int32"), Y: T.Buffer((6, 8), "float32")):
    G = T.alloc_buffer((6, 8))
    for i, j in T.grid(6, 8):
        with T.block("gather"):
            vi, vj = T.axis.remap("SS", [i, j])
            G[vi, vj] = X[T.min(T.max(K[vi], 0), 8), vj]
    for i, j in T.grid(6, 8):
        with T.block("double"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = G[vi, vj] * T.float32(2)
"""

_MASKED = """
@T.prim_func
def main(X: T.Buffer((10, 10), "float32"), Y: T.Buffer((10, 10), "float32"), Z: T.Buffer((10,), "float32")):
    L = T.alloc_buffer((10, 10))
    for i, j in T.grid(10, 10):
        with T.block("lower"):
            vi, vj = T.axis.remap("SS", [i, j])
            L[vi, vj] = T.if_then_else(vj <= vi, X[vi, vj], T.float32(0))
    for i0, i1, j in T.grid(3, 4, 10):
        with T.block("copy"):
            vi = T.axis.spatial(10, i0 * 4 + i1)
            vj = T.axis.spatial(10, j)
            T.where(i0 * 4 + i1 < 10)
            Y[vi, vj] = L[vi, vj] * T.float32(2)
    for i, k in T.grid(10, 10):
        with T.block("rowsum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Z[vi] = T.float32(0)
            Z[vi] = Z[vi] + T.Select(vk < vi, L[vi, vk], T.float32(0))
"""

_CHAIN = """
@T.prim_func
def main(X: T.Buffer((8, 15), "float32"), Y: T.Buffer((15,), "float32"), Z: T.Buffer((120,), "float32")):
    A = T.alloc_buffer((8, 15))
    B = T.alloc_buffer((8, 15))
    C = T.alloc_buffer((8, 15))
    for i, j in T.grid(8, 15):
        with T.block("add"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = X[vi, vj] + Y[vj]
    for i, j in T.grid(8, 15):
        with T.block("tanh"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.tanh(A[vi, vj])
    for i, j in T.grid(8, 15):
        with T.block("residual"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * A[vi, vj] + X[vi, vj]
    for i in range(120):
        with T.block("flatten"):
            vi = T.axis.spatial(120, i)
            Z[vi] = C[vi // 15, vi % 15]
"""

_SYMBOLIC = """
@T.prim_func
def main(a: T.handle, B: T.Buffer((16, 10), "float32"), E: T.Buffer((10,), "float32"), d: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 16))
    D = T.match_buffer(d, (n, 10))
    C = T.alloc_buffer((n, 10))
    for i, j, k in T.grid(n, 10, 16):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(n, 10):
        with T.block("bias"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + E[vj]
"""

WORKLOADS: dict[str, str] = {
    name: _module(text)
    for name, text in {
        "matmul": _MATMUL,
        "batch_matmul": _BATCH_MATMUL,
        "conv1d": _CONV1D,
        "conv2d": _CONV2D,
        "depthwise": _DEPTHWISE,
        "pooling": _POOLING,
        "softmax": _SOFTMAX,
        "layernorm": _LAYERNORM,
        "row_sum": _ROW_SUM,
        "middle_sum": _MIDDLE_SUM,
        "transposes": _TRANSPOSES,
        "gather": _GATHER,
        "masked": _MASKED,
        "chain": _CHAIN,
        "symbolic": _SYMBOLIC,
    }.items()
}
"""The workloads by name."""
