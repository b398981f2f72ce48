// RUN: tirax-opt %s -p 'quantized-to-integer{target="llvm -mcpu=icelake-server -vector-width=512"}' --check-each | filecheck %s
// RUN: tirax-opt %s -p 'quantized-to-integer{target="llvm -mcpu=haswell"}' --check-each | filecheck %s --check-prefix NONE
// RUN: not tirax-opt %s -p 'quantized-to-integer{targets="llvm"}' 2>&1 | filecheck %s --check-prefix BAD

// BAD: targets
// NONE-NOT: i32
// The zero point is taken off by the sums of the columns.
// CHECK-LABEL: relax.func @product(
relax.func @product(%x: !relax.tensor<[n, 8], ui8>, %w: !relax.tensor<[8, 6], i8>) -> !relax.tensor<[n, 6], f32> {
  // CHECK: [[n:%[a-z0-9]+]] = relax.matmul %x, %w {out_dtype = i32} : !relax.tensor<[n, 6], i32>
  // CHECK: [[s:%[a-z0-9]+]] = relax.sum
  // CHECK: [[z:%[a-z0-9]+]] = relax.multiply %{{.*}}, [[s]] : !relax.tensor<[1, 6], i32>
  // CHECK: [[d:%[a-z0-9]+]] = relax.subtract [[n]], [[z]] : !relax.tensor<[n, 6], i32>
  // CHECK: [[f:%[a-z0-9]+]] = relax.astype [[d]]
  // CHECK: [[g:%[a-z0-9]+]] = relax.multiply [[f]],
  // CHECK: %y = relax.multiply [[g]],
  %s = relax.constant <f32 [] 0.5>
  %z = relax.constant <ui8 [] 3>
  %t = relax.constant <f32 [6] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]>
  %q = relax.constant <i8 [] 0>
  %a = relax.dequantize %x, %s, %z : !relax.tensor<[n, 8], f32>
  %b = relax.dequantize %w, %t, %q {axis = 1} : !relax.tensor<[8, 6], f32>
  %y = relax.matmul %a, %b : !relax.tensor<[n, 6], f32>
  relax.return %y : !relax.tensor<[n, 6], f32>
}
// A scale along the sum belongs to each product.
// CHECK-LABEL: relax.func @left(
relax.func @left(%x: !relax.tensor<[n, 8], i8>, %w: !relax.tensor<[8, 6], i8>) -> !relax.tensor<[n, 6], f32> {
  // CHECK: relax.matmul %a, %b : !relax.tensor<[n, 6], f32>
  %s = relax.constant <f32 [] 0.5>
  %t = relax.constant <f32 [8] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]>
  %q = relax.constant <i8 [] 0>
  %a = relax.dequantize %x, %s, %q : !relax.tensor<[n, 8], f32>
  %b = relax.dequantize %w, %t, %q {axis = 0} : !relax.tensor<[8, 6], f32>
  %y = relax.matmul %a, %b : !relax.tensor<[n, 6], f32>
  relax.return %y : !relax.tensor<[n, 6], f32>
}
// Where there are products of words alone constant weights are words, less their zero points.
// NONE: relax.func @constant_weights(
// NONE: [[w:%[a-z0-9]+]] = relax.constant <i16 [2, 2] {{\[\[}}-3, -131], [124, 0]]>
// NONE: relax.matmul %{{[a-z0-9]+}}, [[w]] {out_dtype = i32} : !relax.tensor<[n, 2], i32>
// CHECK-LABEL: relax.func @constant_weights(
relax.func @constant_weights(%x: !relax.tensor<[n, 2], ui8>) -> !relax.tensor<[n, 2], f32> {
  // CHECK: relax.matmul %x, %{{[a-z0-9]+}} {out_dtype = i32} : !relax.tensor<[n, 2], i32>
  %s = relax.constant <f32 [] 0.5>
  %z = relax.constant <ui8 [] 3>
  %q = relax.constant <i8 [] 3>
  %w = relax.constant <i8 [2, 2] [[0, -128], [127, 3]]>
  %a = relax.dequantize %x, %s, %z : !relax.tensor<[n, 2], f32>
  %b = relax.dequantize %w, %s, %q : !relax.tensor<[2, 2], f32>
  %y = relax.matmul %a, %b : !relax.tensor<[n, 2], f32>
  relax.return %y : !relax.tensor<[n, 2], f32>
}
