"""Constructs of the language one by one: text, MLIR text, interpreter and machine code of small programs."""

import textwrap

import numpy as np
import pytest
from tir_kernels import Kernel
from xdsl.parser import Parser

from tirax.diagnostics import TiraxError
from tirax.interpreter import InterpreterError, interpret
from tirax.ir.passes.extern import ALLOW_EXTERN
from tirax.ir.passes.transform import PassContext, new_context
from tirax.ir.verification.verify import verify_module
from tirax.script import parse_source, print_script

RNG = np.random.default_rng(3)
A16, A8 = RNG.standard_normal(16).astype("float32"), RNG.standard_normal((8, 16)).astype("float32")
NUMBERS = RNG.integers(-(2**20), 2**20, 16).astype("int32")
HEAD = '@T.prim_func\ndef f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):\n'
MATRICES = '@T.prim_func\ndef f(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):\n'


def parsed(text, head=""):
    """The verified module of a text, which prints as it was read, as TVMScript and as MLIR."""
    module = parse_source(head + (textwrap.indent(textwrap.dedent(text).strip(), "    ") if head else text))
    verify_module(module)
    script = print_script(module)
    assert print_script(parse_source(script)) == script
    assert print_script(Parser(new_context(), str(module)).parse_module()) == script
    return module


def body_of(module):
    lines = print_script(module).split("@T.prim_func\n", 1)[1].splitlines()[1:]
    return "\n".join(line[8:] for line in lines if "# with T.block" not in line)


def check_meaning(module, args, expected, name="f"):
    """The last argument after a run by the interpreter, and by machine code with and without a schedule."""
    runs = [lambda *a: interpret(module, name, a)]
    runs += [Kernel(module.clone(), schedule=schedule, name=name) for schedule in (True, False)]
    for run in runs:
        copies = [a.copy() for a in args]
        run(*copies)
        np.testing.assert_allclose(copies[-1], expected, rtol=1e-5, atol=1e-6)


