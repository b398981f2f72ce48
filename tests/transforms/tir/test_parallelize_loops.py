"""`parallelize-loops`: which loops run on several threads, and that results stay the same when they do."""

import numpy as np
import pytest
from strength import thinned

import tirax.tvm_api as tvm
from tirax.dialects import tir
from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning
from tirax.lowering.tir_to_scf import outline
from tirax.runtime import set_num_threads
from tirax.transforms.tir import parallelize_loops
from tirax.transforms.tir.parallelize_loops import ParallelizeLoops
from tirax.tvm_api import te, topi
from tirax.tvm_api.script import from_source

HEAD = """from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def main(a: T.handle, y: T.handle):
        T.func_attr(ATTRS)
        n = T.int64()
        A = T.match_buffer(a, (n, 64), "float32")
        Y = T.match_buffer(y, (n, 64), "float32")
"""


def module(body, attrs='{"tir.noalias": True}'):
    return from_source(HEAD.replace("ATTRS", attrs) + body)


def parallel_loops(mod, cores=8):
    changed = ParallelizeLoops(f"llvm -num-cores={cores}")(mod)
    ops = [op for op in changed.op.walk() if isinstance(op, tir.ForOp) and op.kind is tir.ForKind.PARALLEL]
    return [op.loop_var.name_hint for op in ops]


ROWS = """
        for i in range(n):
            for j in range(64):
                Y[i, j] = A[i, j] + T.float32(1)
"""
CASES = {
    "rows": (ROWS, ["i"]),
    "either of two branches": ("""
        if n >= 24:
            for i in range(n):
                for j in range(64):
                    Y[i, j] = A[i, j]
        else:
            for few in range(n):
                for j in range(64):
                    Y[few, j] = A[few, j] * T.float32(2)
""", ["i", "few"]),
    "columns, where rows depend on each other": ("""
        for i in range(n - 1):
            for j in range(64):
                Y[i + 1, j] = Y[i, j] + A[i, j]
""", ["j"]),
    "pairs of rows": ("""
        for i in range(n // 2):
            for j in range(64):
                Y[i * 2, j] = A[i * 2 + 1, j]
                Y[i * 2 + 1, j] = A[i * 2, j]
""", ["i"]),
    "parts of rows by their addresses": ("""
        for line in range(n * 4):
            for i in range(16):
                Y[(line * 16 + i) // 64, (line * 16 + i) % 64] = A[(line * 16 + i) // 64, (line * 16 + i) % 64]
""", ["line"]),
    "parts of rows that overlap by their addresses": ("""
        for line in range(n * 4 - 1):
            for i in range(17):
                Y[(line * 16 + i) // 64, (line * 16 + i) % 64] = A[line // 4, i]
""", []),
    "rows that overlap": ("""
        for i in range(n - 1):
            for j in range(64):
                Y[i, j] = A[i, j]
                Y[i + 1, j] = A[i, j]
""", ["j"]),
    "a sum over rows": ("""
        for i in range(n):
            for j in range(64):
                Y[0, j] = Y[0, j] + A[i, j]
""", ["j"]),
    "few tiles around many rows": ("""
        for t in range(2):
            for i in range(n):
                for j in range(32):
                    Y[i, t * 32 + j] = A[i, t * 32 + j]
""", ["i"]),
    "a loop that is not the only statement": ("""
        for i in range(n):
            B = T.alloc_buffer((64,), "float32")
            for j in range(64):
                B[j] = A[i, j]
            for j in range(64):
                Y[i, j] = B[63 - j]
""", ["i"]),
    "places that are computed": ("""
        for i in range(n):
            Y[T.cast(A[i, 0], "int64"), 0] = A[i, 1]
""", []),
    "a few iterations of constant work": ("""
        for i in range(8):
            Y[0, i] = A[0, i]
""", []),
    "a buffer that all iterations use": ("""
        B = T.alloc_buffer((64,), "float32")
        for i in range(n):
            for j in range(64):
                B[j] = A[i, j]
            for k in range(64):
                Y[i, k] = B[63 - k]
""", ["j", "k"]),
    "a call": ("""
        for i in range(n):
            T.evaluate(T.call_extern("int32", "rand"))
            Y[i, 0] = A[i, 0]
""", []),
    "an annotated loop": ("""
        for i in T.serial(n, annotations={"keep": 1}):
            for j in range(64):
                Y[i, j] = A[i, j]
""", []),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_which_loops_run_on_several_threads(monkeypatch, name):
    body, expected = CASES[name]
    if "few iterations" not in name:
        monkeypatch.setattr(parallelize_loops, "_SMALL", 0)
    assert parallel_loops(module(body)) == expected


@pytest.mark.parametrize("attrs", ["{}", '{"tir.noalias": True, "tir.is_scheduled": True}'])
def test_functions_that_are_left_alone(attrs):
    assert parallel_loops(module(ROWS, attrs)) == []


def test_two_cores_take_two_tiles():
    body, _ = CASES["few tiles around many rows"]
    assert parallel_loops(module(body), cores=2) == ["t"]


def test_the_meaning_stays():
    for body, _ in CASES.values():
        if "call_extern" not in body and "cast" not in body:
            mod = module(body)
            assert_same_meaning(mod.op, ParallelizeLoops()(mod).op)


@pytest.fixture
def every_loop_on_four_threads(monkeypatch):
    monkeypatch.setattr(outline, "_WORK_WORTH_A_THREAD", 1)
    monkeypatch.setattr(parallelize_loops, "_SMALL", 0)
    set_num_threads(4)
    yield
    set_num_threads(None)


def _matmul(n):
    a, b = te.placeholder((n, 50), name="a"), te.placeholder((50, 70), name="b")
    return [a, b, topi.nn.relu(topi.matmul(a, b))]


def _softmax(n):
    a = te.placeholder((n, 37), name="a")
    return [a, topi.nn.softmax(a)]


def _column_sum(n):
    a = te.placeholder((n, 37), name="a")
    return [a, topi.sum(a, axis=0)]


def _conv2d(n):
    a, w = te.placeholder((n, 9, 9, 8), name="a"), te.placeholder((3, 3, 8, 20), name="w")
    return [a, w, topi.nn.conv2d_nhwc(a, w, 1, 1, 1)]


@thinned("program", [_matmul, _softmax, _column_sum, _conv2d], 2)
def test_results_do_not_depend_on_threads(every_loop_on_four_threads, program):
    rng = np.random.default_rng(3)
    mod = tvm.IRModule({"main": te.create_prim_func(program(te.var("n", "int64")))})
    many, alone = build(mod, "llvm"), build(mod, "llvm -num-cores=1")
    for n in (0, 1, 2, 13, 40):
        shapes = [_shape(t) for t in program(n)]
        *inputs, result = [rng.standard_normal(shape).astype("float32") for shape in shapes]
        again = np.array(result)
        many["main"](*inputs, result)
        alone["main"](*inputs, again)
        np.testing.assert_array_equal(result, again)


def _shape(tensor):
    return [int(extent) for extent in tensor.shape]
