"""Views, globals and atomic updates of memrefs, beside numpy; a row each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mlir_kernels import A, check_memref, compiled
from strength import thinned

from tirax.diagnostics import UnsupportedError
from tirax.frontend.mlir import from_mlir
from tirax.script import parse_mlir

ROWS: dict[str, tuple[str, Any]] = {
    "reinterpret": (
        """
%m = memref.reinterpret_cast %x to offset: [2], sizes: [3, 4], strides: [8, 1] :
  memref<4x8xf32> to memref<3x4xf32, strided<[8, 1], offset: 2>>
memref.copy %m, %y : memref<3x4xf32, strided<[8, 1], offset: 2>> to memref<3x4xf32>
""",
        A[:3, 2:6],
    ),
    "reshapes": (
        """
%m = memref.collapse_shape %x [[0, 1]] : memref<4x8xf32> into memref<32xf32>
%n = memref.expand_shape %m [[0, 1]] output_shape [8, 4] : memref<32xf32> into memref<8x4xf32>
%t = memref.transpose %n (a, b) -> (b, a) : memref<8x4xf32> to memref<4x8xf32, strided<[1, 4]>>
memref.copy %t, %y : memref<4x8xf32, strided<[1, 4]>> to memref<4x8xf32>
""",
        A.reshape(8, 4).T,
    ),
    "meta": (
        """
%b, %o, %s:2, %t:2 = memref.extract_strided_metadata %x : memref<4x8xf32> -> memref<f32>, index, index, index,
  index, index
%m = memref.reinterpret_cast %b to offset: [%c1], sizes: [4, 4], strides: [%t#0, 2] :
  memref<f32> to memref<4x4xf32, strided<[?, 2], offset: ?>>
memref.copy %m, %y : memref<4x4xf32, strided<[?, 2], offset: ?>> to memref<4x4xf32>
""",
        A[:, 1::2],
    ),
    "atomic": (
        """
scf.for %i = %c0 to %c8 step %c1 {
%v = memref.load %x[%c0, %i] : memref<4x8xf32>
%o = memref.atomic_rmw addf %v, %y[%c0] : (f32, memref<2xf32>) -> f32
%p = memref.generic_atomic_rmw %y[%c1] : memref<2xf32> {
^bb0(%old: f32):
  %n = arith.maximumf %old, %v : f32
  memref.atomic_yield %n : f32
}
}
""",
        [A[0].sum(), max(0, A[0].max())],
    ),
    "scope": (
        """
%r = memref.alloca_scope -> (f32) {
%a = memref.alloca() : memref<4xf32>
%v = memref.load %x[%c0, %c1] : memref<4x8xf32>
memref.store %v, %a[%c2] : memref<4xf32>
%w = memref.load %a[%c2] : memref<4xf32>
memref.alloca_scope.return %w : f32
}
memref.store %r, %y[%c0] : memref<1xf32>
""",
        [A[0, 1]],
    ),
    "view": (
        """
%b = memref.alloc() : memref<64xi8>
%m = memref.view %b[%c0][] : memref<64xi8> to memref<16xf32>
%v = memref.load %x[%c0, %c1] : memref<4x8xf32>
memref.store %v, %m[%c1] : memref<16xf32>
%w = memref.load %m[%c1] : memref<16xf32>
memref.store %w, %y[%c0] : memref<1xf32>
""",
        [A[0, 1]],
    ),
}


@thinned("name", list(ROWS), 3)
def test_memrefs(name: str) -> None:
    check_memref(*ROWS[name])


def test_a_constant_global() -> None:
    y = np.ones(4, "float32")
    compiled("""
memref.global "private" constant @k : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
func.func @main(%y: memref<4xf32>) {
  %k = memref.get_global @k : memref<4xf32>
  linalg.add ins(%k, %y : memref<4xf32>, memref<4xf32>) outs(%y : memref<4xf32>)
  return
}""")(y)
    np.testing.assert_array_equal(y, [2, 3, 4, 5])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%k = memref.get_global @k : memref<4xf32>", "the global @k"),
        ("%s = memref.subview %y[1] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1], offset: 1>>\n"
         "%r = memref.reinterpret_cast %s to offset: [0], sizes: [1], strides: [1] : "
         "memref<2xf32, strided<[1], offset: 1>> to memref<1xf32>", "of a part of a memref"),
        ("%b = memref.alloc() : memref<16xi8>\n%c0 = arith.constant 0 : index\n"
         "%v = memref.view %b[%c0][] : memref<16xi8> to memref<4xf32>\n"
         "%w = memref.view %b[%c0][] : memref<16xi8> to memref<4xi32>", "that others use, too"),
    ],
)  # fmt: skip
def test_what_cannot_be_seen_is_refused(body: str, message: str) -> None:
    text = f"""
memref.global "private" @k : memref<4xf32> = dense<1.0>
func.func @main(%y: memref<4xf32>) {{
{body}
  return
}}"""
    with pytest.raises(UnsupportedError, match=message):
        from_mlir(parse_mlir(text))
