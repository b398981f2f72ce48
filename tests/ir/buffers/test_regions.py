"""Regions of blocks whose indices are computed from variables of inner loops."""

import tirax.tvm_api as tvm  # noqa: F401 (the names that scripts use)
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import tir as T


@I.ir_module
class Program:
    @T.prim_func
    def main(
        A: T.Buffer((T.int64(16), T.int64(8)), "float32"),
        X: T.Buffer((8,), "int32"),
        B: T.Buffer((T.int64(16), T.int64(4)), "float32"),
    ):
        for i in range(16):
            with T.block("casts"):
                vi = T.axis.spatial(16, i)
                for k in range(4):
                    B[T.Cast("int64", vi), T.Cast("int64", k)] = A[T.Cast("int64", vi), T.Cast("int64", k) + T.int64(2)]
        for i in range(16):
            with T.block("loads"):
                vi = T.axis.spatial(16, i)
                for k in range(4):
                    B[T.Cast("int64", vi), T.Cast("int64", X[k])] = T.float32(0)
        for i in range(16):
            with T.block("digits"):
                vi = T.axis.spatial(16, i)
                for k in range(4):
                    B[vi, k % 4] = A[k // 2 * k, (k + 8) % 8] + A[vi, k % 3]


def regions():
    lines = [line.strip() for line in Program.script().splitlines()]
    return [line for line in lines if line.startswith(("T.reads", "T.writes"))]


def test_casts_and_loads_of_inner_loops_are_relaxed_and_stay_where_they_are():
    assert regions() == [
        'T.reads(A[T.Cast("int64", vi), T.int64(2):T.int64(6)])',
        'T.writes(B[T.Cast("int64", vi), T.int64(0):T.int64(4)])',
        "T.reads(X[0:4])",
        'T.writes(B[T.Cast("int64", vi), T.int64(0):T.int64(4)])',
        "T.reads(A[T.int64(0):T.int64(16), 0:4])",
        "T.writes(B[vi, 0:4])",
    ]
