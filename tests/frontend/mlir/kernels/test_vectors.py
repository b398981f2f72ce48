"""Vectors in functions on memrefs, beside numpy; a row each."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlir_kernels import A, check_memref
from strength import thinned


def _inserted() -> Any:
    expected = A.copy()
    expected[2, 1] = A[0, 3]
    expected[0] = expected[3]
    return expected


ROWS: dict[str, tuple[str, Any]] = {
    "copy": (
        """
%v = vector.transfer_read %x[%c0, %c0], %z {in_bounds = [true, true]} : memref<4x8xf32>, vector<4x8xf32>

vector.transfer_write %v, %y[%c0, %c0] {in_bounds = [true, true]} : vector<4x8xf32>, memref<4x8xf32>
""",
        A,
    ),
    "oob": (
        """
%v = vector.transfer_read %x[%c2, %c4], %z : memref<4x8xf32>, vector<4x8xf32>
vector.transfer_write %v, %y[%c0, %c0] {in_bounds = [true, true]} : vector<4x8xf32>, memref<4x8xf32>
""",
        np.pad(A[2:, 4:], ((0, 2), (0, 4))),
    ),
    "perm": (
        """
%v = vector.transfer_read %x[%c1, %c0], %z {permutation_map = affine_map<(a, b) -> (b, a)>} : memref<4x8xf32>,
  vector<8x4xf32>
vector.transfer_write %v, %y[%c0, %c0] {in_bounds = [true, true]} : vector<8x4xf32>, memref<8x4xf32>
""",
        np.pad(A[1:].T, ((0, 0), (0, 1))),
    ),
    "bcast": (
        """
%v = vector.transfer_read %x[%c1, %c2], %z {permutation_map = affine_map<(a, b) -> (0, b)>,
  in_bounds=[true,true]} : memref<4x8xf32>, vector<3x4xf32>
vector.transfer_write %v, %y[%c0, %c0] {in_bounds = [true, true]} : vector<3x4xf32>, memref<3x4xf32>
""",
        np.broadcast_to(A[1, 2:6], (3, 4)),
    ),
    "shape_cast": (
        """
%v = vector.transfer_read %x[%c0, %c0], %z {in_bounds = [true, true]} : memref<4x8xf32>, vector<4x8xf32>
%w = vector.shape_cast %v : vector<4x8xf32> to vector<32xf32>
vector.transfer_write %w, %y[%c0] {in_bounds = [true]} : vector<32xf32>, memref<32xf32>
""",
        A.ravel(),
    ),
    "transpose": (
        """
%v = vector.transfer_read %x[%c0, %c0], %z {in_bounds = [true, true]} : memref<4x8xf32>, vector<4x8xf32>
%w = vector.transpose %v, [1, 0] : vector<4x8xf32> to vector<8x4xf32>
vector.transfer_write %w, %y[%c0, %c0] {in_bounds = [true, true]} : vector<8x4xf32>, memref<8x4xf32>
""",
        A.T,
    ),
    "arith": (
        """
%v = vector.transfer_read %x[%c0, %c0], %z {in_bounds = [true, true]} : memref<4x8xf32>, vector<4x8xf32>
%w = arith.mulf %v, %v : vector<4x8xf32>
%u = math.exp %w : vector<4x8xf32>
vector.transfer_write %u, %y[%c0, %c0] {in_bounds = [true, true]} : vector<4x8xf32>, memref<4x8xf32>
""",
        np.exp(A * A),
    ),
    "const": (
        """
%v = vector.transfer_read %x[%c0, %c0], %z {in_bounds = [true, true]} : memref<4x8xf32>, vector<4x8xf32>
%k = arith.constant dense<2.0> : vector<4x8xf32>
%w = arith.addf %v, %k : vector<4x8xf32>
vector.transfer_write %w, %y[%c0, %c0] {in_bounds = [true, true]} : vector<4x8xf32>, memref<4x8xf32>
""",
        A + 2,
    ),
    "multired": (
        """
