"""Sizes that do not fit: what is computed of them must not wrap around, trap, or let a kernel out of its arrays."""

from __future__ import annotations

import re

import numpy as np
import pytest
from strength import only_full, thinned

from tirax.diagnostics import ShapeError
from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.script import parse_source

FOUR = """
tir.func private @four(%A: !tir.buffer<[n * 4], f32>, %n: i64) attributes {tir.noalias = true} {
  tir.for %i = 0 for n { tir.for %j = 0 for 4 {
    %c4 = tir.const 4 : i64
    %a = tir.mul %i, %c4 : i64
    %k = tir.add %a, %j : i64
    %v = tir.const 1.0 : f32
    tir.store %v, %A[%k]
  } }
}
"""


def test_extents_that_overflow(in_process):
    """n * 4 is 0 modulo 2**64 for n = 2**62: the array would be empty, and the kernel would write 2**64 elements."""
    printed = in_process(f'''
ex = compiled("""{FOUR}
relax.func @made(%s: !relax.shape<[n]>) -> !relax.tensor<[n * 4], f32> {{
  %a = relax.call_tir @four() tir_vars [n] : !relax.tensor<[n * 4], f32>
  relax.return %a : !relax.tensor<[n * 4], f32>
}}
relax.func @given(%s: !relax.shape<[n]>, %x: !relax.tensor<[n * 4], f32>) -> !relax.tensor<[n * 4], f32> {{
  relax.return %x : !relax.tensor<[n * 4], f32>
}}
relax.func @value(%s: !relax.shape<[n, m]>) -> !relax.shape<[n * m, n + m]> {{
  %a = relax.shape [n * m, n + m]
  relax.return %a : !relax.shape<[n * m, n + m]>
}}
""")
print(ex["made"]((2,)).tolist(), ex["value"]((3, 4)))
for n in (2**61, 2**62, 2**62 + 1, 2**63 - 1):
    attempt(ex["made"], (n,))
    attempt(ex["given"], (n,), np.zeros(0, np.float32))
    attempt(ex["value"], (n, n))
''').splitlines()
    assert printed[0] == "[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0] (12, 7)"
    assert len(printed) == 13
    assert all(line.startswith("ShapeError") for line in printed[1:])


@only_full
def test_divisions_that_trap(in_process):
    printed = in_process('''
ex = compiled("""
relax.func @main(%a: !relax.prim<i64, n>, %b: !relax.prim<i64, m>) -> !relax.shape<[n floordiv m, n mod m]> {
  %s = relax.shape [n floordiv m, n mod m]
  relax.return %s : !relax.shape<[n floordiv m, n mod m]>
}""")
print(ex["main"](-7, 2))
for n, m in ((-2**63, -1), (-2**63, 0), (7, 0)):
    attempt(ex["main"], n, m)
''').splitlines()
    assert printed[0] == "(-4, 1)"
    assert [line.partition(" ")[0] for line in printed[1:]] == ["ShapeError"] * 3


@only_full
def test_kernels_that_divide_by_an_extent(in_process):
    """What is divided by an extent of 0 is 0; what is read there is refused, as the empty array has nothing."""
    printed = in_process('''
ex = compiled("""
tir.func @values(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[3, m], i64>) {
  tir.for %i = 0 for m {
    %n = sym.value n : i64
    %row0 = tir.const 0 : i64
    %row1 = tir.const 1 : i64
    %row2 = tir.const 2 : i64
    %q = tir.floordiv %i, %n : i64
    %r = tir.floormod %i, %n : i64
    %s = sym.value (m + 1) floordiv n + (m + 1) mod n : i64
    tir.store %q, %B[%row0, %i]
    tir.store %r, %B[%row1, %i]
    tir.store %s, %B[%row2, %i]
  }
}
tir.func @read(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[m], f32>) {
  tir.for %i = 0 for m {
    %n = sym.value n : i64
    %r = tir.floormod %i, %n : i64
    %v = tir.load %A[%r] : f32
    tir.store %v, %B[%i]
  }
}
tir.func @gather(%A: !tir.buffer<[n], f32>, %I: !tir.buffer<[m], i64>, %B: !tir.buffer<[m], f32>) {
  tir.for parallel %i = 0 for m {
    %k = tir.load %I[%i] : i64
    %v = tir.load %A[%k] : f32
    tir.store %v, %B[%i]
  }
}""")
for n in (0, 2):
    b = np.full((3, 5), 7)
    ex["values"](np.ones(n, "f4"), b)
    print(b.tolist())
    for m in (0, 4):
        attempt(ex["read"], np.ones(n, "f4"), np.zeros(m, "f4"))
        attempt(ex["gather"], np.ones(n, "f4"), np.zeros(m, "i8"), np.zeros(m, "f4"))
''').splitlines()
    nothing = "the function reads index 0 of dimension 0 of 'A'"
    assert printed == [
        str([[0] * 5] * 3),
        *["None"] * 2,
        *[f"ShapeError '{name}': {nothing}" for name in ("read", "gather")],
        str([[0, 0, 1, 1, 2], [0, 1, 0, 1, 0], [3] * 5]),
        *["None"] * 4,
    ]


