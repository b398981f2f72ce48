"""What the default schedule does and does not do; what comes out means the same as what went in."""

import re

import numpy as np
import pytest
from tir_kernels import Kernel, alloc, function, nest, parse

from tirax.schedule.cpu.policy.default_schedule import DefaultSchedule
from tirax.target import Target

RNG = np.random.default_rng(5)


def scheduled(text):
    return str(DefaultSchedule("llvm -mcpu=x86-64-v4 -vector-width=512")(parse(text)))


def randn(*shape):
    return RNG.standard_normal(shape).astype("float32")


def stage(out, iters, index, lines):
    return nest(out, iters, f"{lines}\ntir.store %r, %{out}[{index}]")


def reduction(out, iters, index, lines, op="add", start="0.0"):
    return nest(out, iters, f"""%c = tir.load %{out}[{index}] : f32
{lines}
%s = tir.{op} %c, %x : f32
tir.store %s, %{out}[{index}]""", f"%z = tir.const {start} : f32\ntir.store %z, %{out}[{index}]")  # fmt: skip


EXP = '%x = tir.load %A[%vi] : f32\n%r = tir.call_intrin "exp"(%x) : f32'
LOAD = "%x = tir.load %A[%vi, %vj] : f32"


def test_what_is_dear_and_read_twice_is_computed_once():
    text = function(
        "A:40:f32 Y:40:f32 Z:40:f32",
        alloc("T", "40"),
        stage("T", "i:40", "%vi", EXP),
        stage("Y", "i:40", "%vi", "%r = tir.load %T[%vi] : f32"),
        stage("Z", "i:40", "%vi", "%t = tir.load %T[%vi] : f32\n%r = tir.add %t, %t : f32"),
    )
    assert scheduled(text).count('"exp"') == 1
    a, y, z = randn(40), np.zeros(40, "float32"), np.zeros(40, "float32")
    Kernel(text)(a, y, z)
    np.testing.assert_allclose(y, np.exp(a.astype("float64")), rtol=1e-6)
    np.testing.assert_array_equal(z, y + y)


def test_a_broadcast_of_what_is_dear_is_not_inlined():
    text = function(
        "A:8:f32 Y:8,40:f32",
        alloc("T", "8"),
        stage("T", "i:8", "%vi", EXP),
        stage("Y", "i:8 j:40", "%vi, %vj", "%r = tir.load %T[%vi] : f32"),
    )
    assert "tir.alloc_buffer : !tir.buffer<[8], f32>" in scheduled(text)


def test_an_operand_of_a_product_is_not_computed_again_and_again():
    text = function(
        "A:20,30:f32 B:30,40:f32 C:20,40:f32",
        alloc("T", "30, 40"),
        stage("T", "k:30 j:40", "%vk, %vj", "%b = tir.load %B[%vk, %vj] : f32\n%r = tir.add %b, %b : f32"),
        reduction("C", "i:20 j:40 k:30r", "%vi, %vj", """%a = tir.load %A[%vi, %vk] : f32
%b = tir.load %T[%vk, %vj] : f32
%x = tir.mul %a, %b : f32"""),
    )  # fmt: skip
    assert "!tir.buffer<[30, 40], f32>\n" in scheduled(text)
    a, b, c = randn(20, 30), randn(30, 40), np.zeros((20, 40), "float32")
    Kernel(text)(a, b, c)
    np.testing.assert_allclose(c, a.astype("float64") @ (2 * b), rtol=1e-4, atol=1e-4)


def test_an_input_that_is_overwritten_later_is_read_before():
    """T = A; A = 0; Y = T: T may not be read from A at the end."""
    text = function(
        "A:40:f32 Y:40:f32",
        alloc("T", "40"),
        stage("T", "i:40", "%vi", "%r = tir.load %A[%vi] : f32"),
        stage("A", "i:40", "%vi", "%r = tir.const 0.0 : f32"),
        stage("Y", "i:40", "%vi", "%r = tir.load %T[%vi] : f32"),
    )
    a, y = randn(40), np.zeros(40, "float32")
    expected = a.copy()
    Kernel(text)(a, y)
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(a, 0)


@pytest.mark.parametrize("index", ["%vi, %vj", "%vj, %vi"])
def test_an_epilogue_may_store_elsewhere(index):
    """The product transposed: its rows are no longer contiguous, so the tile lies the other way, or is not a tile."""
    text = function(
        "A:24,9:f32 B:9,24:f32 Y:24,24:f32",
        alloc("C", "24, 24"),
        reduction("C", "i:24 j:24 k:9r", "%vi, %vj", """%a = tir.load %A[%vi, %vk] : f32
%b = tir.load %B[%vk, %vj] : f32
%x = tir.mul %a, %b : f32"""),
        stage("Y", "i:24 j:24", index, "%r = tir.load %C[%vi, %vj] : f32"),
    )  # fmt: skip
    a, b, y = randn(24, 9), randn(9, 24), np.zeros((24, 24), "float32")
    Kernel(text)(a, b, y)
    expected = a.astype("float64") @ b
    np.testing.assert_allclose(y, expected if index == "%vi, %vj" else expected.T, rtol=1e-4, atol=1e-5)


