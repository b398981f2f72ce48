"""Operations and bytes of tensor functions, counted by hand."""

import pytest

from tirax.dialects import tir
from tirax.lowering.host.cost import cost_of
from tirax.script import parse_source
from tirax.transforms.tir.analysis import estimate_tir_flops

HEAD = """
from tvm.script import tir as T
@T.prim_func
def f(a: T.handle, b: T.handle, i: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 32), "float32")
    B = T.match_buffer(b, (n, 32), "float32")
    I = T.match_buffer(i, (16,), "int64")
"""
BODIES = {
    "add": ("for i, j in T.grid(n, 32):\n B[i, j] = A[i, j] + T.float32(1)", 32, 2 * 32 * 4),
    "in place": ("for i, j in T.grid(n, 32):\n B[i, j] = B[i, j] * T.float32(2)", 32, 2 * 32 * 4),
    "written first": (
        "for i, j in T.grid(n, 32):\n B[i, j] = T.float32(0)\n B[i, j] = B[i, j] + A[i, j]", 32, 2 * 32 * 4
    ),
    "the longer branch": (
        "for i, j in T.grid(n, 32):\n if j < 4:\n  B[i, j] = A[i, j] * A[i, j] + A[i, j]\n else:\n  B[i, j] = A[i, j]",
        64, 2 * 32 * 4,
    ),
    "a row": ("for j in range(32):\n B[0, j] = A[0, j]", 0, None),
    "a triangle": ("for i in range(n):\n for j in range(i):\n  B[i, j] = A[i, j] + T.float32(1)", None, None),
}  # fmt: skip


def cost(body):
    lines = "\n".join("    " + line for line in body.split("\n"))
    module = parse_source(HEAD + lines + "\n")
    (func,) = [op for op in module.ops if isinstance(op, tir.FuncOp)]
    return cost_of(func), module


def at(expr, n):
    assert {str(v.name) for v in expr.free_vars()} <= {"n"}
    return expr.evaluate({"n": n})


@pytest.mark.parametrize("name", [n for n, (_, o, b) in BODIES.items() if b is not None])
@pytest.mark.parametrize("n", [0, 1, 7])
def test_counts_of_rows(name, n):
    body, operations, bytes = BODIES[name]
    estimate, _ = cost(body)
    assert (at(estimate.operations, n), at(estimate.bytes, n)) == (operations * n, bytes * n)


def test_what_is_touched_is_less_than_the_buffer():
    estimate, _ = cost(BODIES["a row"][0])
    assert [at(estimate.bytes, n) for n in (0, 1, 9)] == [0, 2 * 32 * 4, 2 * 32 * 4]


def test_a_loop_within_a_loop_counts_as_its_longest():
    estimate, _ = cost(BODIES["a triangle"][0])
    assert [at(estimate.operations, n) for n in (1, 5)] == [0, 5 * 4]


def test_gathered_rows_are_counted_and_not_the_table():
    estimate, _ = cost("for i, j in T.grid(16, 32):\n B[i, j] = A[I[i], j]")
    assert at(estimate.bytes, 1000) == 2 * 16 * 32 * 4 + 16 * 8


def test_as_many_operations_as_the_estimate_for_fixed_extents():
    source = """
from tvm.script import tir as T
@T.prim_func
def mm(A: T.Buffer((8, 16), "float32"), B: T.Buffer((16, 24), "float32"), C: T.Buffer((8, 24), "float32")):
    for i, j, k in T.grid(8, 24, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
    module = parse_source(source)
    (func,) = [op for op in module.ops if isinstance(op, tir.FuncOp)]
    estimate = cost_of(func)
    assert estimate.operations.constant == estimate_tir_flops(module) == 2 * 8 * 16 * 24
    assert estimate.bytes.constant == 4 * (8 * 16 + 16 * 24 + 8 * 24)