def test_numbers_that_are_no_extents(in_process):
    """A number given as R.Prim may be negative; the first tensor of the arena must not move the second before it."""
    printed = in_process('''
ex = compiled("""
tir.func private @fill(%A: !tir.buffer<[n], f32>) attributes {tir.noalias = true} {
  tir.for %i = 0 for n {
    %v = tir.const 1.0 : f32
    tir.store %v, %A[%i]
  }
}
tir.func private @sum(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[m], f32>, %C: !tir.buffer<[m], f32>)
    attributes {tir.noalias = true} {
  tir.for %i = 0 for m {
    %v = tir.load %B[%i] : f32
    tir.store %v, %C[%i]
  }
}
relax.func @made(%a: !relax.prim<i64, n>) -> !relax.tensor<[n], f32> {
  %a1 = relax.call_tir @fill() : !relax.tensor<[n], f32>
  relax.return %a1 : !relax.tensor<[n], f32>
}
relax.func @arena(%a: !relax.prim<i64, n>, %b: !relax.prim<i64, m>) -> !relax.tensor<[m], f32> {
  %a1 = relax.call_tir @fill() : !relax.tensor<[n], f32>
  %b1 = relax.call_tir @fill() : !relax.tensor<[m], f32>
  %c1 = relax.call_tir @sum(%a1, %b1) : !relax.tensor<[m], f32>
  relax.return %c1 : !relax.tensor<[m], f32>
}
""")
print(ex["made"](2).tolist(), ex["arena"](1, 2).tolist())
for n in (-1, -2**63, 2**62):
    attempt(ex["made"], n)
for n, m in ((-2**30, 3), (-1, -1), (-2**62, 2**62), (2, -1)):
    attempt(ex["arena"], n, m)
''').splitlines()
    assert printed[0] == "[1.0, 1.0] [1.0, 1.0]"
    assert len(printed) == 8
    assert all(line.startswith("ShapeError") for line in printed[1:])


@only_full
def test_products_of_extents_that_overflow(in_process):
    printed = in_process('''
ex = compiled("""
tir.func private @fill(%A: !tir.buffer<[n, m], f32>) attributes {tir.noalias = true} {
  tir.for %i = 0 for n { tir.for %j = 0 for m {
    %v = tir.const 1.0 : f32
    tir.store %v, %A[%i, %j]
  } }
}
tir.func private @copy(%A: !tir.buffer<[n, m], f32>, %B: !tir.buffer<[n, m], f32>) attributes {tir.noalias = true} {
  tir.for %i = 0 for n { tir.for %j = 0 for m {
    %v = tir.load %A[%i, %j] : f32
    tir.store %v, %B[%i, %j]
  } }
}
relax.func @main(%s: !relax.shape<[n, m]>) -> !relax.tensor<[n, m], f32> {
  %a = relax.call_tir @fill() : !relax.tensor<[n, m], f32>
  %b = relax.call_tir @copy(%a) : !relax.tensor<[n, m], f32>
  relax.return %b : !relax.tensor<[n, m], f32>
}""")
print(ex["main"]((1, 2)).tolist(), ex["main"]((0, 5)).shape)
for shape in ((2**32, 2**32), (2**31, 2**33), (2**62, 4), (2**32, 2**30), (2**61, 8)):
    attempt(ex["main"], shape)
''').splitlines()
    assert printed[0] == "[[1.0, 1.0]] (0, 5)"
    assert len(printed) == 6
    assert all(line.startswith("ShapeError") for line in printed[1:])


@only_full
def test_outputs_that_do_not_fit_the_kernel(in_process):
    """What a call says of its output is compared with the buffer that the kernel writes, at build or at run time."""
    printed = in_process("""
def function(call, result):
    return f"relax.func @main(%x: !T) -> {result} {{ %a = relax.{call}(%x) : {result} relax.return %a : {result} }}"

fixed = compiled(function("call_tir @inc", "!relax.tensor<[2, 4], f32>"))["main"]
print(fixed(np.zeros((2, 4), np.float32)).shape)
attempt(fixed, np.zeros((1000, 4), np.float32))
for call in ("call_tir @inc", 'call_dps_packed "inc"'):
    for result in ("[n, 3], f32", "[n * 4], f32", "[n, 4], f64", "[n - 1, 4], f32", "[m, 4], f32"):
        attempt(compiled, function(call, f"!relax.tensor<{result}>"))
less = compiled(function("call_tir @inc", "!relax.tensor<[n floordiv 2, 4], f32>"))["main"]
attempt(less, np.zeros((1000, 4), np.float32))
print(less(np.zeros((0, 4), np.float32)).shape)
""").splitlines()
    assert printed[0] == "(2, 4)"
    assert printed[-1] == "(0, 4)"
    assert len(printed) == 14
    assert all(line.startswith(("ShapeError", "DTypeError")) for line in printed[1:-1])


