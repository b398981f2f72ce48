"""Kernels by meaning: dtypes, arithmetic, statements, loops of each kind, ways of calling."""

import ast
import ctypes
import math
from itertools import product

import ml_dtypes
import numpy as np
import pytest
from strength import crossed, thinned
from tir_kernels import Kernel, alloc, function, lower_tir, nest, parse

from tirax.diagnostics import NameLookupError, UnsupportedError
from tirax.lowering.tir_to_scf import kernel_signature

RNG = np.random.default_rng(11)
SCHEDULES = pytest.mark.parametrize("schedule", [True, False], ids=["scheduled", "plain"])
DTYPES = {
    "f64": np.dtype("float64"), "f32": np.dtype("float32"), "f16": np.dtype("float16"),
    "bf16": np.dtype(ml_dtypes.bfloat16), "i8": np.dtype("int8"), "i16": np.dtype("int16"), "i32": np.dtype("int32"),
    "i64": np.dtype("int64"), "ui8": np.dtype("uint8"), "ui16": np.dtype("uint16"), "ui32": np.dtype("uint32"),
    "ui64": np.dtype("uint64"), "i1": np.dtype("bool"),
}  # fmt: skip
SIGNED = ["i8", "i16", "i32", "i64"]
UNSIGNED = ["ui8", "ui16", "ui32", "ui64"]
FLOATS = ["f64", "f32", "f16", "bf16"]
SIZE = 37


def values(dtype, size=SIZE, nonzero=False):
    numpy = DTYPES[dtype]
    if dtype in FLOATS:
        return RNG.standard_normal(size).astype(numpy)
    if dtype == "i1":
        return RNG.integers(0, 2, size).astype(numpy)
    info = np.iinfo(numpy)
    out = RNG.integers(info.min, info.max, size, dtype=numpy, endpoint=True)
    small = RNG.integers(-9 if info.min else 0, 10, size).astype(numpy)
    out = np.where(RNG.integers(0, 2, size) == 1, out, small).astype(numpy)
    return np.where(out == 0, numpy.type(3), out) if nonzero else out


def pointwise(params, lines, size="n", kind=""):
    body = lines + "\ntir.store %r, %Y[%vi]"
    return function(params, nest("Y", f"i:{size}", body, kinds={"i": kind} if kind else None))


def binary(op, dtype, result=None):
    kernel = Kernel(pointwise(f"A:n:{dtype} B:n:{dtype} Y:n:{result or dtype}", f"""%a = tir.load %A[%vi] : {dtype}
%b = tir.load %B[%vi] : {dtype}
%r = tir.{op} %a, %b : {dtype}"""))  # fmt: skip
    a, b = values(dtype), values(dtype, nonzero=op in ("div", "truncmod", "floordiv", "floormod"))
    y = np.zeros(SIZE, DTYPES[result or dtype])
    kernel(a, b, y, n=SIZE)
    return a, b, y


@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED])
def test_integers_wrap(dtype):
    for op, expected in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply)):
        a, b, y = binary(op, dtype)
        np.testing.assert_array_equal(y, expected(a, b), err_msg=op)


@thinned("dtype", [*SIGNED, *UNSIGNED], 3)
def test_divisions_round_as_their_names_say(dtype):
    a, b, y = binary("floordiv", dtype)
    np.testing.assert_array_equal(y, a // b)
    a, b, y = binary("floormod", dtype)
    np.testing.assert_array_equal(y, a % b)
    a, b, y = binary("div", dtype)
    trunc = [abs(int(x)) // abs(int(z)) * (1 if (x < 0) == (z < 0) else -1) for x, z in zip(a, b, strict=True)]
    np.testing.assert_array_equal(y, np.array(trunc, dtype=object).astype(DTYPES[dtype]))
    a, b, y = binary("truncmod", dtype)
    np.testing.assert_array_equal(y, np.fmod(a, b))


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_arithmetic(dtype):
    for op, expected in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide)):
        a, b, y = binary(op, dtype)
        np.testing.assert_array_equal(y, expected(a, b), err_msg=op)