%v = vector.transfer_read %x[%c0, %c0], %z {in_bounds = [true, true]} : memref<4x8xf32>, vector<4x8xf32>
%k = arith.constant dense<1.0> : vector<8xf32>
%w = vector.multi_reduction <add>, %v, %k [0] : vector<4x8xf32> to vector<8xf32>
vector.transfer_write %w, %y[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
""",
        A.sum(0) + 1,
    ),
    "red": (
        """
%v = vector.transfer_read %x[%c0, %c0], %z {in_bounds = [true, true]} : memref<4x8xf32>, vector<4x8xf32>
%r = vector.extract %v[1] : vector<8xf32> from vector<4x8xf32>
%s = vector.reduction <maximumf>, %r : vector<8xf32> into f32
%t = vector.reduction <add>, %r, %s : vector<8xf32> into f32
memref.store %t, %y[%c0] : memref<1xf32>
""",
        [A[1].max() + A[1].sum()],
    ),
    "contract": (
        """
%v = vector.transfer_read %x[%c0, %c0], %z {in_bounds = [true, true]} : memref<4x8xf32>, vector<4x8xf32>
%w = vector.transpose %v, [1, 0] : vector<4x8xf32> to vector<8x4xf32>
%k = arith.constant dense<0.0> : vector<4x4xf32>
%c = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
  affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"],
  kind = #vector.kind<add>} %v, %w, %k : vector<4x8xf32>, vector<8x4xf32> into vector<4x4xf32>
vector.transfer_write %c, %y[%c0, %c0] {in_bounds = [true, true]} : vector<4x4xf32>, memref<4x4xf32>
""",
        A @ A.T,
    ),
    "outer": (
        """
%v = vector.transfer_read %x[%c0, %c0], %z {in_bounds = [true, true]} : memref<4x8xf32>, vector<4x8xf32>
%a = vector.extract %v[0] : vector<8xf32> from vector<4x8xf32>
%b = vector.extract %v[1] : vector<8xf32> from vector<4x8xf32>
%o = vector.outerproduct %a, %b : vector<8xf32>, vector<8xf32>
%p = vector.outerproduct %a, %b, %o {kind = #vector.kind<add>} : vector<8xf32>, vector<8xf32>
vector.transfer_write %p, %y[%c0, %c0] {in_bounds = [true, true]} : vector<8x8xf32>, memref<8x8xf32>
""",
        2 * np.outer(A[0], A[1]),
    ),
    "shuffle": (
        """
%v = vector.transfer_read %x[%c0, %c0], %z {in_bounds = [true, true]} : memref<4x8xf32>, vector<4x8xf32>
%a = vector.extract %v[0] : vector<8xf32> from vector<4x8xf32>
%o = vector.shuffle %a, %a [0, 9, 2, 15] : vector<8xf32>, vector<8xf32>
vector.transfer_write %o, %y[%c0] {in_bounds = [true]} : vector<4xf32>, memref<4xf32>
""",
        A[0][[0, 1, 2, 7]],
    ),
    "insert": (
        """
%v = vector.transfer_read %x[%c0, %c0], %z {in_bounds = [true, true]} : memref<4x8xf32>, vector<4x8xf32>
%a = vector.extract %v[0, 3] : f32 from vector<4x8xf32>
%o = vector.insert %a, %v[%c2, 1] : f32 into vector<4x8xf32>
%b = vector.extract %o[3] : vector<8xf32> from vector<4x8xf32>
%p = vector.insert %b, %o[0] : vector<8xf32> into vector<4x8xf32>
vector.transfer_write %p, %y[%c0, %c0] {in_bounds = [true, true]} : vector<4x8xf32>, memref<4x8xf32>
""",
        _inserted(),
    ),
    "strided": (
        """
%v = vector.transfer_read %x[%c0, %c0], %z {in_bounds = [true, true]} : memref<4x8xf32>, vector<4x8xf32>
%a = vector.extract_strided_slice %v {offsets = [1, 2], sizes = [2, 4], strides = [1, 1]} :
  vector<4x8xf32> to vector<2x4xf32>
%k = arith.constant dense<0.0> : vector<4x8xf32>
%p = vector.insert_strided_slice %a, %k {offsets = [0, 4], strides = [1, 1]} : vector<2x4xf32> into vector<4x8xf32>
vector.transfer_write %p, %y[%c0, %c0] {in_bounds = [true, true]} : vector<4x8xf32>, memref<4x8xf32>
""",
        np.pad(A[1:3, 2:6], ((0, 2), (4, 0))),
    ),
    "bc": (
        """
%s = memref.load %x[%c0, %c1] : memref<4x8xf32>
%a = vector.broadcast %s : f32 to vector<8xf32>
%b = vector.broadcast %a : vector<8xf32> to vector<2x8xf32>
vector.transfer_write %b, %y[%c0, %c0] {in_bounds = [true, true]} : vector<2x8xf32>, memref<2x8xf32>
""",
        np.full((2, 8), A[0, 1]),
    ),
    "fma": (
        """
%v = vector.transfer_read %x[%c0, %c0], %z {in_bounds = [true, true]} : memref<4x8xf32>, vector<4x8xf32>
%w = vector.fma %v, %v, %v : vector<4x8xf32>
vector.transfer_write %w, %y[%c0, %c0] {in_bounds = [true, true]} : vector<4x8xf32>, memref<4x8xf32>
""",
        A * A + A,
    ),
    "from_elements": (
        """
%s = memref.load %x[%c0, %c1] : memref<4x8xf32>
%a = vector.from_elements %s, %z, %s, %z : vector<2x2xf32>
vector.transfer_write %a, %y[%c0, %c0] {in_bounds = [true, true]} : vector<2x2xf32>, memref<2x2xf32>
""",
        [[A[0, 1], 0]] * 2,
    ),
    "masked": (
        """
%m = vector.constant_mask [3] : vector<8xi1>
%k = arith.constant dense<9.0> : vector<8xf32>
%a = vector.maskedload %x[%c1, %c0], %m, %k : memref<4x8xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
%n = vector.create_mask %c4 : vector<8xi1>
vector.maskedstore %y[%c0], %n, %a : memref<8xf32>, vector<8xi1>, vector<8xf32>
""",
        [*A[1, :3], 9, 0, 0, 0, 0],
    ),
    "mask": (
        """
%m = vector.create_mask %c3 : vector<8xi1>
%k = arith.constant 9.0 : f32
%a = vector.mask %m { vector.transfer_read %x[%c1, %c0], %k {in_bounds = [true]} : memref<4x8xf32>, vector<8xf32> }
  : vector<8xi1> -> vector<8xf32>
%n = vector.create_mask %c4 : vector<8xi1>
vector.mask %n { vector.transfer_write %a, %y[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32> } : vector<8xi1>
""",
        [*A[1, :3], 9, 0, 0, 0, 0],
    ),
    "masked sums": (
        """
%a = vector.transfer_read %x[%c0, %c0], %z {in_bounds = [true, true]} : memref<4x8xf32>, vector<4x8xf32>
%s = arith.constant dense<1.0> : vector<8xf32>
%m = vector.create_mask %c3, %c4 : vector<4x8xi1>
%b = vector.mask %m { vector.multi_reduction <add>, %a, %s [0] : vector<4x8xf32> to vector<8xf32> }
  : vector<4x8xi1> -> vector<8xf32>
vector.transfer_write %b, %y[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
""",
        [*(A[:3, :4].sum(0) + 1), 1, 1, 1, 1],
    ),
    "gather": (
        """
%m = vector.constant_mask [3] : vector<4xi1>
%k = arith.constant dense<9.0> : vector<4xf32>
%i = arith.constant dense<[3, 1, 7, 0]> : vector<4xindex>
%a = vector.gather %x[%c1, %c0] [%i], %m, %k : memref<4x8xf32>, vector<4xindex>, vector<4xi1>,
  vector<4xf32> into vector<4xf32>
vector.scatter %y[%c0] [%i], %m, %a : memref<8xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32>
""",
        [0, A[1, 1], 0, A[1, 3], 0, 0, 0, A[1, 7]],
    ),
    "expand": (
        """
%m = arith.constant dense<[1, 0, 1, 1]> : vector<4xi1>
%k = arith.constant dense<9.0> : vector<4xf32>
%a = vector.expandload %x[%c1, %c0], %m, %k : memref<4x8xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
vector.compressstore %y[%c0], %m, %a : memref<8xf32>, vector<4xi1>, vector<4xf32>
""",
        [*A[1, :3], 0, 0, 0, 0, 0],
    ),
    "inter": (
        """
%v = vector.transfer_read %x[%c0, %c0], %z {in_bounds = [true, true]} : memref<4x8xf32>, vector<4x8xf32>
%a = vector.extract %v[0] : vector<8xf32> from vector<4x8xf32>
%b = vector.extract %v[1] : vector<8xf32> from vector<4x8xf32>
%o = vector.interleave %a, %b : vector<8xf32> -> vector<16xf32>
%p, %q = vector.deinterleave %o : vector<16xf32> -> vector<8xf32>
vector.transfer_write %q, %y[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
""",
        A[1],
    ),
    "scan": (
        """
%v = vector.transfer_read %x[%c0, %c0], %z {in_bounds = [true, true]} : memref<4x8xf32>, vector<4x8xf32>
%k = arith.constant dense<0.0> : vector<8xf32>
%o:2 = vector.scan <add>, %v, %k {inclusive = true, reduction_dim = 0 : i64} : vector<4x8xf32>, vector<8xf32>
vector.transfer_write %o#0, %y[%c0, %c0] {in_bounds = [true, true]} : vector<4x8xf32>, memref<4x8xf32>
""",
        A.cumsum(0),
    ),
    "load": (
        """
%a = vector.load %x[%c1, %c2] : memref<4x8xf32>, vector<4xf32>
vector.store %a, %y[%c1] : memref<8xf32>, vector<4xf32>
""",
        [0, *A[1, 2:6], 0, 0, 0],
    ),
    "affvec": (
        """
affine.for %i = 0 to 4 {
 %v = affine.vector_load %x[%i, 4] : memref<4x8xf32>, vector<4xf32>
 affine.vector_store %v, %y[%i, 0] : memref<4x4xf32>, vector<4xf32>
}
""",
        A[:, 4:],
    ),
}


@thinned("name", list(ROWS), 6)
def test_vectors(name: str) -> None:
    check_memref(*ROWS[name])
