// RUN: tirax-opt %s -p 'pack-weights{target="llvm -mcpu=haswell" min_bytes=0},sink-reshape' --check-each | filecheck %s
// RUN: tirax-opt %s -p simplify-inference,fold-constant --check-each | filecheck %s --check-prefix NORM
// RUN: not tirax-opt %s -p 'pack-weights{min_byte=0}' 2>&1 | filecheck %s --check-prefix BAD

// BAD: min_byte
// 16 columns are a panel of two vectors of AVX2; the sum and relu are taken in panels, the reshape comes last.
// CHECK: tir.func private @packed_matmul(%x: !tir.buffer<[n, 1], f32>, %{{.*}}: !tir.buffer<[1, 1, 16], f32>
// CHECK-LABEL: relax.func @packed(
relax.func @packed(%x: !relax.tensor<[n, 1], f32>, %r: !relax.tensor<[n, 16], f32>) -> !relax.tensor<[n, 16], f32> {
  %w = relax.constant <f32 [1, 16] [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]]>
  // CHECK: [[y:%[a-z0-9]+]] = relax.call_tir @packed_matmul(%x, %{{.*}}) : !relax.tensor<[n, 1, 16], f32>
  // CHECK: [[s:%[a-z0-9]+]] = relax.reshape %r, %{{.*}} : !relax.tensor<[n, 1, 16], f32>
  // CHECK: [[t:%[a-z0-9]+]] = relax.add [[y]], [[s]]
  // CHECK: [[u:%[a-z0-9]+]] = relax.nn.relu [[t]]
  // CHECK: %z = relax.reshape [[u]], %{{.*}} : !relax.tensor<[n, 16], f32>
  %y = relax.matmul %x, %w : !relax.tensor<[n, 16], f32>
  %t = relax.add %y, %r : !relax.tensor<[n, 16], f32>
  %z = relax.nn.relu %t : !relax.tensor<[n, 16], f32>
  relax.return %z : !relax.tensor<[n, 16], f32>
}
// A parameter has no panels.
// CHECK-LABEL: @left
relax.func @left(%x: !relax.tensor<[n, 1], f32>, %w: !relax.tensor<[1, 16], f32>) -> !relax.tensor<[n, 16], f32> {
  // CHECK: relax.matmul %x, %w
  %y = relax.matmul %x, %w : !relax.tensor<[n, 16], f32>
  relax.return %y : !relax.tensor<[n, 16], f32>
}
// NORM-LABEL: @norm
relax.func @norm(%x: !relax.tensor<[n, 2], f32>) -> !relax.tensor<[n, 2], f32> {
  %g = relax.constant <f32 [2] [2.0, 4.0]>
  %b = relax.constant <f32 [2] [1.0, 1.0]>
  %m = relax.constant <f32 [2] [0.0, 1.0]>
  %v = relax.constant <f32 [2] [1.0, 4.0]>
  // NORM: %{{.*}} = relax.constant <f32 [1, 2] {{\[\[}}2.0, 2.0]]>
  // NORM: [[p:%[a-z0-9]+]] = relax.multiply %x
  // NORM: %{{.*}} = relax.constant <f32 [1, 2] {{\[\[}}1.0, -1.0]]>
  // NORM: %y = relax.add [[p]]
  %t = relax.nn.batch_norm %x, %g, %b, %m, %v {axis = 1, epsilon = 0.0, training = false} : tuple<!relax.tensor<[n, 2], f32>, !relax.tensor<[2], f32>, !relax.tensor<[2], f32>>
  %y = relax.tuple_get_item %t[0] : !relax.tensor<[n, 2], f32>
  relax.return %y : !relax.tensor<[n, 2], f32>
}
// NORM-LABEL: @training
relax.func @training(%x: !relax.tensor<[n, 2], f32>) -> !relax.tensor<[n, 2], f32> {
  %g = relax.constant <f32 [2] [2.0, 4.0]>
  // NORM: relax.nn.batch_norm
  %t = relax.nn.batch_norm %x, %g, %g, %g, %g {axis = 1} : tuple<!relax.tensor<[n, 2], f32>, !relax.tensor<[2], f32>, !relax.tensor<[2], f32>>
  %y = relax.tuple_get_item %t[0] : !relax.tensor<[n, 2], f32>
  relax.return %y : !relax.tensor<[n, 2], f32>
}