@thinned("dtype", [*SIGNED, *UNSIGNED, *FLOATS], 3)
def test_comparisons_and_extrema(dtype):
    for op, expected in (("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal),
                       ("eq", np.equal), ("ne", np.not_equal)):  # fmt: skip
        a, b, y = binary(op, dtype, "i1")
        np.testing.assert_array_equal(y, expected(a, b), err_msg=op)
    for op, expected in (("min", np.minimum), ("max", np.maximum)):
        a, b, y = binary(op, dtype)
        np.testing.assert_array_equal(y, expected(a, b), err_msg=op)


@pytest.mark.parametrize("op, operands", [("max", "%a, %b"), ("max", "%b, %a"), ("min", "%a, %b"), ("min", "%b, %a")])
def test_nan_is_kept_and_the_first_of_two_zeros(op, operands):
    kernel = Kernel(
        pointwise(
            "A:n:f32 B:n:f32 Y:n:f32",
            f"""%a = tir.load %A[%vi] : f32
%b = tir.load %B[%vi] : f32
%r = tir.{op} {operands} : f32""",
        )
    )
    a, b = np.array([np.nan, 1, 2, -0.0], "float32"), np.array([1, np.nan, 1, 0.0], "float32")
    y = np.zeros(4, "float32")
    kernel(a, b, y, n=4)
    np.testing.assert_array_equal(y, [np.nan, np.nan, 2 if op == "max" else 1, 0])
    assert np.signbit(y[3]) == (operands == "%a, %b")


@pytest.mark.parametrize("constant", ["0.0", "-0.0", "2.0"])
@pytest.mark.parametrize("operands", ["%a, %c", "%c, %a"])
def test_a_constant_beside_nan(constant, operands):
    kernel = Kernel(
        pointwise(
            "A:n:f32 Y:n:f32",
            f"""%a = tir.load %A[%vi] : f32
%c = tir.const {constant} : f32
%r = tir.max {operands} : f32""",
        )
    )
    a, y = np.array([np.nan, 1, 3, -0.0, 0.0], "float32"), np.zeros(5, "float32")
    kernel(a, y, n=5)
    np.testing.assert_array_equal(y, np.maximum(a, np.float32(float(constant))))
    if float(constant) == 0:
        first = a if operands == "%a, %c" else np.full(5, float(constant))
        np.testing.assert_array_equal(np.signbit(y[3:]), np.signbit(first[3:]))


def test_logic():
    for op, expected in (("and", np.logical_and), ("or", np.logical_or)):
        a, b, y = binary(op, "i1")
        np.testing.assert_array_equal(y, expected(a, b))
    kernel = Kernel(pointwise("A:n:i1 Y:n:i1", "%a = tir.load %A[%vi] : i1\n%r = tir.not %a : i1 -> i1"))
    a, y = values("i1"), np.zeros(SIZE, "bool")
    kernel(a, y, n=SIZE)
    np.testing.assert_array_equal(y, ~a)


@thinned(("source", "target"), product(DTYPES, DTYPES), 25)
def test_casts(source, target):
    kernel = Kernel(pointwise(f"A:n:{source} Y:n:{target}", f"""%a = tir.load %A[%vi] : {source}
%r = tir.cast %a : {source} -> {target}"""))  # fmt: skip
    if source in FLOATS:
        a = (np.abs if target in UNSIGNED else np.asarray)(np.round(4 * values(source).astype("float64")) / 4)
        a = a.astype(DTYPES[source])
    else:
        a = values(source)
        if target == "f16":
            a = (a % 100 if source != "i1" else a).astype(a.dtype)
    y = np.zeros(SIZE, DTYPES[target])
    kernel(a, y, n=SIZE)
    expected = a.astype(DTYPES[target])
    if target == "bf16":
        expected = a.astype("float32" if source not in ("i64", "ui64", "i32", "ui32") else "float64").astype(
            DTYPES[target]
        )
    np.testing.assert_array_equal(y.astype("float64"), expected.astype("float64"))


INTRINSICS = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "exp2": np.exp2, "exp10": lambda x: 10**x, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "nearbyint": np.rint, "fabs": np.abs, "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": np.vectorize(math.erf), "asin": lambda x: np.arcsin(x / 8), "acosh": lambda x: np.arccosh(x + 1),
    "asinh": np.arcsinh, "round": lambda x: np.floor(x + 0.5), "likely": lambda x: x,
}  # fmt: skip
BEFORE = {"asin": ("mul", "0.125"), "acosh": ("add", "1.0")}


