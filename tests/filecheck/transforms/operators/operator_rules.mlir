// RUN: tirax-opt %s -p remove-redundant-reshape,expand-matmul-of-sum,reorder-permute-dims-after-concat,reorder-take-after-matmul --check-each | filecheck %s
// RUN: tirax-opt %s -p decompose-ops-for-inference --check-each | filecheck %s --check-prefix BN
// RUN: not tirax-opt %s -p 'decompose-ops-for-inference{func_name="reshapes_"}' 2>&1 | filecheck %s --check-prefix BAD

// BAD: unknown Relax function 'reshapes_'
// CHECK-LABEL: @reshapes
relax.func @reshapes(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[4, n], f32> {
  // CHECK-NOT: !relax.tensor<[n * 4], f32>
  %0 = relax.shape [n * 4]
  %y = relax.reshape %x, %0 : !relax.tensor<[n * 4], f32>
  %1 = relax.shape [4, n]
  // CHECK: %z = relax.reshape %x, %{{.*}} : !relax.tensor<[4, n], f32>
  %z = relax.reshape %y, %1 : !relax.tensor<[4, n], f32>
  relax.return %z : !relax.tensor<[4, n], f32>
}
// CHECK-LABEL: @products
relax.func @products(
  %x: !relax.tensor<[n, 4], f32>, %a: !relax.tensor<[4, 4], f32>, %b: !relax.tensor<[4, 4], f32>,
  %i: !relax.tensor<[3], i64>
) -> tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 3], f32>, !relax.tensor<[8, 4], f32>> {
  // CHECK-NEXT: %gv = relax.matmul %x, %a
  // CHECK-NEXT: %gv1 = relax.matmul %x, %b
  // CHECK-NEXT: %y = relax.add %gv, %gv1
  %s = relax.add %a, %b : !relax.tensor<[4, 4], f32>
  %y = relax.matmul %x, %s : !relax.tensor<[n, 4], f32>
  // CHECK-NEXT: [[p:%gv[0-9]*]] = relax.matmul %x, %a
  // CHECK-NEXT: %z = relax.take [[p]], %i {axis = 1}
  %t = relax.take %a, %i {axis = 1} : !relax.tensor<[4, 3], f32>
  %z = relax.matmul %x, %t : !relax.tensor<[n, 3], f32>
  // CHECK-NEXT: [[c:%gv[0-9]*]] = relax.concat (%a, %b) {axis = 1} : !relax.tensor<[4, 8], f32>
  // CHECK-NEXT: %w = relax.permute_dims [[c]]
  %p = relax.permute_dims %a : !relax.tensor<[4, 4], f32>
  %q = relax.permute_dims %b : !relax.tensor<[4, 4], f32>
  %w = relax.concat(%p, %q) {axis = 0} : !relax.tensor<[8, 4], f32>
  %out = relax.tuple(%y, %z, %w)
  relax.return %out : tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 3], f32>, !relax.tensor<[8, 4], f32>>
}
// BN-LABEL: @norm
relax.func @norm(%x: !relax.tensor<[n, 3], f32>, %v: !relax.tensor<[3], f32>) -> !relax.tensor<[n, 3], f32> {
  // BN: relax.subtract %x
  // BN: relax.sqrt
  // BN: relax.divide
  // BN-NOT: relax.nn.batch_norm
  %y = relax.nn.batch_norm %x, %v, %v, %v, %v {axis = 1, training = false} : tuple<!relax.tensor<[n, 3], f32>, !relax.tensor<[3], f32>, !relax.tensor<[3], f32>>
  %z = relax.tuple_get_item %y[0] : !relax.tensor<[n, 3], f32>
  relax.return %z : !relax.tensor<[n, 3], f32>
}
