"""Kernels by meaning: tir text compiled with and without the default schedule, compared with numpy in float64."""

from itertools import product as product_of

import ml_dtypes
import numpy as np
import pytest
from strength import thinned
from tir_kernels import Kernel, alloc, function, nest

RNG = np.random.default_rng(7)
SCHEDULES = pytest.mark.parametrize("schedule", [True, False], ids=["scheduled", "plain"])


def randn(*shape, dtype="float32"):
    return RNG.standard_normal(shape).astype(dtype)


def close(actual, expected, tolerance=1e-5):
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(actual.astype("float64"), expected, rtol=tolerance, atol=tolerance * scale)


def zero(buffer, indices, dtype="f32", value="0.0"):
    return f"%z = tir.const {value} : {dtype}\ntir.store %z, %{buffer}[{indices}]"


def product(iters, c, a, b, out="C", dtype="f32"):
    """out[c] += A[a] * B[b]"""
    body = f"""%c = tir.load %{out}[{c}] : {dtype}
%a = tir.load %A[{a}] : {dtype}
%b = tir.load %B[{b}] : {dtype}
%m = tir.mul %a, %b : {dtype}
%s = tir.add %c, %m : {dtype}
tir.store %s, %{out}[{c}]"""
    return nest(out, iters, body, zero(out, c, dtype))


MATMULS = {
    "NN": ("A:n,{k}:f32 B:{k},{m}:f32 C:n,{m}:f32", "i:n j:{m} k:{k}r", "%vi, %vj", "%vi, %vk", "%vk, %vj"),
    "NT": ("A:n,{k}:f32 B:{m},{k}:f32 C:n,{m}:f32", "i:n j:{m} k:{k}r", "%vi, %vj", "%vi, %vk", "%vj, %vk"),
    "TN": ("A:{k},n:f32 B:{k},{m}:f32 C:n,{m}:f32", "i:n j:{m} k:{k}r", "%vi, %vj", "%vk, %vi", "%vk, %vj"),
}


@thinned(
    ("kind", "size", "schedule"),
    product_of(MATMULS, [(784, 128), (128, 10), (33, 131), (1, 1), (17, 48), (5, 0)], [True, False]),
    7,
)
def test_matmul(kind, size, schedule):
    k, m = size
    params, iters, *indices = (t.format(k=k, m=m) for t in MATMULS[kind])
    kernel = Kernel(function(params, product(iters, *indices)), schedule=schedule)
    for n in (0, 1, 5, 64, 197) if m * k < 50000 else (1, 6):
        a, b = randn(n, k), randn(k, m)
        c = np.full((n, m), np.nan, "float32")
        array = (np.ascontiguousarray(a.T) if kind == "TN" else a, np.ascontiguousarray(b.T) if kind == "NT" else b)
        kernel(*array, c, n=n)
        close(c, a.astype("float64") @ b.astype("float64"))


@pytest.mark.parametrize("kind", ["NN", "NT"])
@SCHEDULES
def test_matmul_of_symbolic_extents_only(kind, schedule):
    b = "k,m" if kind == "NN" else "m,k"
    text = product("i:n j:m k:kr", "%vi, %vj", "%vi, %vk", "%vk, %vj" if kind == "NN" else "%vj, %vk")
    kernel = Kernel(function(f"A:n,k:f32 B:{b}:f32 C:n,m:f32", text), schedule=schedule)
    for n, k, m in [(3, 7, 5), (13, 64, 200), (0, 3, 4), (4, 5, 0), (1, 1, 1), (8, 100, 67)]:
        x, y, c = randn(n, k), randn(k, m), np.zeros((n, m), "float32")
        kernel(x, np.ascontiguousarray(y if kind == "NN" else y.T), c, n=n, k=k, m=m)
        close(c, x.astype("float64") @ y)


@SCHEDULES
def test_batched_matmul(schedule):
    text = product("q:bs i:19 j:37 k:11r", "%vq, %vi, %vj", "%vq, %vi, %vk", "%vq, %vk, %vj")
    kernel = Kernel(function("A:bs,19,11:f32 B:bs,11,37:f32 C:bs,19,37:f32", text), schedule=schedule)
    for batch in (0, 1, 3):
        a, b, c = randn(batch, 19, 11), randn(batch, 11, 37), np.zeros((batch, 19, 37), "float32")
        kernel(a, b, c, bs=batch)
        close(c, a.astype("float64") @ b)