@crossed("name, dtype", list(INTRINSICS), ["f32", "f64"])
def test_intrinsics(name, dtype):
    op, by = BEFORE.get(name, ("mul", "1.0"))
    kernel = Kernel(pointwise(f"A:n:{dtype} Y:n:{dtype}", f"""%x = tir.load %A[%vi] : {dtype}
%by = tir.const {by} : {dtype}
%a = tir.{op} %x, %by : {dtype}
%r = tir.call_intrin "{name}"(%a) : {dtype}"""))  # fmt: skip
    a, y = RNG.uniform(0.1, 3, SIZE).astype(DTYPES[dtype]), np.zeros(SIZE, DTYPES[dtype])
    kernel(a, y, n=SIZE)
    np.testing.assert_allclose(y, INTRINSICS[name](a.astype("float64")), rtol=1e-6 if dtype == "f32" else 1e-13)


BINARY_INTRINSICS = {
    "pow": np.power, "atan2": np.arctan2, "copysign": np.copysign, "hypot": np.hypot,
}  # fmt: skip
BIT_INTRINSICS = {
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "shift_left": np.left_shift, "shift_right": np.right_shift,
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY_INTRINSICS)
def test_binary_intrinsics(name):
    kernel = Kernel(pointwise("A:n:f32 B:n:f32 Y:n:f32", f"""%a = tir.load %A[%vi] : f32
%b = tir.load %B[%vi] : f32
%r = tir.call_intrin "{name}"(%a, %b) : f32"""))  # fmt: skip
    a, b = (RNG.uniform(0.1, 3, SIZE).astype("float32") for _ in range(2))
    y = np.zeros(SIZE, "float32")
    kernel(a, b, y, n=SIZE)
    np.testing.assert_allclose(y, BINARY_INTRINSICS[name](a.astype("float64"), b), rtol=1e-6)


@crossed("name, dtype", list(BIT_INTRINSICS), ["i8", "i32", "i64", "ui8", "ui32"])
def test_bit_intrinsics(name, dtype):
    kernel = Kernel(pointwise(f"A:n:{dtype} B:n:{dtype} Y:n:{dtype}", f"""%a = tir.load %A[%vi] : {dtype}
%b = tir.load %B[%vi] : {dtype}
%r = tir.call_intrin "{name}"(%a, %b) : {dtype}"""))  # fmt: skip
    a, b, y = values(dtype), values(dtype), np.zeros(SIZE, DTYPES[dtype])
    b = (b % 7).astype(b.dtype) if name.startswith("shift") else b
    kernel(a, b, y, n=SIZE)
    np.testing.assert_array_equal(y, BIT_INTRINSICS[name](a, b))


