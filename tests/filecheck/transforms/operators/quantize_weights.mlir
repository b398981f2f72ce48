// RUN: tirax-opt %s -p 'quantize-weights{format=q4_0 activation=int8}' | filecheck %s

// A weight that is a parameter becomes bytes; what products have on their right is transposed no more.

// CHECK: relax.func @main(%x: !relax.tensor<[n], i64>, %w: !relax.tensor<[16, 18], ui8>, %b: !relax.tensor<[16], f32>)
// CHECK-NEXT: %t = relax.take_blocks %w, %x {format = "q4_0"} : !relax.tensor<[n, 32], f32>
// CHECK-NEXT: %y = relax.matmul_blocks %t, %w {format = "q4_0", activation = "int8"} : !relax.tensor<[n, 16], f32>
// CHECK-NEXT: relax.add %y, %b
relax.func @main(%x: !relax.tensor<[n], i64>, %w: !relax.tensor<[16, 32], f32>, %b: !relax.tensor<[16], f32>) -> !relax.tensor<[n, 16], f32> attributes {num_input = 1 : i64} {
  %t = relax.take %w, %x {axis = 0} : !relax.tensor<[n, 32], f32>
  %p = relax.permute_dims %w : !relax.tensor<[32, 16], f32>
  %y = relax.matmul %t, %p : !relax.tensor<[n, 16], f32>
  %z = relax.add %y, %b : !relax.tensor<[n, 16], f32>
  relax.return %z : !relax.tensor<[n, 16], f32>
}