def test_zero_and_no_dimensions(compiled):
    ex = compiled("""
    tir.func private @copy(%A: !tir.buffer<[], f32>, %B: !tir.buffer<[], f32>) attributes {tir.noalias = true} {
      %v = tir.load %A[] : f32
      tir.store %v, %B[]
    }
    relax.func @scalar(%x: !relax.tensor<[], f32>) -> !relax.tensor<[], f32> {
      %a = relax.call_tir @copy(%x) : !relax.tensor<[], f32>
      relax.return %a : !relax.tensor<[], f32>
    }
    relax.func @main(%x: !T) -> !T {
      %a = relax.call_tir @inc(%x) : !T
      %b = relax.call_tir @inc(%a) : !T
      relax.return %b : !T
    }""")
    assert ex["scalar"](np.float32(3)).shape == ()
    assert ex["scalar"](np.array(3, np.float32))[()] == 3
    for empty in (np.zeros((0, 4), np.float32), np.zeros((5, 4), np.float32)[3:3], np.zeros((4, 0), np.float32).T):
        assert ex["main"](empty).shape == (0, 4)


OPERATORS = {
    "matmul": ("R.matmul(x, y)", '("n", "k")', '("l", "m")', [(2, 3), (3, 2)], [(2, 5), (3, 2)]),
    "matmul_batch": (
        "R.matmul(x, y)",
        '("b", 2, "k")',
        '("b", "l", 2)',
        [(2, 2, 3), (2, 3, 2)],
        [(1, 2, 9), (1, 3, 2)],
    ),
    "matmul_vector": ("R.matmul(x, y)", '("k",)', '("l",)', [(3,), (3,)], [(500,), (3,)]),
    "concat": ("R.concat((x, y), axis=0)", '("n", "k")', '("l", "m")', [(2, 3), (4, 3)], [(2, 5), (4, 3)]),
    "layer_norm": ("R.nn.layer_norm(x, y, y, axes=[-1])", '("n", "k")', '("l",)', [(2, 3), (3,)], [(2, 500), (3,)]),
    "rms_norm": ("R.nn.rms_norm(x, y, axes=[-1])", '("n", "k")', '("l",)', [(2, 3), (3,)], [(2, 500), (3,)]),
    "reshape": ("R.reshape(x, (l,))", '("n", "k")', '("l",)', [(2, 3), (6,)], [(2, 3), (50,)]),
    "reshape_empty": ("R.reshape(x, (l,))", '("n", "k")', '("l",)', [(0, 3), (0,)], [(0, 3), (3,)]),
    "broadcast_to": ("R.broadcast_to(x, (k, l))", '("n",)', '("k", "l")', [(3,), (2, 3)], [(3,), (2, 500)]),
}


@thinned("name", OPERATORS, 3)
def test_symbolic_extents_that_an_operator_needs_equal(name):
    """Nothing says before the call that they are equal: the kernel would read beyond the smaller tensor."""
    text, x, y, good, bad = OPERATORS[name]
    known = sorted(set(re.findall(r'"(\w)"', x + y)))
    declare = "\n".join(f"    {v} = T.int64()" for v in known)
    module = parse_source(f"""
@R.function
def main(x: R.Tensor({x}, "float32"), y: R.Tensor({y}, "float32")):
{declare}
    with R.dataflow():
        a = R.exp(x)
        b = {text.replace("(x", "(a").replace("((x", "((a")}
        c = R.exp(b)
        R.output(c)
    return c
""")
    main = build(module)["main"]
    arrays = [np.random.default_rng(0).random(shape, np.float32) for shape in good]
    np.testing.assert_allclose(main(*arrays), interpret(module, "main", arrays), rtol=1e-5)
    with pytest.raises(ShapeError, match=f"{name.partition('_')[0]}.*_extents"):
        main(*(np.zeros(shape, np.float32) for shape in bad))


def test_numbers_that_do_not_fit_a_parameter(compiled):
    ex = compiled("""
    tir.func private @store(%A: !tir.buffer<[n], i32>, %m: i32) attributes {tir.noalias = true} {
      tir.for %i = 0 for n {
        tir.store %m, %A[%i]
      }
    }
    relax.func @main(%x: !relax.tensor<[n], f32>, %s: !relax.prim<i64, m>) -> !relax.tensor<[n], i32> {
      %a = relax.call_tir @store() tir_vars [m] : !relax.tensor<[n], i32>
      relax.return %a : !relax.tensor<[n], i32>
    }""")
    x = np.zeros(2, np.float32)
    for fits in (-(2**31), -1, 2**31 - 1):
        assert ex["main"](x, fits).tolist() == [fits] * 2
    for m in (2**31, 2**32 + 5, -(2**31) - 1):
        with pytest.raises(ShapeError, match="'m' of 'store' does not fit int32"):
            ex["main"](x, m)