@thinned("dtype", ["float64", "int32", "int64", "int8", "float16", "bfloat16"], 2)
@SCHEDULES
def test_matmul_dtypes(dtype, schedule):
    mlir = {"float64": "f64", "int32": "i32", "int64": "i64", "int8": "i8", "float16": "f16"}.get(dtype, "bf16")
    dtype = ml_dtypes.bfloat16 if mlir == "bf16" else dtype
    text = product("i:n j:21 k:40r", "%vi, %vj", "%vi, %vk", "%vk, %vj", dtype=mlir).replace(
        "0.0 :", "0 :" if mlir[0] == "i" else "0.0 :"
    )
    kernel = Kernel(function(f"A:n,40:{mlir} B:40,21:{mlir} C:n,21:{mlir}", text), schedule=schedule)
    a, b = (10 * randn(9, 40)).astype(dtype), (10 * randn(40, 21)).astype(dtype)
    c = np.zeros((9, 21), dtype)
    kernel(a, b, c, n=9)
    if mlir[0] == "i":
        np.testing.assert_array_equal(c, a @ b)
    else:
        close(c, a.astype("float64") @ b.astype("float64"), {"f64": 1e-12, "f16": 1e-2, "bf16": 0.1}[mlir])


def elementwise(block, iters, out, index, lines):
    return nest(block, iters, lines + f"\ntir.store %r, %{out}[{index}]")


def test_an_epilogue_is_computed_on_the_tile():
    """The matrix product's and the sum's buffers vanish."""
    kernel = Kernel(bias_relu())
    assert "memref.alloc(" not in kernel.loops
    assert "arith.cmpf" in kernel.loops


def bias_relu():
    return function(
        "A:n,33:f32 B:33,50:f32 bias:50:f32 D:n,50:f32",
        alloc("C", "n, 50"),
        alloc("E", "n, 50"),
        product("i:n j:50 k:33r", "%vi, %vj", "%vi, %vk", "%vk, %vj"),
        elementwise("E", "i:n j:50", "E", "%vi, %vj", """%x = tir.load %C[%vi, %vj] : f32
%b = tir.load %bias[%vj] : f32
%r = tir.add %x, %b : f32"""),
        elementwise("D", "i:n j:50", "D", "%vi, %vj", """%x = tir.load %E[%vi, %vj] : f32
%z = tir.const 0.0 : f32
%r = tir.max %x, %z : f32"""),
    )  # fmt: skip


@SCHEDULES
def test_bias_and_relu(schedule):
    kernel = Kernel(bias_relu(), schedule=schedule)
    for n in (0, 1, 5, 64):
        a, b, bias, d = randn(n, 33), randn(33, 50), randn(50), np.full((n, 50), np.nan, "float32")
        kernel(a, b, bias, d, n=n)
        close(d, np.maximum(a.astype("float64") @ b + bias, 0))


def reduce_rows(op, out, index, source, iters, start, dtype="f32"):
    body = f"""%c = tir.load %{out}[{index}] : {dtype}
{source}
%s = tir.{op} %c, %x : {dtype}
tir.store %s, %{out}[{index}]"""
    return nest(out, iters, body, zero(out, index, dtype, start))


def softmax(m):
    load = "%x = tir.load %A[%vi, %vj] : f32"
    return function(
        f"A:n,{m}:f32 Y:n,{m}:f32",
        alloc("M", "n"),
        alloc("E", f"n, {m}"),
        alloc("S", "n"),
        reduce_rows("max", "M", "%vi", load, f"i:n j:{m}r", "-3.4e38"),
        elementwise("E", f"i:n j:{m}", "E", "%vi, %vj", f"""{load}
%m = tir.load %M[%vi] : f32
%d = tir.sub %x, %m : f32
%r = tir.call_intrin "exp"(%d) : f32"""),
        reduce_rows("add", "S", "%vi", "%x = tir.load %E[%vi, %vj] : f32", f"i:n j:{m}r", "0.0"),
        elementwise("Y", f"i:n j:{m}", "Y", "%vi, %vj", """%x = tir.load %E[%vi, %vj] : f32
%s = tir.load %S[%vi] : f32
%r = tir.div %x, %s : f32"""),
    )  # fmt: skip


@thinned("m", [1, 10, 16, 37, 100], 3)
@SCHEDULES
def test_softmax(m, schedule):
    kernel = Kernel(softmax(m), schedule=schedule)
    for n in (0, 1, 9):
        a, y = 10 * randn(n, m), np.zeros((n, m), "float32")
        kernel(a, y, n=n)
        e = np.exp(a.astype("float64") - a.max(axis=1, keepdims=True)) if n else np.zeros((n, m))
        close(y, e / e.sum(axis=1, keepdims=True))