PROGRAMS = {
    "allocate": ("""
        C = T.allocate([16], "float32", "global")
        D = T.decl_buffer((16,), data=C)
        for i in range(16):
            D[i] = A[i] + T.float32(1.0)
        for i in range(16):
            B[i] = D[i] * T.float32(2.0)
        """, (A16 + 1) * 2),
    "allocate twice the stack": ("""
        C = T.allocate([100000], "float32", "global", annotations={"a": 1})
        D = T.decl_buffer((1000, 100), data=C)
        for i in range(16):
            D[i * 60, i] = A[i]
        for i in range(16):
            B[i] = D[i * 60, i]
        """, A16),
    "constants": ("""
        c = T.allocate_const([1.0, 2.0, 3.0, 4.0], "float32", [4])
        d = T.decl_buffer((2, 2), data=c)
        for i in range(16):
            B[i] = A[i] * d[i % 4 // 2, i % 2]
        """, A16 * np.tile(np.array([1, 2, 3, 4], "float32"), 4)),
    "let expressions": ("""
        for i in range(16):
            x = T.int32()
            y = T.float32()
            B[i] = T.Let(A[x % 16] + T.Let(y + y, where={y: T.Cast("float32", x)}), where={x: i * 3})
        """, A16[np.arange(16) * 3 % 16] + 6 * np.arange(16)),
    "shuffle": ("""
        B[0:4] = T.Shuffle([A[0:4]], [3, 2, 1, 0])
        B[4:8] = T.Shuffle([A[0:4], A[4:8]], [0, 4, 7, 0])
        B[8:10] = T.Shuffle([A[0], A[1]], [1, 0])
        B[10] = T.Shuffle([A[0:4]], [2])
        B[12:16] = T.vectorcombine("float32x4", T.vectorhigh("float32x2", A[0:4]), T.vectorlow("float32x2", A[0:4]))
        """, [*A16[[3, 2, 1, 0, 0, 4, 7, 0, 1, 0, 2]], 0, *A16[[2, 3, 0, 1]]]),
    "vectors": ("""
        for i in range(4):
            B[i:i + 16:4] = A[i:i + 16:4] + T.Broadcast(T.float32(1.0), 4)
        for i in range(4):
            B[i * 4:i * 4 + 4] = T.max(B[i * 4:i * 4 + 4], T.Broadcast(T.float32(0.0), 4))
        """, np.maximum(A16 + 1, 0)),
    "vectors of bools": ("""
        m = T.alloc_buffer((16,), "bool")
        for i in range(4):
            m[i * 4:i * 4 + 4] = A[i * 4:i * 4 + 4] > T.Broadcast(T.float32(0.0), 4)
        for i in range(16):
            B[i] = T.Select(m[i], A[i], T.float32(0.0))
        """, np.maximum(A16, 0)),
    "vectors of any indices": ("""
        order = T.alloc_buffer((2, 8), "int32")
        for i in range(8):
            order[1, i] = 7 - i
        C = T.decl_buffer((2, 8), data=A.data)
        D = T.decl_buffer((2, 8), data=B.data)
        D[1, order[1, 0:8]] = C[1, 0:8]
        D[0, T.Ramp(0, 1, 4) + T.Broadcast(2, 4)] = C[1, order[1, 0:4]]
        """, [0, 0, *A16[[15, 14, 13, 12]], 0, 0, *A16[15:7:-1]]),
    "layouts of allocations": ("""
        C = T.alloc_buffer((4, 4), strides=(8, 1), scope="global.vtcm", align=128, axis_separators=[1])
        D = T.alloc_buffer((4, 4), elem_offset=4, offset_factor=2)
        for i, j in T.grid(4, 4):
            C[i, j] = A[i * 4 + j]
        for i, j in T.grid(4, 4):
            D[i, j] = C[i, j]
        for i, j in T.grid(4, 4):
            B[i * 4 + j] = D[i, j]
        """, A16),
    "while": ("""
        k = T.alloc_buffer((1,), "int32")
        k[0] = 0
        while k[0] < 16:
            B[k[0]] = A[k[0]]
            k[0] = k[0] + 1
        """, A16),
    "attributes": ("""
        with T.attr(A.data, "storage_alignment", 128):
            for i in range(16):
                B[i] = A[i]
        with T.attr("name", "key", "value"):
            B[0] = T.float32(1.0)
        T.attr(0, "pragma_x", 1)
        B[1] = T.float32(2.0)
        """, [1, 2, *A16[2:]]),
    "opaque blocks with predicates": ("""
        for i in range(16):
            with T.block("b"):
                vi = T.axis.opaque(16, i)
                T.reads(A[0:16])
                T.writes(B[0:16])
                with T.block("inner"):
                    vj = T.axis.spatial(16, vi)
                    T.where(vi < 8)
                    T.reads(A[vj])
                    T.writes(B[vj])
                    B[vj] = A[vj]
        """, np.where(np.arange(16) < 8, A16, 0)),
    "C functions": ("""
        for i in range(16):
            B[i] = T.call_extern("float32", "sinf", A[i]) + T.call_pure_extern("float32", "cosf", A[i])
        T.call_extern("void", "memcpy", T.address_of(B[4]), T.address_of(A[0]), T.int64(16))
        T.call_extern("handle", "memmove", T.address_of(B[12]), T.address_of(A[0]), T.int64(16))
        """, [*(np.sin(A16) + np.cos(A16))[:4], *A16[:4], *(np.sin(A16) + np.cos(A16))[8:12], *A16[:4]]),
    "LLVM intrinsics": ("""
        for i in range(16):
            B[i] = T.call_llvm_pure_intrin("float32", "llvm.fabs", A[i])
            T.call_llvm_intrin("int32", "llvm.prefetch", T.address_of(A[i]), 0, 3, 1)
            T.call_llvm_intrin("void", "llvm.prefetch", T.address_of(A[i]), 0, 3, 1)
        """, np.abs(A16)),
    "addresses": ("""
        p: T.handle = T.tvm_access_ptr(T.type_annotation("float32"), B.data, 8, 8, 2)
        T.call_extern("void", "memcpy", p, T.address_of(A[4]), T.int64(32))
        T.assume(A[0] > T.float32(-1000.0))
        C = T.decl_buffer((4,), data=T.handle_add_byte_offset(B.data, 16))
        C[0] = T.float32(7.0)
        if T.isnullptr(A.data):
            C[1] = T.float32(8.0)
        """, [0, 0, 0, 0, 7, 0, 0, 0, *A16[4:12]]),
    "typed addresses": ("""
        p: T.handle("float32", "global") = A.data
        q: T.handle("float32", "global") = T.address_of(A[4])
        C = T.decl_buffer((16,), data=p)
        D = T.decl_buffer((4,), data=q)
        for i in range(4):
            B[i] = C[i] + D[i]
        """, [*(A16[:4] + A16[4:8]), *[0] * 12]),
    "reinterpret": ("""
        for i in range(16):
            B[i] = T.reinterpret("float32", T.bitwise_xor(T.reinterpret("int32", A[i]), -2147483648))
        """, -A16),
    "fmod": ("""
        for i in T.vectorized(16):
            B[i] = T.fmod(A[i], T.float32(0.25))
        """, np.fmod(A16, np.float32(0.25))),
    "nextafter": ("""
        for i in T.vectorized(16):
            B[i] = T.nextafter(A[i], T.float32(0.0))
        """, np.nextafter(A16, np.float32(0))),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    text, expected = PROGRAMS[name]
    module = parsed(text, HEAD)
    assert body_of(module) == textwrap.dedent(text).strip()
    check_meaning(module, (A16, np.zeros(16, "float32")), expected)


def test_fixed_point_product():
    head = '@T.prim_func\ndef f(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):\n'
    text = """
        for i in T.vectorized(16):
            B[i] = T.q_multiply_shift(A[i], 1395864320, 31, 2)
        """
    for shift in (2, 0, -2):  # to the left where it is positive
        expected = np.floor(NUMBERS.astype("float64") * 1395864320 / 2 ** (31 - shift) + 0.5)
        shifted = text.replace("31, 2)", f"31, {shift})")
        check_meaning(parsed(shifted, head), (NUMBERS, np.zeros(16, "int32")), expected)
    per_axis = "T.q_multiply_shift_per_axis(A[i], 1395864320, 3, 2, 31, T.bool(True), T.bool(False))"
    expected = np.floor(NUMBERS.astype("float64") * 8 * 1395864320 / 2**31 + 0.5)
    module = parsed(text.replace("T.q_multiply_shift(A[i], 1395864320, 31, 2)", per_axis), head)
    check_meaning(module, (NUMBERS, np.zeros(16, "int32")), expected)


def test_elements_that_are_vectors():
    head = '@T.prim_func\ndef f(A: T.Buffer((4,), "float32x4"), B: T.Buffer((4,), "float32x4")):\n'
    text = """
        t = T.allocate([2], "float32x4", "local")
        C = T.decl_buffer((2,), "float32x4", data=t)
        for i in range(4):
            C[1] = A[i] + T.Broadcast(T.float32(1.0), 4)
            B[i] = C[1]
        """
    check_meaning(parsed(text, head), (A16.reshape(4, 4), np.zeros((4, 4), "float32")), A16.reshape(4, 4) + 1)


def test_targets_among_attributes():
    target = '{"kind": "llvm", "mtriple": "aarch64-linux-gnu"}'
    module = parsed(f'T.func_attr({{"target": T.target({target}), "a": 1}})\nB[0] = A[0]', HEAD)
    text = '{"keys": ["cpu"], "kind": "llvm", "mtriple": "aarch64-linux-gnu", "tag": ""}'
    assert body_of(module).splitlines()[0] == f'T.func_attr({{"a": 1, "target": T.target({text})}})'


ARGMAX = """@T.prim_func
def f(idx: T.Buffer((8, 16), "int32"), val: T.Buffer((8, 16)), v: T.Buffer((8,)), i: T.Buffer((8,), "int32")):
    for y, k in T.grid(8, 16):
        with T.block("argmax"):
            vi, vk = T.axis.remap("SR", [y, k])
            T.reads(idx[vi, vk], val[vi, vk])
            T.writes(i[vi], v[vi])
            with T.init():
                i[vi] = -1
                v[vi] = T.min_value("float32")
            v0: T.int32 = T.Select(v[vi] >= val[vi, vk], i[vi], idx[vi, vk])
            v1: T.float32 = T.Select(v[vi] >= val[vi, vk], v[vi], val[vi, vk])
            i[vi] = v0
            v[vi] = v1
"""


def test_reducers_of_tuples():
    positions = np.tile(np.arange(16, dtype="int32"), (8, 1))
    args = (positions, A8, np.zeros(8, "float32"), np.zeros(8, "int32"))
    check_meaning(parsed(ARGMAX), args, A8.argmax(1))


def test_matched_regions_know_their_strides_and_offset():
    module = parsed("""
        for i, j in T.grid(2, 4):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])
                T.writes(B[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])
                s0 = T.int32()
                s1 = T.int32()
                off = T.int32()
                X = T.match_buffer(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, 4), strides=(s0, s1), elem_offset=off)
                Y = T.match_buffer(B[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, 4))
                for k in range(4):
                    source: T.handle = X.access_ptr("r", offset=k * s0)
                    T.call_extern("void", "memcpy", Y.access_ptr("w", offset=k * 16), source, T.int64(16))
                    for l in range(4):
                        Y[k, l] = Y[k, l] + T.Cast("float32", s0 * 1000 + off)
        """, MATRICES)  # fmt: skip
    offsets = np.add.outer(np.arange(8) // 4 * 64, np.arange(16) // 4 * 4)
    check_meaning(module, (A8, np.zeros_like(A8)), A8 + 16000 + offsets)


def test_matched_regions_of_fewer_dimensions():
    module = parsed("""
        for i in range(8):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi, 0:16])
                T.writes(B[vi, 0:16])
                n = T.int32()
                X = T.match_buffer(A[vi, 0:16], (n,))
                Y = T.match_buffer(B[vi, 0:16], (16,))
                for k in range(n):
                    Y[k] = X.vload([k]) + T.float32(1.0)
        """, MATRICES)  # fmt: skip
    check_meaning(module, (A8, np.zeros_like(A8)), A8 + 1)


CALLS = """@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        C = T.alloc_buffer((4, 4))
        Module.g(A.data, C, 4)
        for i, j in T.grid(4, 4):
            B[i * 4 + j] = C[i, j] + Module.h(A.data, i)

    @T.prim_func(private=True)
    def g(a: T.handle, b: T.handle, k: T.int32):
        n, m = T.int32(), T.int32()
        A = T.match_buffer(a, (m,))
        B = T.match_buffer(b, (n, n))
        assert k == 4, "four"
        for i, j in T.grid(n, n):
            B[i, j] = A[i * n + j] * T.Cast("float32", k * m)

    @T.prim_func(private=True)
    def h(A: T.Buffer((16,), "float32"), i: T.int32) -> T.float32:
        return A[i] + T.float32(1)
"""


def test_functions_call_each_other():
    module = parsed(CALLS)
    text = print_script(module)
    assert "Module.g(A.data, C.data, 4)" in text
    assert "C[i, j] + Module.h(A.data, i)" in text
    check_meaning(module, (A16, np.zeros(16, "float32")), A16 * 64 + np.repeat(A16[:4] + 1, 4))


def test_a_failed_assertion_of_a_callee_is_the_callers():
    loop = "        for i, j in T.grid(4, 4):"
    text = CALLS.replace("C, 4)", "C, 5)").replace(loop, f'        assert A[0] < T.float32(100), "own"\n{loop}', 1)
    module = parse_source(text)
    kernel = Kernel(module.clone(), name="f")
    assert kernel.signature.assertions == ("four", "own")
    assert kernel(A16.copy(), np.zeros(16, "float32")) == 1
    with pytest.raises(InterpreterError, match="assertion failed: four"):
        interpret(module, "f", (A16.copy(), np.zeros(16, "float32")))


RECURSIVE = """@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), "float32")):
        Module.g(A.data)

    @T.prim_func
    def g(A: T.Buffer((16,), "float32")):
        Module.f(A.data)
"""


def test_no_code_is_generated_for_recursion():
    module = parse_source(RECURSIVE)
    with pytest.raises(TiraxError, match="calls itself"):
        Kernel(module)


BAD_CALLS = {
    "Module.g(A.data)": "wrong number of arguments",
    "Module.g(A.data, 3, 4)": "parameter 'B' is a buffer",
    "Module.missing(A.data)": "has no function 'missing'",
}


@pytest.mark.parametrize("call", BAD_CALLS)
def test_wrong_calls_are_refused(call):
    with pytest.raises(TiraxError, match=BAD_CALLS[call]):
        parse_source(CALLS.replace("Module.g(A.data, C, 4)", call))


def test_sizes_that_nothing_says_are_refused():
    text = CALLS.replace("C = T.alloc_buffer((4, 4))", "C = T.alloc_buffer((16,))").replace("C[i, j] +", "C[i] +")
    module = parse_source(text)
    with pytest.raises(TiraxError, match="does not say what 'n' is"):
        Kernel(module, name="f")


MACROS = """@T.macro
def scaled(A, B, i, k):
    x = A[i] * T.float32(k)
    B[i] = x

@T.inline
def doubled(B, i):
    B[i] = B[i] + B[i]

@T.prim_func
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    @T.macro(hygienic=False)
    def added(i):
        B[i] = B[i] + A[i]
    for i in range(16):
        scaled(A, B, i, 3)
        doubled(B, i)
        added(i)
"""


def test_macros_are_read_where_they_are_called():
    module = parsed(MACROS)
    expected = """
        for i in range(16):
            x: T.float32 = A[i] * T.float32(3.0)
            B[i] = x
            B[i] = B[i] + B[i]
            B[i] = B[i] + A[i]
        """
    assert body_of(module) == textwrap.dedent(expected).strip()
    check_meaning(module, (A16, np.zeros(16, "float32")), A16 * 7)


def test_macros_are_hygienic():
    with pytest.raises(TiraxError, match="'A' is not defined here"):
        parse_source(MACROS.replace("def doubled(B, i):\n    B[i] = B[i]", "def doubled(B, i):\n    B[i] = A[i]"))


def test_macros_without_end_are_refused():
    with pytest.raises(TiraxError, match="macros call each other without end"):
        parse_source(MACROS.replace("    B[i] = B[i] + B[i]\n", "    doubled(B, i)\n"))


def test_decorated_macros():
    from tirax.script.parser.tir_functions import Macro
    from tirax.tvm_api.script import tir as T

    @T.macro
    def store(A, i, value):
        A[i] = value

    @T.prim_func
    def func(A: T.Buffer((4,), "float32")):
        for i in range(4):
            store(A, i, T.Cast("float32", i))

    assert isinstance(store, Macro)
    a = np.zeros(4, "float32")
    interpret(func.op.parent_op(), "func", (a,))
    np.testing.assert_array_equal(a, [0, 1, 2, 3])


def test_meta_variables_are_no_variables():
    module = parsed("x = T.meta_var(A[0] + T.float32(1.0))\nB[0] = x\nT.buffer_store(B, x, [1])", HEAD)
    assert body_of(module) == "B[0] = A[0] + T.float32(1.0)\nB[1] = A[0] + T.float32(1.0)"


REFUSED = {
    "C = T.decl_buffer((4, 4), data=A.data)\n    C[T.Ramp(0, 1, 4), 0] = A[0:4]": "only the last index may be a vector",
    "B[0] = T.Shuffle([A[0:4]], [4])": "there is no such lane",
    "B[0:2] = T.vectorlow('float32x3', A[0:4])": "half the lanes",
    "B[0] = T.Let(A[0], where={z: 1})": "undefined name 'z'",
    "B[0] = T.call_llvm_pure_intrin('float32', 'llvm.nosuch', A[0])": "llvm.nosuch",
    "T.call_llvm_intrin('void', 'llvm.nosuch', A[0])": "llvm.nosuch",
    "B[0] = T.Cast('float32', T.vscale())": r"T.vscale\(\) has no value",
    "T.evaluate(T.ptx_commit_group())": "no code is made for T.ptx_commit_group",
    "B[0] = T.call_extern('float32', 'f', A[0])\n    T.call_extern('void', 'f', A[0])": "or results of two kinds",
    "T.evaluate(T.call_packed('f', 1))": "is called from a kernel that is built by itself",
}


@pytest.mark.parametrize("line", REFUSED)
def test_refused(line):
    with pytest.raises(TiraxError, match=REFUSED[line]):
        Kernel(parse_source(HEAD + "    " + line))


def test_foreign_calls_that_cannot_be_interpreted():
    unknown = "B[0] = T.call_llvm_pure_intrin('float32', 'llvm.canonicalize', A[0])"
    for line, message in (("T.call_extern('void', 'no_such_function')", "no C function"), (unknown, "canonicalize")):
        allowed = PassContext(config={ALLOW_EXTERN: ["no_such_function"]})
        with allowed, pytest.raises(InterpreterError, match=message):
            interpret(parse_source(HEAD + "    " + line), "f", (A16.copy(), A16.copy()))
