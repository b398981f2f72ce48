"""Loops of scf and affine, on memrefs and over tensors, beside numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mlir_kernels import A, check_memref, check_results
from strength import thinned

from tirax.diagnostics import ShapeError
from tirax.frontend.mlir import from_mlir
from tirax.script import parse_mlir


def _triangle() -> Any:
    expected = np.zeros_like(A)
    for i in range(4):
        for j in range(max(0, i - 1), min(i + 2, 8), 2):
            expected[i, j] = A[i, j] if j >= i else A[i, 0]
    return expected


def _permuted() -> Any:
    expected = np.zeros(8, "float32")
    for i in range(8):
        place = i % 4 * 2 + i // 4
        expected[place] = A[0, i] + A[1, max(2, place)]
    return expected


ROWS: dict[str, tuple[str, Any]] = {
    "loopvec": (
        """
%k = arith.constant dense<0.0> : vector<8xf32>
%r = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %k) -> (vector<8xf32>) {
%v = vector.load %x[%i, %c0] : memref<4x8xf32>, vector<8xf32>
%t = arith.addf %s, %v : vector<8xf32>
scf.yield %t : vector<8xf32>
}
vector.transfer_write %r, %y[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
""",
        A.sum(0),
    ),
    "affine": (
        """
affine.for %i = 0 to 4 {
 affine.for %j = max affine_map<(d0) -> (0, d0 - 1)>(%i) to min affine_map<(d0)[s0] -> (d0 + 2, s0)>(%i)[%c8] step 2 {
  affine.if affine_set<(d0, d1) : (d0 - d1 >= 0)>(%j, %i) {
   %v = affine.load %x[%i, %j + symbol(%c1) - 1] : memref<4x8xf32>
   affine.store %v, %y[%i, %j] : memref<4x8xf32>
  } else {
   %v = affine.load %x[%i, 0] : memref<4x8xf32>
   affine.store %v, %y[%i, %j] : memref<4x8xf32>
  }
 }
}
""",
        _triangle(),
    ),
    "affpar": (
        """
%r = affine.parallel (%i, %j) = (0, 0) to (4, symbol(%c8)) step (1, 2) reduce ("addf") -> (f32) {
   %v = affine.load %x[%i, %j] : memref<4x8xf32>
   affine.yield %v : f32
 }
 memref.store %r, %y[%c0] : memref<1xf32>
""",
        [A[:, ::2].sum()],
    ),
    "delin": (
        """
scf.for %i = %c0 to %c8 step %c1 {
 %a, %b = affine.delinearize_index %i into (2, 4) : index, index
 %k = affine.linearize_index disjoint [%b, %a] by (4, 2) : index
 %m = affine.max affine_map<(d0)[s0] -> (d0, s0)>(%k)[%c2]
 %v = memref.load %x[%c0, %i] : memref<4x8xf32>
 %w = memref.load %x[%c1, %m] : memref<4x8xf32>
 %s = arith.addf %v, %w : f32
 memref.store %s, %y[%k] : memref<8xf32>
}
""",
        _permuted(),
    ),
    "parred": (
        """
%r:2 = scf.parallel (%i, %j) = (%c0, %c0) to (%c4, %c8) step (%c1, %c1) init (%z, %z) -> (f32, f32) {
   %v = memref.load %x[%i, %j] : memref<4x8xf32>
   scf.reduce(%v, %v : f32, f32) {
   ^bb0(%a: f32, %b: f32):
     %s = arith.addf %a, %b : f32
     scf.reduce.return %s : f32
   }, {
   ^bb0(%a: f32, %b: f32):
     %s = arith.maximumf %a, %b : f32
     scf.reduce.return %s : f32
   }
 }
 %t = arith.addf %r#0, %r#1 : f32
 memref.store %t, %y[%c0] : memref<1xf32>
""",
        [A.sum() + A.max()],
    ),
    "switch": (
        """
scf.for %i = %c0 to %c8 step %c1 {
%r = scf.index_switch %i -> f32
case 2 {
 %v = memref.load %x[%c0, %i] : memref<4x8xf32>
 scf.yield %v : f32 }
case 5 {
 %v = memref.load %x[%c1, %i] : memref<4x8xf32>
 scf.yield %v : f32 }
default { scf.yield %z : f32 }
memref.store %r, %y[%i] : memref<8xf32>
}
""",
        [0, 0, A[0, 2], 0, 0, A[1, 5], 0, 0],
    ),
}


@thinned("name", list(ROWS), 3)
def test_loops(name: str) -> None:
    check_memref(*ROWS[name])


def test_a_loop_carries_tensors_and_swaps_them() -> None:
    x, y = A[0, :4].copy(), A[0, 4:].copy()
    check_results(
        "%x: tensor<4xf32>, %y: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>)",
        """
%r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = arith.addf %a, %b : tensor<4xf32>
  scf.yield %b, %c : tensor<4xf32>, tensor<4xf32>
}
return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>""",
        (x, y, 3),
        x + 2 * y,
        2 * x + 3 * y,
    )


def test_a_loop_over_rows_of_any_number() -> None:
    check_results(
        "%x: tensor<?x8xf32>) -> tensor<8xf32>",
        """