SQUARE = "%y = tir.load %A[%vi, %vj] : f32\n%x = tir.mul %y, %y : f32"


@SCHEDULES
def test_layer_norm(schedule):
    text = function(
        "A:n,77:f32 G:77:f32 B:77:f32 Y:n,77:f32",
        alloc("S", "n"),
        alloc("Q", "n"),
        reduce_rows("add", "S", "%vi", "%x = tir.load %A[%vi, %vj] : f32", "i:n j:77r", "0.0"),
        reduce_rows("add", "Q", "%vi", SQUARE, "i:n j:77r", "0.0"),
        elementwise("Y", "i:n j:77", "Y", "%vi, %vj", """%x = tir.load %A[%vi, %vj] : f32
%s = tir.load %S[%vi] : f32
%q = tir.load %Q[%vi] : f32
%m = tir.const 77.0 : f32
%e = tir.const 1.0e-5 : f32
%mean = tir.div %s, %m : f32
%mq = tir.div %q, %m : f32
%sq = tir.mul %mean, %mean : f32
%var = tir.sub %mq, %sq : f32
%v2 = tir.add %var, %e : f32
%inv = tir.call_intrin "rsqrt"(%v2) : f32
%d = tir.sub %x, %mean : f32
%n1 = tir.mul %d, %inv : f32
%g = tir.load %G[%vj] : f32
%b = tir.load %B[%vj] : f32
%h = tir.mul %n1, %g : f32
%r = tir.add %h, %b : f32"""),
    )  # fmt: skip
    kernel = Kernel(text, schedule=schedule)
    a, g, b, y = randn(13, 77), randn(77), randn(77), np.zeros((13, 77), "float32")
    kernel(a, g, b, y, n=13)
    x = a.astype("float64")
    close(y, (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * g + b, 1e-4)


REDUCTIONS = {"add": (np.sum, "0"), "max": (np.max, "least"), "min": (np.min, "most"), "mul": (np.prod, "1")}
LIMITS = {"f32": ("-3.4e38", "3.4e38"), "f64": ("-1.0e300", "1.0e300"), "i32": (-(2**31), 2**31 - 1),
          "i64": (-(2**63), 2**63 - 1), "i8": (-128, 127)}  # fmt: skip
NUMPY = {"f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64", "i8": "int8"}


@thinned(
    ("axis", "op", "dtype"),
    product_of([(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)], REDUCTIONS, ["f32", "f64", "i32", "i64", "i8"]),
    12,
)
def test_reductions(axis, op, dtype):
    names = ["i", "j", "k"]
    shape = (5, 7, 37)
    iters = " ".join(f"{n}:{e}{'r' if at in axis else ''}" for at, (n, e) in enumerate(zip(names, shape, strict=True)))
    kept = [f"%v{n}" for at, n in enumerate(names) if at not in axis]
    least, most = LIMITS[dtype]
    start = str({"least": least, "most": most}.get(REDUCTIONS[op][1], REDUCTIONS[op][1]))
    start = f"{float(start)!r}" if dtype[0] == "f" else start
    start = start.replace("e+", "e") if "." in start else start.replace("e+", ".0e")
    load = f"%x = tir.load %A[%vi, %vj, %vk] : {dtype}"
    out = [shape[at] for at in range(3) if at not in axis]
    params = f"A:5,7,37:{dtype} C:{','.join(map(str, out))}:{dtype}"
    kernel = Kernel(function(params, reduce_rows(op, "C", ", ".join(kept), load, iters, start, dtype)))
    a = randn(*shape, dtype="float64")
    a = (
        (np.exp(0.05 * a) if op == "mul" else a).astype(NUMPY[dtype])
        if dtype[0] == "f"
        else (100 * a).astype(NUMPY[dtype])
    )
    c = np.zeros(out, NUMPY[dtype])
    kernel(a, c)
    expected = REDUCTIONS[op][0](a.astype("float64") if dtype == "f32" else a, axis=axis)
    if dtype[0] == "i":
        np.testing.assert_array_equal(c, expected.astype(NUMPY[dtype]))
    else:
        close(c, expected)


@pytest.mark.parametrize("order", ["k, j, i", "j, i, k", "k, i, j", "i, k, j"])
@SCHEDULES
def test_transpose(order, schedule):
    sizes = {"i": 5, "j": 18, "k": 33}
    index = ", ".join("%v" + n for n in order.split(", "))
    out = [sizes[n] for n in order.split(", ")]
    text = elementwise("T", "i:5 j:18 k:33", "T", index, "%r = tir.load %A[%vi, %vj, %vk] : f32")
    kernel = Kernel(function(f"A:5,18,33:f32 T:{','.join(map(str, out))}:f32", text), schedule=schedule)
    a, t = randn(5, 18, 33), np.zeros(out, "float32")
    kernel(a, t)
    np.testing.assert_array_equal(t, a.transpose(["ijk".index(n) for n in order.split(", ")]))


@SCHEDULES
def test_take(schedule):
    text = elementwise("T", "i:n j:37", "T", "%vi, %vj", """%at = tir.load %I[%vi] : i64
%r = tir.load %A[%at, %vj] : f32""")  # fmt: skip
    kernel = Kernel(function("A:50,37:f32 I:n:i64 T:n,37:f32", text), schedule=schedule)
    a, index, t = randn(50, 37), RNG.integers(0, 50, 20), np.zeros((20, 37), "float32")
    kernel(a, index, t, n=20)
    np.testing.assert_array_equal(t, a[index])


@SCHEDULES
def test_gather_of_elements(schedule):
    text = elementwise("T", "i:n", "T", "%vi", "%at = tir.load %I[%vi] : i32\n%r = tir.load %A[%at] : f32")
    kernel = Kernel(function("A:50:f32 I:n:i32 T:n:f32", text), schedule=schedule)
    a, index, t = randn(50), RNG.integers(0, 50, 37).astype("int32"), np.zeros(37, "float32")
    kernel(a, index, t, n=37)
    np.testing.assert_array_equal(t, a[index])


@pytest.mark.parametrize("size", [0, 1, 5, 16, 37, 200])
def test_a_producer_is_computed_where_it_is_read(size):
    text = function(
        f"A:{size}:f32 Y:{size}:f32",
        alloc("T", str(size)),
        elementwise("T", f"i:{size}", "T", "%vi", '%x = tir.load %A[%vi] : f32\n%r = tir.call_intrin "exp"(%x) : f32'),
        elementwise("Y", f"i:{size}", "Y", "%vi", "%x = tir.load %T[%vi] : f32\n%r = tir.add %x, %x : f32"),
    )
    kernel = Kernel(text)
    assert "memref.alloc" not in kernel.loops
    a, y = randn(size), np.zeros(size, "float32")
    kernel(a, y)
    close(y, 2 * np.exp(a.astype("float64")))


def test_pad_reads_nothing_outside():
    """`if_then_else` is lazy: at the edge of the page before an unmapped one."""
    text = elementwise("P", "i:20", "P", "%vi", """%two = tir.const 2 : i64
%lo = tir.le %two, %vi : i64
%end = tir.const 18 : i64
%hi = tir.lt %vi, %end : i64
%in = tir.and %lo, %hi : i1
%r = tir.if_then_else %in {
  %at = tir.sub %vi, %two : i64
  %x = tir.load %A[%at] : f32
  tir.yield %x : f32
} else {
  %z = tir.const 0.0 : f32
  tir.yield %z : f32
}""")  # fmt: skip
    kernel = Kernel(function("A:16:f32 P:20:f32", text))
    assert "vector.maskedload" in kernel.loops
    a, p = randn(16), np.ones(20, "float32")
    kernel(a, p)
    np.testing.assert_array_equal(p, np.pad(a, 2))


@SCHEDULES
def test_convolution(schedule):
    """NHWC, HWIO."""
    body = """%c = tir.load %C[%vy, %vx, %vo] : f32
%yy = tir.add %vy, %vp : i64
%xx = tir.add %vx, %vq : i64
%a = tir.load %A[%yy, %xx, %vk] : f32
%b = tir.load %B[%vp, %vq, %vk, %vo] : f32
%m = tir.mul %a, %b : f32
%s = tir.add %c, %m : f32
tir.store %s, %C[%vy, %vx, %vo]"""
    text = nest("C", "y:6 x:7 o:20 p:3r q:3r k:5r", body, zero("C", "%vy, %vx, %vo"))
    kernel = Kernel(function("A:8,9,5:f32 B:3,3,5,20:f32 C:6,7,20:f32", text), schedule=schedule)
    a, b, c = randn(8, 9, 5), randn(3, 3, 5, 20), np.zeros((6, 7, 20), "float32")
    kernel(a, b, c)
    expected = sum(a[p : p + 6, q : q + 7].astype("float64") @ b[p, q] for p in range(3) for q in range(3))
    close(c, expected)