def test_a_result_that_is_read_twice_is_kept():
    text = function(
        "A:24,9:f32 S:24:f32 Y:24:f32 Z:24:f32",
        reduction("S", "i:24 j:9r", "%vi", LOAD),
        stage("Y", "i:24", "%vi", "%t = tir.load %S[%vi] : f32\n%r = tir.add %t, %t : f32"),
        stage("Z", "i:24", "%vi", "%t = tir.load %S[%vi] : f32\n%r = tir.mul %t, %t : f32"),
    )
    a, (s, y, z) = randn(24, 9), (np.zeros(24, "float32") for _ in range(3))
    Kernel(text)(a, s, y, z)
    expected = a.astype("float64").sum(1)
    for actual, value in ((s, expected), (y, 2 * expected), (z, expected**2)):
        np.testing.assert_allclose(actual, value, rtol=1e-4, atol=1e-5)


def test_a_softmax_of_a_column():
    text = function(
        "A:33,20:f32 Y:20:f32",
        alloc("M", "20"),
        reduction("M", "j:20 i:33r", "%vj", LOAD, "max", "-3.4e38"),
        stage("Y", "j:20", "%vj", '%m = tir.load %M[%vj] : f32\n%r = tir.call_intrin "tanh"(%m) : f32'),
    )
    a, y = randn(33, 20), np.zeros(20, "float32")
    Kernel(text)(a, y)
    np.testing.assert_allclose(y, np.tanh(a.max(0).astype("float64")), rtol=1e-5)


def sums_of_two_kinds(body):
    init = "%z = tir.const 0.0 : f32\ntir.store %z, %S[%vi]\ntir.store %z, %Q[%vi]"
    return function("A:n,37:f32 S:n:f32 Q:n:f32", nest("S", "i:n j:37r", body, init))


