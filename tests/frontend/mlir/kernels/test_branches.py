"""Branches between blocks, beside Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mlir_kernels import A, check_results, compiled

from tirax.diagnostics import UnsupportedError
from tirax.frontend.mlir import from_mlir
from tirax.script import parse_mlir


@pytest.mark.parametrize(("n", "m"), [(84, 36), (7, 0), (0, 5)])
def test_a_loop_of_numbers(n: int, m: int) -> None:
    check_results(
        "%n: i64, %m: i64) -> i64",
        """
%zero = arith.constant 0 : i64
cf.br ^h(%n, %m : i64, i64)
^h(%a: i64, %b: i64):
%c = arith.cmpi eq, %b, %zero : i64
cf.cond_br %c, ^e(%a : i64), ^b
^b:
%r = arith.remsi %a, %b : i64
cf.br ^h(%b, %r : i64, i64)
^e(%g: i64):
return %g : i64""",
        (np.int64(n), np.int64(m)),
        math.gcd(n, m),
    )


def _until_large() -> tuple[float, int]:
    total = 0.0
    for row in A:
        for place, value in enumerate(row):
            if value > 1.9:
                return total, place
            total += abs(value)
    return total, len(A)


def test_a_loop_in_a_loop_with_a_way_out() -> None:
    check_results(
        "%x: tensor<4x8xf32>) -> (f32, index)",
        """
cf.br ^o(%c0, %z : index, f32)
^o(%i: index, %s: f32):
%c = arith.cmpi slt, %i, %c4 : index
cf.cond_br %c, ^in(%c0, %s : index, f32), ^end(%s, %i : f32, index)
^in(%j: index, %t: f32):
%d = arith.cmpi slt, %j, %c8 : index
cf.cond_br %d, ^body, ^next
^body:
%v = tensor.extract %x[%i, %j] : tensor<4x8xf32>
%big = arith.constant 1.9 : f32
%e = arith.cmpf ogt, %v, %big : f32
cf.cond_br %e, ^end(%t, %j : f32, index), ^sign
^sign:
%p = arith.cmpf ogt, %v, %z : f32
cf.cond_br %p, ^add(%v : f32), ^minus
^minus:
%m = arith.negf %v : f32
cf.br ^add(%m : f32)
^add(%w: f32):
%t1 = arith.addf %t, %w : f32
%j1 = arith.addi %j, %c1 : index
cf.br ^in(%j1, %t1 : index, f32)
^next:
%i1 = arith.addi %i, %c1 : index
cf.br ^o(%i1, %t : index, f32)
^end(%q: f32, %k: index):
return %q, %k : f32, index""",
        (A,),
        *_until_large(),
    )


@pytest.mark.parametrize(("n", "expected"), [(3, 30), (7, 20), (0, 10)])
def test_a_switch(n: int, expected: int) -> None:
    check_results(
        "%n: i32) -> i32",
        """
%a = arith.constant 10 : i32
%b = arith.constant 20 : i32
cf.switch %n : i32, [ default: ^d(%a : i32), 3: ^t, 7: ^d(%b : i32) ]
^t:
%c = arith.addi %a, %b : i32
cf.br ^d(%c : i32)
^d(%r: i32):
return %r : i32""",
        (np.int32(n),),
        expected,
    )


def test_memrefs_change_and_a_value_is_returned() -> None:
    main = compiled("""
func.func @main(%x: memref<?xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  cf.br ^h(%c0, %z : index, f32)
^h(%i: index, %s: f32):
  %c = arith.cmpi slt, %i, %n : index
  cf.cond_br %c, ^b, ^e
^b:
  %v = memref.load %x[%i] : memref<?xf32>
  %t = arith.addf %s, %v : f32
  memref.store %t, %x[%i] : memref<?xf32>
  %j = arith.addi %i, %c1 : index
  cf.br ^h(%j, %t : index, f32)
^e:
  return %s : f32
}""")
    x = np.arange(5, dtype="float32")
    assert float(np.asarray(main(x, 4))) == 6
    np.testing.assert_array_equal(x, [0, 1, 3, 6, 4])


def test_a_cycle_with_two_entries_is_refused() -> None:
    text = """
func.func @main(%c: i1, %d: i1) -> i1 {
  cf.cond_br %c, ^a, ^b
^a:
  cf.br ^b
^b:
  cf.cond_br %d, ^a, ^e
^e:
  return %c : i1
}"""
    with pytest.raises(UnsupportedError, match="two entries"):
        from_mlir(parse_mlir(text))