def test_tests_of_floats():
    a = np.array([1, np.nan, np.inf, -np.inf, 0], "float32")
    for name, expected in (("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite)):
        kernel = Kernel(pointwise("A:n:f32 Y:n:i1", f"""%a = tir.load %A[%vi] : f32
%r = tir.call_intrin "{name}"(%a) : i1"""))  # fmt: skip
        y = np.zeros(5, "bool")
        kernel(a, y, n=5)
        np.testing.assert_array_equal(y, expected(a))


def test_an_unknown_intrinsic_is_named():
    text = pointwise("A:n:f32 Y:n:f32", '%a = tir.load %A[%vi] : f32\n%r = tir.call_intrin "tahn"(%a) : f32')
    with pytest.raises(NameLookupError, match="did you mean 'tan'|did you mean 'tanh'"):
        Kernel(text)


@pytest.mark.parametrize("kind", ["", "parallel", "vectorized", "unrolled"])
@pytest.mark.parametrize("size", [0, 1, 7, 16, 100])
def test_loops_of_each_kind(kind, size):
    text = pointwise(f"A:{size}:f32 Y:{size}:f32", """%a = tir.load %A[%vi] : f32
%f = tir.cast %vi : i64 -> f32
%r = tir.add %a, %f : f32""", size, kind)  # fmt: skip
    a, y = values("f32", size), np.zeros(size, "float32")
    Kernel(text)(a, y)
    np.testing.assert_array_equal(y, a + np.arange(size, dtype="float32"))


_INDICES = {
    "(i + 3) * 2 - 1": lambda i: (i + 3) * 2 - 1,
    "2 * (i - 3) + 20": lambda i: 2 * (i - 3) + 20,
    "(i + 1) - 1": lambda i: i,
    "40 - (i + 2)": lambda i: 38 - i,
    "(i + 2) - (3 - i)": lambda i: max(2 * i - 1, 0),
    "(i + 2) * (i + 3)": lambda i: (i + 2) * (i + 3),
    "(i + 1) * 0 + 4": lambda i: 4,
    "(i + 7) // 3 + 5": lambda i: (i + 7) // 3 + 5,
    "(i + 7) % 3 + (i * 3 + 1)": lambda i: (i + 7) % 3 + i * 3 + 1,
    "min(i + 4, 6) + max(2, i - 1)": lambda i: min(i + 4, 6) + max(2, i - 1),
}


def _statements(node, lines):
    """The operations of an index, written as Python has it; the name of its value."""
    names = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "floordiv", ast.Mod: "floormod"}
    if isinstance(node, ast.Name):
        return f"%{node.id}"
    operands = (
        node.args if isinstance(node, ast.Call) else [] if isinstance(node, ast.Constant) else [node.left, node.right]
    )
    reads = [_statements(o, lines) for o in operands]
    value = f"%v{len(lines)}"
    if isinstance(node, ast.Constant):
        lines.append(f"{value} = tir.const {node.value} : i64")
    else:
        name = node.func.id if isinstance(node, ast.Call) else names[type(node.op)]
        lines.append(f"{value} = tir.{name} {', '.join(reads)} : i64")
    return value


@pytest.mark.parametrize("index", _INDICES)
@pytest.mark.parametrize("size", [0, 1, 6])
def test_constants_in_indices(index, size):
    """Wherever a constant stands in an index, the place is the same."""
    lines = []
    at = _statements(ast.parse(index, mode="eval").body, lines)
    guard = [] if "(3 - i)" not in index else ["%zero = tir.const 0 : i64", f"%at = tir.max {at}, %zero : i64"]
    body = "\n".join([*lines, *guard, f"tir.store %i, %Y[{'%at' if guard else at}]"])
    y = np.full(80, -1)
    Kernel(function("Y:80:i64", f"tir.for %i = 0 to {size} {{\n{body}\n}}"))(y)
    expected = np.full(80, -1)
    for i in range(size):
        expected[_INDICES[index](i)] = i
    np.testing.assert_array_equal(y, expected)


def test_a_vectorized_loop_that_cannot_be_vectors_means_the_same():
    """A strided store, and a sum into one place."""
    text = function("A:40:f32 Y:20:f32 S:1:f32", """%zero = tir.const 0 : i64
tir.for vectorized %i = 0 to 20 {
  %two = tir.const 2 : i64
  %at = tir.mul %i, %two : i64
  %a = tir.load %A[%at] : f32
  tir.store %a, %Y[%i]
  %s = tir.load %S[%zero] : f32
  %t = tir.add %s, %a : f32
  tir.store %t, %S[%zero]
}""")  # fmt: skip
    a, y, s = values("f32", 40), np.zeros(20, "float32"), np.zeros(1, "float32")
    Kernel(text)(a, y, s)
    np.testing.assert_array_equal(y, a[::2])
    np.testing.assert_allclose(s[0], a[::2].astype("float64").sum(), rtol=1e-5)


def test_what_runs_for_each_lane_runs_for_each_lane():
    """A while loop and a call with effects in a vectorized loop are not done once for all lanes."""
    text = function("Y:40:i64 N:1:i64", """%zero = tir.const 0 : i64
tir.for vectorized %i = 0 to 40 {
  tir.while {
    %y = tir.load %Y[%i] : i64
    %c = tir.lt %y, %i : i64
    tir.yield %c : i1
  } do {
    %y = tir.load %Y[%i] : i64
    %one = tir.const 1 : i64
    %y1 = tir.add %y, %one : i64
    tir.store %y1, %Y[%i]
    %n = tir.load %N[%zero] : i64
    %n1 = tir.add %n, %one : i64
    tir.store %n1, %N[%zero]
  }
}""")  # fmt: skip
    y, n = np.zeros(40, "int64"), np.zeros(1, "int64")
    Kernel(text)(y, n)
    np.testing.assert_array_equal(y, np.arange(40))
    assert n[0] == y.sum()


def test_one_memory_as_elements_of_two_types():
    text = function("A:4:f32 Y:4:i32", """%p = tir.buffer_data %A
%I = tir.decl_buffer %p : !tir.buffer<[4], i32>
%one = tir.const 1.0 : f32
tir.for %i = 0 to 4 {
  %before = tir.load %I[%i] : i32
  tir.store %one, %A[%i]
  %after = tir.load %I[%i] : i32
  %d = tir.sub %after, %before : i32
  tir.store %d, %Y[%i]
}""")  # fmt: skip
    y = np.zeros(4, "int32")
    Kernel(text)(np.zeros(4, "float32"), y)
    np.testing.assert_array_equal(y, np.float32(1).view("int32"))


def test_branches_in_vectors():
    text = function("A:n:i32 Y:n:i32", """tir.for vectorized %i = 0 to n {
  %a = tir.load %A[%i] : i32
  %two = tir.const 2 : i32
  %r = tir.floormod %a, %two : i32
  %z = tir.const 0 : i32
  %even = tir.eq %r, %z : i32
  tir.if %even {
    %h = tir.floordiv %a, %two : i32
    tir.store %h, %Y[%i]
  } else {
    %m = tir.mul %a, %a : i32
    tir.store %m, %Y[%i]
  }
}""")  # fmt: skip
    kernel = Kernel(text)
    assert "vector.maskedstore" in kernel.loops
    for n in (0, 3, 16, 50):
        a, y = RNG.integers(-99, 99, n).astype("int32"), np.zeros(n, "int32")
        kernel(a, y, n=n)
        np.testing.assert_array_equal(y, np.where(a % 2 == 0, a // 2, a * a))


@SCHEDULES
def test_argmax(schedule):
    """A block with two results is no stage: it stays a loop."""
    text = function("A:n,37:f32 I:n:i64 V:n:f32", nest("argmax", "i:n k:37r", """%v = tir.load %V[%vi] : f32
%a = tir.load %A[%vi, %vk] : f32
%i0 = tir.load %I[%vi] : i64
%more = tir.gt %a, %v : f32
%best = tir.select %more, %a, %v : f32
%where = tir.select %more, %vk, %i0 : i64
tir.store %where, %I[%vi]
tir.store %best, %V[%vi]""", """%low = tir.const -3.4e38 : f32
%none = tir.const -1 : i64
tir.store %none, %I[%vi]
tir.store %low, %V[%vi]"""))  # fmt: skip
    kernel = Kernel(text, schedule=schedule)
    a = RNG.standard_normal((9, 37)).astype("float32")
    index, best = np.zeros(9, "int64"), np.zeros(9, "float32")
    kernel(a, index, best, n=9)
    np.testing.assert_array_equal(index, a.argmax(1))


def test_while():
    """The number of Collatz steps."""
    text = function("A:n:i64 Y:n:i64", """tir.for %i = 0 to n {
  %z = tir.const 0 : i64
  tir.store %z, %Y[%i]
  tir.while {
    %a = tir.load %A[%i] : i64
    %one = tir.const 1 : i64
    %c = tir.gt %a, %one : i64
    tir.yield %c : i1
  } do {
    %a = tir.load %A[%i] : i64
    %one = tir.const 1 : i64
    %two = tir.const 2 : i64
    %three = tir.const 3 : i64
    %r = tir.floormod %a, %two : i64
    %odd = tir.eq %r, %one : i64
    %h = tir.floordiv %a, %two : i64
    %m = tir.mul %a, %three : i64
    %m1 = tir.add %m, %one : i64
    %next = tir.select %odd, %m1, %h : i64
    tir.store %next, %A[%i]
    %y = tir.load %Y[%i] : i64
    %y1 = tir.add %y, %one : i64
    tir.store %y1, %Y[%i]
  }
}""")  # fmt: skip
    a, y = np.array([1, 2, 3, 27]), np.zeros(4, "int64")
    Kernel(text)(a, y, n=4)
    np.testing.assert_array_equal(y, [0, 1, 7, 111])


@SCHEDULES
def test_a_predicate_and_nested_blocks(schedule):
    text = function("A:50:f32 Y:50:f32", """tir.for %o = 0 to 7 {
  tir.block "outer" (%vo = spatial(%o, 7)) {
    %T = tir.alloc_buffer : !tir.buffer<[8], f32>
    tir.for %i = 0 to 8 {
      %eight = tir.const 8 : i64
      %base = tir.mul %vo, %eight : i64
      %at = tir.add %base, %i : i64
      %end = tir.const 50 : i64
      %in = tir.lt %at, %end : i64
      tir.block "inner" (%vi = spatial(%at, 50), %vt = spatial(%i, 8)) where %in {
        %a = tir.load %A[%vi] : f32
        %d = tir.add %a, %a : f32
        tir.store %d, %T[%vt]
        %t = tir.load %T[%vt] : f32
        tir.store %t, %Y[%vi]
      }
    }
  }
}""")  # fmt: skip
    a, y = values("f32", 50), np.zeros(50, "float32")
    Kernel(text, schedule=schedule)(a, y)
    np.testing.assert_array_equal(y, 2 * a)


def test_match_buffer_and_strides():
    text = function("Y:6,8:f32", """tir.for %i = 0 to 3 {
  tir.block "b" (%vi = spatial(%i, 3)) {
    %two = tir.const 2 : i64
    %four = tir.const 4 : i64
    %r = tir.mul %vi, %two : i64
    %M = tir.match_buffer %Y[%r : 2, %four : 4] : !tir.buffer<[2, 4], f32, strides = [8, 1]>
    tir.for %p = 0 to 2 {
      tir.for %q = 0 to 4 {
        %f = tir.cast %q : i64 -> f32
        tir.store %f, %M[%p, %q]
      }
    }
  }
}""")  # fmt: skip
    y = np.zeros((6, 8), "float32")
    Kernel(text)(y)
    np.testing.assert_array_equal(y, np.tile([0, 0, 0, 0, 0, 1, 2, 3], (6, 1)))


def test_a_strided_parameter():
    source = """tir.func @f(%A: !tir.buffer<[n, 4], f32, strides = [s, 1]>, %Y: !tir.buffer<[n, 4], f32>) {
""" + nest("Y", "i:n j:4", "%a = tir.load %A[%vi, %vj] : f32\ntir.store %a, %Y[%vi, %vj]") + "}"  # fmt: skip
    kernel = Kernel(source)
    assert kernel.signature.symbolic_vars == ("n", "s")
    assert not kernel.signature.noalias
    a, y = values("f32", 60).reshape(6, 10), np.zeros((6, 4), "float32")
    kernel(a, y, n=6, s=10)
    np.testing.assert_array_equal(y, a[:, :4])


def test_scalar_parameters_and_results():
    kernel = Kernel("""tir.func @f(%n: i64, %x: f32, %A: !tir.buffer<[n, m], f32>) -> f32 {
  %one = tir.const 1 : i64
  %last = tir.sub %n, %one : i64
  %m = sym.value m - 1 : i64
  %a = tir.load %A[%last, %m] : f32
  %r = tir.mul %a, %x : f32
  tir.return %r : f32
}""")  # fmt: skip
    assert kernel.signature.symbolic_vars == ("m",)
    a = values("f32", 12).reshape(3, 4)
    assert kernel(3, 2.0, a, m=4) == pytest.approx(2 * a[2, 3])


def test_an_assertion_stops_the_function():
    kernel = Kernel("""tir.func @f(%A: !tir.buffer<[n], i64>) {
  tir.for %i = 0 to n {
    %a = tir.load %A[%i] : i64
    %z = tir.const 0 : i64
    %ok = tir.le %z, %a : i64
    tir.assert %ok, "negative"
    tir.store %z, %A[%i]
  }
  %c = tir.const 1 : i64
  %n = sym.value n : i64
  %many = tir.lt %c, %n : i64
  tir.assert %many, "few"
}""")  # fmt: skip
    assert kernel.signature.assertions == ("negative", "few")
    a = np.array([1, -1, 1])
    assert kernel(a, n=3) == 1
    np.testing.assert_array_equal(a, [0, -1, 1])
    assert kernel(np.array([5]), n=1) == 2
    assert kernel(np.array([5, 6]), n=2) == 0


def test_a_function_with_assertions_has_no_result():
    with pytest.raises(UnsupportedError, match="both assertions and a result"):
        Kernel("""tir.func @f(%A: !tir.buffer<[n], i64>) -> i64 {
  %c = tir.const false
  tir.assert %c, "few"
  %x = tir.const 1 : i64
  tir.return %x : i64
}""")


def test_call_extern():
    text = pointwise("A:n:f64 Y:n:f64", '%a = tir.load %A[%vi] : f64\n%r = tir.call_extern "cbrt"(%a) : f64')
    a, y = values("f64", 5), np.zeros(5)
    Kernel(text)(a, y, n=5)
    np.testing.assert_allclose(y, np.cbrt(a), rtol=1e-14)


def test_call_extern_with_a_pointer():
    text = function("A:8:i8 Y:1:i64", """%p = tir.buffer_data %A
%r = tir.call_extern "strlen"(%p) : i64
%z = tir.const 0 : i64
tir.store %r, %Y[%z]""")  # fmt: skip
    y = np.zeros(1, "int64")
    Kernel(text)(np.array([65, 66, 67, 0, 0, 0, 0, 0], "int8"), y)
    assert y[0] == 3
    assert ctypes.sizeof(ctypes.c_int64) == y.itemsize


def test_constants_and_let():
    text = function("Y:4:f32", """%C = tir.alloc_const <f32 [4] [1.0, 2.0, 3.0, 4.0]>
tir.for %i = 0 to 4 {
  %a = tir.load %C[%i] : f32
  %x = tir.let %a : f32 -> f32
  %z = tir.const 9.0 : f32
  %r = tir.add %x, %z : f32
  tir.store %r, %Y[%i]
}""")  # fmt: skip
    y = np.zeros(4, "float32")
    Kernel(text)(y)
    np.testing.assert_array_equal(y, [10, 11, 12, 13])


def test_vectors_that_are_written_out():
    text = function("A:20:f32 Y:8:f32", """%three = tir.const 3 : i64
%one = tir.const 1 : i64
%two = tir.const 2 : i64
%zero = tir.const 0 : i64
%at = tir.ramp %three, %two : i64, i64 -> vector<8xi64>
%a = tir.load %A[%at] : vector<8xf32>
%s = tir.const 2.0 : f32
%v = tir.broadcast %s : f32 -> vector<8xf32>
%r = tir.mul %a, %v : vector<8xf32>
%to = tir.ramp %zero, %one : i64, i64 -> vector<8xi64>
tir.store %r, %Y[%to]""")  # fmt: skip
    a, y = values("f32", 20), np.zeros(8, "float32")
    Kernel(text)(a, y)
    np.testing.assert_array_equal(y, 2 * a[3:19:2])


def test_large_and_symbolic_buffers_are_on_the_heap():
    text = function("A:n:f32 Y:n:f32", alloc("T", "n"), """tir.for %i = 0 to n {
  %a = tir.load %A[%i] : f32
  tir.store %a, %T[%i]
}
tir.for %i = 0 to n {
  %one = tir.const 1 : i64
  %n = sym.value n : i64
  %r = tir.sub %n, %i : i64
  %at = tir.sub %r, %one : i64
  %a = tir.load %T[%at] : f32
  tir.store %a, %Y[%i]
}""")  # fmt: skip
    kernel = Kernel(text)
    assert "memref.dealloc" in kernel.loops
    a, y = values("f32", 5000), np.zeros(5000, "float32")
    kernel(a, y, n=5000)
    np.testing.assert_array_equal(y, a[::-1])


@pytest.mark.parametrize("schedule", [True, False])
def test_an_update_of_what_is_there(schedule):
    """A reduction without init adds to its result; in place, elements are independent."""
    text = function("A:n,21:f32 C:21:f32", nest("C", "j:21 k:nr", """%c = tir.load %C[%vj] : f32
%a = tir.load %A[%vk, %vj] : f32
%s = tir.add %c, %a : f32
tir.store %s, %C[%vj]"""))  # fmt: skip
    a, c = values("f32", 210).reshape(10, 21), values("f32", 21)
    expected = c.astype("float64") + a.astype("float64").sum(0)
    Kernel(text, schedule=schedule)(a, c, n=10)
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-5)


def test_a_shift_in_place_keeps_its_order():
    text = function("A:64:f32", nest("A", "i:63", """%one = tir.const 1 : i64
%at = tir.add %vi, %one : i64
%a = tir.load %A[%at] : f32
tir.store %a, %A[%vi]"""))  # fmt: skip
    a = values("f32", 64)
    expected = np.concatenate([a[1:], a[-1:]])
    Kernel(text)(a)
    np.testing.assert_array_equal(a, expected)


def test_what_cannot_be_lowered_is_named():
    with pytest.raises(UnsupportedError, match="packed function .* built by itself"):
        Kernel(function("A:4:f32", '%r = tir.call_packed "f"(%A) : i32\ntir.evaluate %r : i32'))
    with pytest.raises(UnsupportedError, match="no parameter gives the variable 'q'"):
        Kernel(function("A:4:f32", "%q = sym.value q : i64\n%z = tir.const 0.0 : f32\ntir.store %z, %A[%q]"))


def test_the_module_stays_as_it_is():
    module = parse(pointwise("A:n:f32 Y:n:f32", "%r = tir.load %A[%vi] : f32"))
    before = str(module)
    lower_tir(module)
    assert str(module) == before
    (func,) = module.body.block.ops
    assert kernel_signature(func).symbolic_vars == ("n",)


@SCHEDULES
def test_a_condition_on_lanes_that_also_guards_the_rest(schedule):
    """The lanes' number stands in the comparison with n, which needs the first lane's alone, and in another one."""
    body = """%one = tir.const 1 : i64
%in = tir.ge %vi, %one : i64
%zero = tir.const 0.0 : f32
%a = tir.if_then_else %in {
  %at = tir.sub %vi, %one : i64
  %x = tir.load %A[%at] : f32
  tir.yield %x : f32
} else { tir.yield %zero : f32 }
%y = tir.load %Y[%vi] : f32
%r = tir.max %y, %a : f32
tir.store %r, %Y[%vi]"""
    init = "%z = tir.const 0.0 : f32\ntir.store %z, %Y[%vi]"
    kernel = Kernel(function("A:n:f32 Y:n:f32", nest("Y", "i:n k:nr", body, init)), schedule=schedule)
    for n in (2, 20, 150):
        a, y = np.arange(1, n + 1, dtype="float32"), np.full(n, np.nan, "float32")
        kernel(a, y, n=n)
        np.testing.assert_array_equal(y, np.arange(n))