%n = tensor.dim %x, %c0 : tensor<?x8xf32>
%e = tensor.empty() : tensor<8xf32>
%s = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
%r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %s) -> (tensor<8xf32>) {
  %p = tensor.extract_slice %x[%i, 0] [1, 8] [1, 1] : tensor<?x8xf32> to tensor<8xf32>
  %b = arith.addf %a, %p : tensor<8xf32>
  scf.yield %b : tensor<8xf32>
}
return %r : tensor<8xf32>""",
        (A,),
        A.sum(0),
    )


def test_tiles_of_a_product() -> None:
    """What the transform dialect makes of a matmul."""
    w, out = A.T.copy(), np.ones((4, 4), "float32")
    check_results(
        "%x: tensor<4x8xf32>, %w: tensor<8x4xf32>, %o: tensor<4x4xf32>) -> tensor<4x4xf32>",
        """
%r = scf.forall (%i, %j) in (2, 2) shared_outs(%a = %o) -> (tensor<4x4xf32>) {
  %i2 = affine.apply affine_map<(d0) -> (d0 * 2)>(%i)
  %j2 = affine.apply affine_map<(d0) -> (d0 * 2)>(%j)
  %p = tensor.extract_slice %x[%i2, 0] [2, 8] [1, 1] : tensor<4x8xf32> to tensor<2x8xf32>
  %q = tensor.extract_slice %w[0, %j2] [8, 2] [1, 1] : tensor<8x4xf32> to tensor<8x2xf32>
  %b = tensor.extract_slice %a[%i2, %j2] [2, 2] [1, 1] : tensor<4x4xf32> to tensor<2x2xf32>
  %m = linalg.matmul ins(%p, %q : tensor<2x8xf32>, tensor<8x2xf32>) outs(%b : tensor<2x2xf32>) -> tensor<2x2xf32>
  scf.forall.in_parallel {
    tensor.parallel_insert_slice %m into %a[%i2, %j2] [2, 2] [1, 1] : tensor<2x2xf32> into tensor<4x4xf32>
  }
}
return %r : tensor<4x4xf32>""",
        (A, w, out),
        A @ w + 1,
    )


def test_a_loop_that_ends_by_its_tensor() -> None:
    x = np.array([3, 1, 2, 0.5], "float32")
    check_results(
        "%x: tensor<4xf32>) -> (tensor<4xf32>, i32)",
        """
%k = arith.constant 0 : i32
%one = arith.constant 1 : i32
%limit = arith.constant 100.0 : f32
%r:2 = scf.while (%a = %x, %i = %k) : (tensor<4xf32>, i32) -> (tensor<4xf32>, i32) {
  %v = tensor.extract %a[%c0] : tensor<4xf32>
  %c = arith.cmpf olt, %v, %limit : f32
  scf.condition(%c) %a, %i : tensor<4xf32>, i32
} do {
^bb0(%a: tensor<4xf32>, %i: i32):
  %b = arith.addf %a, %a : tensor<4xf32>
  %j = arith.addi %i, %one : i32
  scf.yield %b, %j : tensor<4xf32>, i32
}
return %r#0, %r#1 : tensor<4xf32>, i32""",
        (x,),
        x * 64,
        6,
    )


def test_a_tensor_whose_size_changes_is_refused() -> None:
    text = """
func.func @main(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<?xf32>) {
    %b = tensor.concat dim(0) %a, %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %b : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}"""
    with pytest.raises(ShapeError, match="whose size changes"):
        from_mlir(parse_mlir(text))
