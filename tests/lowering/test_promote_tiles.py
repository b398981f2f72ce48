"""`promote-tiles`: which buffers become values, and that programs compute the same then."""

import numpy as np
import pytest
from strength import thinned
from xdsl.context import Context
from xdsl.dialects import memref

from tirax.lowering.tir_to_scf import PromoteTiles

HEAD = """func.func @f(%x: memref<?xi64>, %y: memref<?xi64>, %n: i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant 1 : i64
  %seven = arith.constant 7 : i64
  %m = arith.index_cast %n : i64 to index
  %few = arith.cmpi slt, %n, %seven : i64
  %t = memref.alloca() : memref<4xi64>
"""
GET, PUT = "memref.load %t[{}] : memref<4xi64>", "memref.store {}, %t[{}] : memref<4xi64>"
OUT = """
  memref.store %r, %y[%c0] : memref<?xi64>
  func.return
}"""
INIT = f"  {PUT.format('%one', '%c0')}\n  {PUT.format('%seven', '%c1')}\n"
STEP = f"""
    %a = {GET.format("%c0")}
    %v = memref.load %x[%i] : memref<?xi64>
    %b = arith.addi %a, %v : i64
    {PUT.format("%b", "%c0")}
"""
RESULT = f"  %p = {GET.format('%c0')}\n  %q = {GET.format('%c1')}\n  %r = arith.muli %p, %q : i64"

# name -> (body, whether the buffer goes)
CASES = {
    "a loop": (INIT + "scf.for %i = %c0 to %m step %c1 {" + STEP + "}\n" + RESULT, True),
    "loops in a loop": (
        INIT + "scf.for %o = %c0 to %c3 step %c1 { scf.for %i = %c0 to %m step %c1 {" + STEP + "} }\n" + RESULT, True),
    "two loops in a loop": (
        INIT + "scf.for %o = %c0 to %c3 step %c1 { scf.for %i = %c0 to %m step %c1 {" + STEP
        + "}\nscf.for %i = %c0 to %c2 step %c1 {" + STEP + "} }\n" + RESULT, True),
    "a tile that each iteration begins anew": (
        "scf.for %o = %c0 to %c3 step %c1 {\n" + INIT + "scf.for %i = %c0 to %m step %c1 {" + STEP + "}\n" + RESULT
        + "\nmemref.store %r, %y[%o] : memref<?xi64> }\n%r = arith.addi %one, %n : i64", True),
    "one branch": (INIT + "scf.if %few {" + PUT.format("%seven", "%c0") + "}\n" + RESULT, True),
    "both branches": (
        PUT.format("%one", "%c1") + "\nscf.if %few {" + PUT.format("%seven", "%c0") + "} else {"
        + PUT.format("%n", "%c0") + "}\n" + RESULT, True),
    "a branch in a loop": (
        INIT + "scf.for %i = %c0 to %m step %c1 { scf.if %few {" + STEP + "} }\n" + RESULT, True),
    "a swap": (
        INIT + "scf.for %i = %c0 to %m step %c1 {\n%a = " + GET.format("%c0") + "\n%b = " + GET.format("%c1") + "\n"
        + PUT.format("%b", "%c0") + "\n" + PUT.format("%a", "%c1") + "\n}\n" + RESULT.replace("muli", "subi"), True),
    "one branch, without a value before": (
        PUT.format("%one", "%c1") + "\nscf.if %few {" + PUT.format("%seven", "%c0") + "}\n" + RESULT, False),
    "a loop, without a value before": (
        PUT.format("%one", "%c1") + "\nscf.for %i = %c0 to %m step %c1 {" + PUT.format("%seven", "%c0")
        + "}\n" + RESULT, False),
    "a place that is computed": (
        INIT + "%k = arith.remui %m, %c2 : index\n" + PUT.format("%n", "%k") + "\n" + RESULT, False),
    "an address that is taken": (
        INIT + '%u = "memref.cast"(%t) : (memref<4xi64>) -> memref<?xi64>\n' + RESULT, False),
}  # fmt: skip


@thinned("name", CASES, 5)
def test_the_meaning_stays(backend, name):
    body, goes = CASES[name]
    source = HEAD + body + OUT
    module = backend.parse(source)
    PromoteTiles().apply(Context(), module)
    module.verify()
    assert any(isinstance(op, memref.AllocaOp) for op in module.walk()) is not goes
    if "without" in name:
        return  # what is read there was never written
    for n in (0, 1, 2, 9):
        x = np.arange(3, 20)
        expected, actual = np.zeros(4, np.int64), np.zeros(4, np.int64)
        backend.call(source, x, expected, n)
        backend.call(str(module), x, actual, n)
        np.testing.assert_array_equal(actual, expected)


VECTORS = """func.func @f(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %t = memref.alloca() : memref<16xf32>
  %v = vector.load %x[%c0] : memref<?xf32>, vector<8xf32>
  vector.store %v, %t[%c0] : memref<16xf32>, vector<8xf32>
  %w = vector.load %t[PLACE] : memref<16xf32>, vector<WIDTHxf32>
  vector.store %w, %y[%c0] : memref<?xf32>, vector<WIDTHxf32>
  func.return
}"""


@pytest.mark.parametrize(("place", "width", "goes"), [("%c0", 8, True), ("%c0", 4, False), ("%c4", 4, False)])
def test_slots_that_overlap_stay(backend, place, width, goes):
    module = backend.parse(VECTORS.replace("PLACE", place).replace("WIDTH", str(width)))
    PromoteTiles().apply(Context(), module)
    assert any(isinstance(op, memref.AllocaOp) for op in module.walk()) is not goes