def test_two_sums_in_one_block_are_split():
    text = sums_of_two_kinds("""%s = tir.load %S[%vi] : f32
%q = tir.load %Q[%vi] : f32
%x = tir.load %A[%vi, %vj] : f32
%s1 = tir.add %s, %x : f32
%l = tir.let %s1 : f32 -> f32
%x2 = tir.mul %x, %x : f32
%q1 = tir.add %q, %x2 : f32
tir.store %l, %S[%vi]
tir.store %q1, %Q[%vi]""")
    assert scheduled(text).count("llvm.vector.reduce.fadd") == 2
    a, s, q = randn(11, 37), np.zeros(11, "float32"), np.zeros(11, "float32")
    Kernel(text)(a, s, q, n=11)
    np.testing.assert_allclose(s, a.astype("float64").sum(1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(q, (a.astype("float64") ** 2).sum(1), rtol=1e-4)


def test_two_sums_of_which_one_reads_the_other_stay_together():
    text = sums_of_two_kinds("""%s = tir.load %S[%vi] : f32
%q = tir.load %Q[%vi] : f32
%x = tir.load %A[%vi, %vj] : f32
%s1 = tir.add %s, %x : f32
%q1 = tir.add %q, %s1 : f32
tir.store %q1, %Q[%vi]
tir.store %s1, %S[%vi]""")
    assert "tir.block" in scheduled(text)
    a, s, q = randn(3, 37), np.zeros(3, "float32"), np.zeros(3, "float32")
    Kernel(text)(a, s, q, n=3)
    np.testing.assert_allclose(q, a.astype("float64").cumsum(1).sum(1), rtol=1e-4, atol=1e-4)


def test_integers_of_32_bits():
    """As TVMScript with plain integers has them: loops, iterators and extents of i32."""
    text = function(
        "A:70,33:f32 B:33,50:f32 Y:70,50:f32 S:70:f32",
        alloc("C", "70, 50"),
        reduction("C", "i:70 j:50 k:33r", "%vi, %vj", """%a = tir.load %A[%vi, %vk] : f32
%b = tir.load %B[%vk, %vj] : f32
%x = tir.mul %a, %b : f32"""),
        stage("Y", "i:70 j:50", "%vi, %vj", "%t = tir.load %C[%vi, %vj] : f32\n%r = tir.add %t, %t : f32"),
        reduction("S", "i:70 j:33r", "%vi", LOAD),
    )  # fmt: skip
    text = re.sub(r"to (\d+)", r"to \1 : i32", text)
    text = re.sub(r"\((%\w+), (\d+)\)", r"(\1, \2 : i32)", text)
    a, b, y, s = randn(70, 33), randn(33, 50), np.zeros((70, 50), "float32"), np.zeros(70, "float32")
    Kernel(text)(a, b, y, s)
    np.testing.assert_allclose(y, 2 * (a.astype("float64") @ b), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(s, a.astype("float64").sum(1), rtol=1e-4, atol=1e-4)


def test_concatenation():
    text = function("A:5,20:f32 B:5,13:f32 Y:5,33:f32", stage("Y", "i:5 j:33", "%vi, %vj", """%c = tir.const 20 : i64
%first = tir.lt %vj, %c : i64
%r = tir.if_then_else %first {
  %a = tir.load %A[%vi, %vj] : f32
  tir.yield %a : f32
} else {
  %at = tir.sub %vj, %c : i64
  %b = tir.load %B[%vi, %at] : f32
  tir.yield %b : f32
}"""))  # fmt: skip
    a, b, y = randn(5, 20), randn(5, 13), np.zeros((5, 33), "float32")
    Kernel(text)(a, b, y)
    np.testing.assert_array_equal(y, np.concatenate([a, b], axis=1))


def test_a_convolution_that_pads_where_it_reads():
    """Whether a place is in the image does not vary along the output's channels: the tile stays one of vectors."""
    body = """%one = tir.const 1 : i64
%six = tir.const 6 : i64
%yp = tir.add %vy, %vp : i64
%low = tir.le %one, %yp : i64
%high = tir.le %yp, %six : i64
%in = tir.and %low, %high : i1
%at = tir.sub %yp, %one : i64
%a = tir.if_then_else %in {
  %l = tir.load %A[%at, %vk] : f32
  tir.yield %l : f32
} else {
  %z0 = tir.const 0.0 : f32
  tir.yield %z0 : f32
}
%b = tir.load %B[%vp, %vk, %vo] : f32
%x = tir.mul %a, %b : f32"""
    text = function("A:6,5:f32 B:3,5,20:f32 C:6,20:f32", reduction("C", "y:6 o:20 p:3r k:5r", "%vy, %vo", body))
    kernel = Kernel(text)
    assert f"vector<{Target.host().lanes('float32')}xf32>" in kernel.loops
    a, b, c = randn(6, 5), randn(3, 5, 20), np.zeros((6, 20), "float32")
    kernel(a, b, c)
    padded = np.pad(a, ((1, 1), (0, 0))).astype("float64")
    np.testing.assert_allclose(c, sum(padded[p : p + 6] @ b[p] for p in range(3)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n", [0, 1, 7, 20])
def test_short_rows_become_one(n):
    text = function("A:n,10:f32 Y:n,10:f32", stage("Y", "i:n j:10", "%vi, %vj", f"{LOAD}\n%r = tir.mul %x, %x : f32"))
    assert "tir.for vectorized %vj = 0 to n * 10" in scheduled(text)
    kernel = Kernel(text)
    chunks, inside, *_ = (part.split("loop_annotation")[0] for part in kernel.loops.split("scf.for")[1:])
    assert "%vj_chunk" in chunks and "vector.store" in inside and "arith.rem" not in chunks + inside
    a, y = randn(n, 10), np.zeros((n, 10), "float32")
    kernel(a, y, n=n)
    np.testing.assert_array_equal(y, a * a)


def test_rows_stay_where_the_column_matters():
    text = function("A:6,10:f32 B:10:f32 Y:6,10:f32", stage("Y", "i:6 j:10", "%vi, %vj", f"""{LOAD}
%b = tir.load %B[%vj] : f32
%f = tir.cast %vi : i64 -> f32
%t = tir.add %x, %b : f32
%r = tir.add %t, %f : f32"""))  # fmt: skip
    assert "tir.for vectorized %vj = 0 to 10 {" in scheduled(text)
    a, b, y = randn(6, 10), randn(10), np.zeros((6, 10), "float32")
    Kernel(text)(a, b, y)
    np.testing.assert_array_equal(y, a + b + np.arange(6, dtype="float32")[:, None])


def test_other_targets():
    """Narrower vectors and fewer registers; only the text is looked at, this machine need not run it."""
    text = function("A:n,64:f32 B:64,64:f32 C:n,64:f32", reduction("C", "i:n j:64 k:64r", "%vi, %vj",
        "%a = tir.load %A[%vi, %vk] : f32\n%b = tir.load %B[%vk, %vj] : f32\n%x = tir.mul %a, %b : f32"))  # fmt: skip
    out = str(DefaultSchedule("llvm -mcpu=haswell")(parse(text)))
    assert '!tir.buffer<[6, 16], f32, scope = "local">' in out
