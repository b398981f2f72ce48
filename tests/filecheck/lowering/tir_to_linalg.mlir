// RUN: tirax-opt %s -p convert-tir-to-linalg | filecheck %s
// RUN: not tirax-opt %s -p 'convert-tir-to-linalg{strict=true}' 2>&1 | filecheck %s --check-prefix STRICT

// An init is an operation of its own, a product the named one; a part of a buffer is a subview.
// CHECK-LABEL: func.func @product(%A: memref<?x8xf32>, %B: memref<8x4xf32>, %C: memref<?x8xf32>)
// CHECK:         %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:         %[[C:.*]] = memref.subview %C[0, 0] [%{{.*}}, 4] [1, 1]
// CHECK-NEXT:    linalg.fill {tirax.block = "C_init"} ins(%[[ZERO]] : f32) outs(%[[C]] : memref<?x4xf32, strided<[8, 1]
// CHECK:         linalg.matmul {tirax.block = "C"} ins(%A, %B : memref<?x8xf32>, memref<8x4xf32>) outs(
tir.func @product(%A: !tir.buffer<[n, 8], f32>, %B: !tir.buffer<[8, 4], f32>, %C: !tir.buffer<[n, 8], f32>) {
  tir.for %i = 0 for n {
    tir.for %j = 0 for 4 {
      tir.for %k = 0 for 8 {
        tir.block "C" (%vi = spatial(%i, n), %vj = spatial(%j, 4), %vk = reduce(%k, 8)) {
          tir.init {
            %z = tir.const 0.0 : f32
            tir.store %z, %C[%vi, %vj]
          }
          %c = tir.load %C[%vi, %vj] : f32
          %a = tir.load %A[%vi, %vk] : f32
          %b = tir.load %B[%vk, %vj] : f32
          %p = tir.mul %a, %b : f32
          %s = tir.add %c, %p : f32
          tir.store %s, %C[%vi, %vj]
        }
      }
    }
  }
}

// Extents of a window that no buffer has come with an operand of their sizes.
// CHECK-LABEL: func.func @window(
// CHECK:         %[[W:.*]] = memref.alloca() : memref<3xi1>
// CHECK-NEXT:    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (((d0 * 2) + d1))>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%X, %[[W]] : memref<9xf32>, memref<3xi1>) outs(%Y : memref<4xf32>)
tir.func @window(%X: !tir.buffer<[9], f32>, %Y: !tir.buffer<[4], f32>) {
  tir.for %i = 0 for 4 {
    tir.for %k = 0 for 3 {
      tir.block "w" (%vi = spatial(%i, 4), %vk = reduce(%k, 3)) {
        %two = tir.const 2 : i64
        %d = tir.mul %vi, %two : i64
        %at = tir.add %d, %vk : i64
        %x = tir.load %X[%at] : f32
        %q = tir.mul %x, %x : f32
        %y = tir.load %Y[%vi] : f32
        %s = tir.add %y, %q : f32
        tir.store %s, %Y[%vi]
      }
    }
  }
}

// What is no structured operation becomes loops; the function says why.
// CHECK-LABEL: func.func @half(%X: memref<8xf32>)
// CHECK-SAME:    attributes {tirax.unstructured = {h = "it has a condition"}}
// CHECK:         scf.for
// CHECK:           scf.if
// CHECK:             memref.store
// STRICT: tir_to_linalg.mlir:[[# @LINE + 5]]:5: error: block "h" is no structured operation: it has a condition
tir.func @half(%X: !tir.buffer<[8], f32>) {
  tir.for %i = 0 for 8 {
    %four = tir.const 4 : i64
    %p = tir.lt %i, %four : i64
    tir.block "h" (%vi = spatial(%i, 8)) where %p {
      %z = tir.const 0.0 : f32
      tir.store %z, %X[%vi]
    }
  }
}
