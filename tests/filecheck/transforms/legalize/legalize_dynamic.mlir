// RUN: tirax-opt %s -p legalize-ops | filecheck %s
// RUN: tirax-opt %s -t tvmscript | filecheck %s --check-prefix=SCRIPT

// What is as large as its values say: packed functions, or a function that gives the extents before the one that fills.

// CHECK:       tir.func private @shape_func(%x: !tir.buffer<[n, 4], f32>
// CHECK:       tir.func private @dynamic_strided_slice(%x: !tir.buffer<[n, 4], f32>
// CHECK:       tir.func private @add(%z: !tir.buffer<[s, s_1], f32>
// CHECK-LABEL: relax.func @main
// SCRIPT-LABEL: def main
relax.func @main(%x: !relax.tensor<[n, 4], f32>, %b: !relax.tensor<[2], i64>) -> !relax.object {
  %yes = relax.prim_value 1 : i1
  %no = relax.prim_value 0 : i1
  // CHECK: %u = relax.call_pure_packed "relax.run.unique"(%x, %yes, %no, %no, %no) : !relax.tensor<ndim = 1, f32>
  // SCRIPT: u: R.Tensor(dtype="float32", ndim=1) = R.unique(x, yes, no, no, no)
  %u = relax.unique %x, %yes, %no, %no, %no : !relax.tensor<ndim = 1, f32>
  // CHECK-NEXT: %w = relax.call_pure_packed "relax.run.nonzero"(%x) : !relax.tensor<ndim = 2, i64>
  // SCRIPT: w: R.Tensor(dtype="int64", ndim=2) = R.nonzero(x)
  %w = relax.nonzero %x : !relax.tensor<ndim = 2, i64>
  // CHECK-NEXT: %[[E:.*]] = relax.call_tir @shape_func(%x, %b, %b, %b) : !relax.tensor<[2], i64>
  // CHECK-NEXT: %[[S:.*]] = relax.call_pure_packed "vm.builtin.tensor_to_shape"(%[[E]]) : !relax.shape<ndim = 2>
  // CHECK-NEXT: relax.match_cast %[[S]] {{.*}}!relax.shape<[s, s_1]>
  // CHECK-NEXT: %z = relax.call_tir @dynamic_strided_slice(%x, %b, %b, %b) : !relax.tensor<[s, s_1], f32>
  // SCRIPT: R.dynamic_strided_slice(x, b, b, b)
  %z = relax.dynamic_strided_slice %x, %b, %b, %b : !relax.tensor<ndim = 2, f32>
  // what follows knows the extents
  // CHECK-NEXT: %y = relax.call_tir @add(%z, %z) : !relax.tensor<[s, s_1], f32>
  %y = relax.add %z, %z : !relax.tensor<ndim = 2, f32>
  relax.return %y : !relax.tensor<ndim = 2, f32>
}
