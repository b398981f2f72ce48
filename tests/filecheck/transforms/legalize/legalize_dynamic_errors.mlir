// RUN: not tirax-opt %s 2>&1 | filecheck %s

// CHECK: relax.dynamic_strided_slice: argument begin must have an element for each dimension of x
// CHECK: expected: 2
// CHECK: found: 3
relax.func @main(%x: !relax.tensor<[n, 4], f32>, %b: !relax.tensor<[3], i64>) -> !relax.tensor<ndim = 2, f32> {
  %z = relax.dynamic_strided_slice %x, %b, %b, %b : !relax.tensor<ndim = 2, f32>
  relax.return %z : !relax.tensor<ndim = 2, f32>
}
