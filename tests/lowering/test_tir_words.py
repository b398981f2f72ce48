"""What the language has, one small program for each: text, MLIR text, interpreter, machine code."""

import ml_dtypes
import numpy as np
import pytest
from test_tir_language import check_meaning, parsed

import tirax.tvm_api as tvm
from tirax.driver.pipelines import make_passes
from tirax.interpreter import interpret
from tirax.script import parse_source, print_script
from tirax.tvm_api import tir
from tirax.tvm_api.script import from_source

RNG = np.random.default_rng(0)
FLOATS = RNG.standard_normal(16).astype("float32")
INTS = RNG.integers(-100, 100, 16).astype("int32")
BYTES = RNG.integers(0, 256, 16).astype("uint8")
PLACES = np.arange(16)


def head(dtype):
    return f'@T.prim_func\ndef f(A: T.Buffer((16,), "{dtype}"), B: T.Buffer((16,), "{dtype}")):\n'


def bits(x):
    clz = np.array([32 - int(v).bit_length() if v >= 0 else 0 for v in x])
    ones = np.array([bin(int(v) & 0xFFFFFFFF).count("1") for v in x])
    return (((x & 7) | (x ^ 3)) + (~x << 1) - (x >> 2) + ones + clz).astype("int32")


PROGRAMS = {
    "bfloat16": ("""
        for i in T.vectorized(16):
            B[i] = A[i] * T.bfloat16(2) + T.bfloat16(1)
        """, FLOATS.astype(ml_dtypes.bfloat16), FLOATS.astype(ml_dtypes.bfloat16) * ml_dtypes.bfloat16(2) + 1),
    "float16": ("""
        for i in range(16):
            B[i] = T.max(A[i], T.float16(0)) * T.float16(2)
        """, FLOATS.astype("float16"), np.maximum(FLOATS.astype("float16"), 0) * np.float16(2)),
    "a constant buffer of bools": ("""
        K = T.allocate_const([True, False, True, True], "bool", [4])
        for i in range(16):
            B[i] = T.Select(K[i % 4], A[i], T.float32(0))
        """, FLOATS, np.where(PLACES % 4 == 1, 0, FLOATS)),
    "buffers of bools": ("""
        C = T.alloc_buffer((16,), "bool")
        for i in range(16):
            C[i] = not A[i]
        for i in range(16):
            B[i] = C[i] or (A[i] and i > 3)
        """, FLOATS > 0, (FLOATS <= 0) | (PLACES > 3)),
    "an assertion around statements": ("""
        with T.Assert(A[0] < T.float32(100), "large"):
            for i in range(16):
                B[i] = A[i]
        """, FLOATS, FLOATS),
    "lets of both kinds": ("""
        for i in range(16):
            with T.LetStmt(A[i] * T.float32(2)) as x:
                y: T.float32 = x + x
                B[i] = y
        """, FLOATS, FLOATS * 4),
    "a let of a variable": ("""
        for i in range(16):
            x = T.int32()
            with T.let(x, A[i] * 2):
                B[i] = x
        """, INTS, INTS * 2),
    "loops of each kind": ("""
        for i in T.serial(0, 16, annotations={"k": 1}):
            B[i] = T.float32(0)
        for i in T.serial(2, 10):
            B[i] = A[i]
        for i in T.unroll(10, 12):
            B[i] = A[i]
        for i in T.thread_binding(4, thread="threadIdx.x"):
            B[i + 12] = A[i]
        """, FLOATS, np.concatenate([np.zeros(2, "float32"), FLOATS[2:12], FLOATS[:4]])),
    "bits": ("""
        for i in range(16):
            B[i] = ((A[i] & 7) | (A[i] ^ 3)) + (~A[i] << 1) - (A[i] >> 2) + T.popcount(A[i]) + T.clz(A[i])
        """, INTS, bits(INTS)),
    "leading zeros are an int32": ("""
        for i in T.vectorized(16):
            B[i] = T.Cast("int64", T.clz(A[i]) - 64)
        """, INTS.astype("int64"), np.array([-int(v).bit_length() if v >= 0 else -64 for v in INTS])),
    "unsigned arithmetic": ("""
        for i in range(16):
            B[i] = A[i] * T.uint8(3) - T.uint8(200) // (A[i] % T.uint8(7) + T.uint8(1))
        """, BYTES, BYTES * np.uint8(3) - np.uint8(200) // (BYTES % np.uint8(7) + np.uint8(1))),
    "branches": ("""
        for i in range(16):
            if A[i] > 10:
                B[i] = 1
            elif -5 < A[i] <= 5:
                B[i] = 2
            else:
                B[i] = 3
        """, INTS, np.where(INTS > 10, 1, np.where((INTS > -5) & (INTS <= 5), 2, 3)).astype("int32")),
    "nested blocks": ("""
        for io in range(4):
            with T.block("outer"):
                vo = T.axis.spatial(4, io)
                for ii in range(4):
                    with T.block("inner"):
                        vi = T.axis.spatial(16, vo * 4 + ii)
                        T.block_attr({"x": [1, 2]})
                        B[vi] = A[vi] + T.float32(1)
        """, FLOATS, FLOATS + 1),
    "attributes of a function": ("""
        T.func_attr({"a": {"b": [1, T.bool(True)]}, "c": T.float32(1), "d": "s"})
        for i in range(16):
            B[i] = A[i]
        """, FLOATS, FLOATS),
    "vectors of a buffer": ("""
        for i in range(4):
            B[i * 4:i * 4 + 4] = A.vload([i * 4], "float32x4") + T.Broadcast(T.float32(1), 4)
        """, FLOATS, FLOATS + 1),
    "limits": ("""
        for i in range(16):
            B[i] = T.max(A[i], T.min_value("int32")) + T.Cast("int32", T.max_value("int8"))
        """, INTS, INTS + 127),
    "a root block with annotations": ("""
        with T.block("root"):
            T.reads()
            T.writes()
            T.block_attr({"pragma": 16})
            C = T.alloc_buffer((16,))
            for i in range(16):
                with T.block("C"):
                    vi = T.axis.spatial(16, i)
                    C[vi] = A[vi] * T.float32(2)
            for i in range(16):
                with T.block("B"):
                    vi = T.axis.spatial(16, i)
                    B[vi] = C[vi] + T.float32(1)
        """, FLOATS, FLOATS * 2 + 1),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    text, inputs, expected = PROGRAMS[name]
    expected = np.asarray(expected).astype(inputs.dtype)
    dtype = "bfloat16" if inputs.dtype == ml_dtypes.bfloat16 else str(inputs.dtype)
    module = parsed(text, head(dtype))
    if inputs.dtype.itemsize == 2:
        out = np.zeros_like(inputs)
        interpret(module, "f", [inputs.copy(), out])
        assert (out == expected).all()
    else:
        check_meaning(module, [inputs, np.zeros_like(inputs)], expected)


def test_layouts_are_kept():
    text = """
@T.prim_func
def f(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (4, 4), strides=(8, 2), elem_offset=4, align=32, offset_factor=4)
    B = T.match_buffer(b, (4, 4), axis_separators=[1])
    C = T.alloc_buffer((4, 4), scope="local", align=128)
    for i, j in T.grid(4, 4):
        C[i, j] = A[i, j]
    for i, j in T.grid(4, 4):
        B[i, j] = C[i, j]
"""
    shown = print_script(parsed(text.strip()))
    assert "strides=(8, 2), elem_offset=4, align=32, offset_factor=4)" in shown
    assert "axis_separators=[1])" in shown and 'scope="local", align=128)' in shown


def test_root_blocks():
    plain = "    with T.block('root'):\n        T.reads(A[0:16])\n        for i in range(16):\n            B[i] = A[i]"
    written = print_script(parse_source(head("float32") + plain))
    assert 'with T.block("root"):\n' in written and print_script(parse_source(written)) == written  # TVM adds none here
    blocks = head("float32") + plain.replace("B[i] = A[i]", "with T.block('b'):\n                B[i] = A[i]")
    assert 'with T.block("root")' not in print_script(parse_source(blocks)).replace("# with T.block", "")
    text, _, _ = PROGRAMS["a root block with annotations"]
    func = from_source(head("float32") + text.replace("\n        ", "\n    "))
    sch = tir.Schedule(func)
    root = sch.get_block("root")
    sch.annotate(root, "more", 1)
    again = from_source(sch.mod.script())
    assert 'T.block_attr({"more": 1, "pragma": 16})' in again.script() and again.script() == sch.mod.script()
    sch.unannotate(root, "more")
    sch.unannotate(root, "pragma")
    assert "T.block_attr" not in sch.mod.script()
    with pytest.raises(tvm.error.TVMError, match="stands in a block only"):
        parse_source(head("float32") + "    T.block_attr({'a': 1})\n    B[0] = A[0]")


PARALLEL = """
@T.prim_func
def f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    assert A[0] < T.float32(10), "large"
    for i in T.parallel(64):
        B[i] = A[i] * T.float32(2)
    for i in T.parallel(64):
        assert B[i] < T.float32(100), "too large"
        B[i] = B[i] + T.float32(1)
"""


def test_parallel_loops_run_in_order_only_where_something_in_them_may_fail():
    module = parse_source(PARALLEL.strip())
    for step in make_passes(("convert-blocks-to-opaque", "flatten-buffer", "lower-asserts", "convert-tir-to-scf")):
        module = step(module)
    assert str(module).count("scf.parallel") == 1
    array = np.linspace(0, 9, 64, dtype="float32")[::-1].copy()
    array[0] = 0
    check_meaning(parse_source(PARALLEL.strip()), [array, np.zeros_like(array)], array * 2 + 1)
    lib = tvm.build(from_source(PARALLEL.strip()), target="llvm")
    out = tvm.nd.array(np.zeros(64, "float32"))
    with pytest.raises(Exception, match="too large"):
        lib["f"](tvm.nd.array(np.where(np.arange(64) == 40, 60, array).astype("float32")), out)


UNROLLED = """
@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    for i in T.unroll(4):
        assert A[i] > T.float32(0), "not positive"
        A[i] = T.float32(7)
    assert A[0] < T.float32(5), "too large"
"""


def test_assertions_in_loops_that_are_written_out_keep_their_messages():
    lib = tvm.build(from_source(UNROLLED.strip()), target="llvm")
    for value, message, left in (([1, 2, 0, 4], "not positive", [7, 7, 0, 4]), ([1, 1, 1, 1], "too large", [7] * 4)):
        array = tvm.nd.array(np.array(value, "float32"))
        with pytest.raises(Exception, match=message):
            lib["f"](array)
        np.testing.assert_array_equal(array.numpy(), left)
