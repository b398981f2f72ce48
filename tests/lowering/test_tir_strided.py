"""Vectors of elements that do not stand side by side: at steps of two to four, at other steps, at loaded places."""

import numpy as np
import pytest
from tir_kernels import Kernel, function, nest

RNG = np.random.default_rng(17)


def strided(step, n, count, extra=""):
    """Y[i] = A[step * i] + B[i]"""
    body = f"""%s = tir.const {step} : i64
%at = tir.mul %vi, %s : i64
{extra}
%a = tir.load %A[%at] : f32
%b = tir.load %B[%vi] : f32
%r = tir.add %a, %b : f32
tir.store %r, %Y[%vi]"""
    return function(f"A:{count}:f32 B:{n}:f32 Y:{n}:f32", nest("Y", f"i:{n}", body))


@pytest.mark.parametrize("n", [1, 15, 16, 17, 33, 64])
@pytest.mark.parametrize("step", [2, 3, 4])
def test_small_steps(step, n):
    """The array ends with the last element that is read: nothing behind it is."""
    kernel = Kernel(strided(step, n, step * (n - 1) + 1))
    if n > 16:
        assert "vector.shuffle" in kernel.loops
    a, b = (RNG.standard_normal(k).astype("float32") for k in (step * (n - 1) + 1, n))
    y = np.zeros(n, "float32")
    kernel(a, b, y)
    np.testing.assert_array_equal(y, a[::step] + b)


@pytest.mark.parametrize("n", [0, 1, 5, 40])
@pytest.mark.parametrize("step", [2, 4, 7])
def test_steps_of_any_number_of_elements(step, n):
    kernel = Kernel(strided(step, "n", f"n*{step}"))
    a, b, y = RNG.standard_normal(n * step), RNG.standard_normal(n), np.zeros(n, "float32")
    a, b = a.astype("float32"), b.astype("float32")
    kernel(a, b, y, n=n)
    np.testing.assert_array_equal(y, a[::step] + b)


@pytest.mark.parametrize("dtype", ["f64", "i8", "i32"])
def test_steps_of_two_in_other_types(dtype):
    text = strided(2, 43, 86).replace("f32", dtype)
    numpy_dtype = {"f64": "float64", "i8": "int8", "i32": "int32"}[dtype]
    a, b = (RNG.integers(-50, 50, k).astype(numpy_dtype) for k in (86, 43))
    y = np.zeros(43, numpy_dtype)
    Kernel(text)(a, b, y)
    np.testing.assert_array_equal(y, a[::2] + b)


@pytest.mark.parametrize("n", [3, 30, 50])
def test_a_step_of_two_where_a_condition_varies(n):
    """Lanes that do not run are not loaded: A ends where the condition does."""
    body = """%two = tir.const 2 : i64
%at = tir.mul %vi, %two : i64
%end = tir.const 41 : i64
%in = tir.lt %at, %end : i64
%r = tir.if_then_else %in {
  %a = tir.load %A[%at] : f32
  tir.yield %a : f32
} else {
  %z = tir.const -1.0 : f32
  tir.yield %z : f32
}
tir.store %r, %Y[%vi]"""
    kernel = Kernel(function(f"A:41:f32 Y:{n}:f32", nest("Y", f"i:{n}", body)))
    a, y = RNG.standard_normal(41).astype("float32"), np.zeros(n, "float32")
    kernel(a, y)
    expected = np.full(n, -1, "float32")
    expected[:21] = a[::2][:n]
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(("dtype", "index"), [("f64", "i64"), ("i32", "i32"), ("i64", "i16"), ("f16", "i64")])
def test_what_is_gathered(dtype, index):
    """Y[i] = A[I[i]], of 32 and 64 bits at once, of others lane by lane."""
    place = "%at = tir.load %I[%vi] : " + index
    place += "" if index == "i64" else f"\n%wide = tir.cast %at : {index} -> i64"
    body = f"{place}\n%a = tir.load %A[%{'at' if index == 'i64' else 'wide'}] : {dtype}\ntir.store %a, %Y[%vi]"
    kernel = Kernel(function(f"A:40:{dtype} I:37:{index} Y:37:{dtype}", nest("Y", "i:37", body)))
    assert ("llvm.masked.gather" in kernel.loops) == (dtype != "f16")
    kind = {"f": "float", "i": "int"}[dtype[0]] + dtype[1:]
    a, places = RNG.integers(-99, 99, 40).astype(kind), RNG.integers(0, 40, 37).astype("int" + index[1:])
    y = np.zeros(37, kind)
    kernel(a, places, y)
    np.testing.assert_array_equal(y, a[places])


@pytest.mark.parametrize("n", [0, 3, 16, 37])
def test_a_gather(n):
    """Y[i] = A[I[i]] * B[i]: the places are loaded; the lanes that are left over run one by one."""
    body = """%at = tir.load %I[%vi] : i64
%a = tir.load %A[%at] : f32
%b = tir.load %B[%vi] : f32
%r = tir.mul %a, %b : f32
tir.store %r, %Y[%vi]"""
    kernel = Kernel(function("A:9:f32 I:n:i64 B:n:f32 Y:n:f32", nest("Y", "i:n", body)))
    assert "llvm.masked.gather" in kernel.loops
    a, b = (RNG.standard_normal(k).astype("float32") for k in (9, n))
    places, y = RNG.integers(0, 9, n), np.zeros(n, "float32")
    kernel(a, places, b, y, n=n)
    np.testing.assert_array_equal(y, a[places] * b)
