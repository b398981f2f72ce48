// RUN: tirax-opt %s -p combine-parallel-matmul --check-each | filecheck %s --check-prefix COMBINE
// RUN: tirax-opt %s -p adjust-matmul-order --check-each | filecheck %s --check-prefix ORDER
// RUN: tirax-opt %s -p fuse-transpose-matmul --check-each | filecheck %s --check-prefix TRANSPOSE
// RUN: tirax-opt %s -p fast-math-transform --check-each | filecheck %s --check-prefix FAST
// RUN: tirax-opt %s -p fold-batchnorm-to-conv2d --check-each | filecheck %s --check-prefix FOLD
// RUN: not tirax-opt %s -p 'combine-parallel-matmul{chek=1}' 2>&1 | filecheck %s --check-prefix BAD

// BAD: chek
// TRANSPOSE: tir.func private @NT_matmul(
// FAST: tir.func private @fast_exp(
// COMBINE-LABEL: @parallel
// TRANSPOSE-LABEL: @parallel
relax.func @parallel(
  %x: !relax.tensor<[n, 4], f32>, %a: !relax.tensor<[4, 6], f32>, %b: !relax.tensor<[4, 2], f32>,
  %c: !relax.tensor<[4, k], f32>
) -> tuple<!relax.tensor<[n, 6], f32>, !relax.tensor<[n, 2], f32>, !relax.tensor<[n, k], f32>> {
  // COMBINE: %lv = relax.concat (%a, %b, %c) {axis = 1} : !relax.tensor<[4, 8 + k], f32>
  // COMBINE-NEXT: %lv1 = relax.matmul %x, %lv
  // COMBINE-NEXT: relax.split %lv1 {indices_or_sections = [6, 8], axis = 1}
  // COMBINE-NOT: relax.matmul %x, %c
  // TRANSPOSE-NOT: call_tir
  %t:3 = relax.dataflow {
    %p = relax.matmul %x, %a : !relax.tensor<[n, 6], f32>
    %q = relax.matmul %x, %b : !relax.tensor<[n, 2], f32>
    %r = relax.matmul %x, %c : !relax.tensor<[n, k], f32>
    relax.output %p, %q, %r : !relax.tensor<[n, 6], f32>, !relax.tensor<[n, 2], f32>, !relax.tensor<[n, k], f32>
  }
  %out = relax.tuple(%t#0, %t#1, %t#2)
  relax.return %out : tuple<!relax.tensor<[n, 6], f32>, !relax.tensor<[n, 2], f32>, !relax.tensor<[n, k], f32>>
}
// ORDER-LABEL: @order
relax.func @order(
  %x: !relax.tensor<[2, 8], f32>, %a: !relax.tensor<[8, 1], f32>, %b: !relax.tensor<[1, 8], f32>,
  %y: !relax.tensor<[n, 8], f32>
) -> tuple<!relax.tensor<[2, 8], f32>, !relax.tensor<[n, 8], f32>> {
  // ORDER-NEXT: %gv = relax.matmul %x, %a : !relax.tensor<[2, 1], f32>
  // ORDER-NEXT: %q = relax.matmul %gv, %b
  // ORDER-NEXT: %gv1 = relax.matmul %y, %a
  // ORDER-NEXT: %r = relax.matmul %gv1, %b
  %p = relax.matmul %a, %b : !relax.tensor<[8, 8], f32>
  %q = relax.matmul %x, %p : !relax.tensor<[2, 8], f32>
  %r = relax.matmul %y, %p : !relax.tensor<[n, 8], f32>
  %out = relax.tuple(%q, %r)
  relax.return %out : tuple<!relax.tensor<[2, 8], f32>, !relax.tensor<[n, 8], f32>>
}
// TRANSPOSE-LABEL: @transposed
// FAST-LABEL: @transposed
relax.func @transposed(%x: !relax.tensor<[n, 4], f32>, %w: !relax.tensor<[6, 4], f32>) -> !relax.tensor<[n, 6], f32> {
  // TRANSPOSE-NEXT: %y = relax.call_tir @NT_matmul(%x, %w)
  // FAST: %z = relax.call_tir @fast_exp(%y)
  %t = relax.permute_dims %w : !relax.tensor<[4, 6], f32>
  %y = relax.matmul %x, %t : !relax.tensor<[n, 6], f32>
  %z = relax.exp %y : !relax.tensor<[n, 6], f32>
  relax.return %z : !relax.tensor<[n, 6], f32>
}
// FOLD-LABEL: @norm
relax.func @norm(%x: !relax.tensor<[n, 1, 4, 4], f32>, %m: !relax.tensor<[1], f32>) -> tuple<!relax.tensor<[n, 1, 4, 4], f32>, !relax.tensor<[n, 1, 4, 4], f32>> {
  %w = relax.constant <f32 [1, 1, 1, 1] [[[[2.0]]]]>
  %g = relax.constant <f32 [1] [3.0]>
  // FOLD: %y = relax.add
  // FOLD-NEXT: %d = relax.nn.conv2d
  // FOLD-NEXT: relax.nn.batch_norm %d
  %c = relax.nn.conv2d %x, %w : !relax.tensor<[n, 1, 4, 4], f32>
  %b = relax.nn.batch_norm %c, %g, %g, %g, %g {axis = 1, training = false} : tuple<!relax.tensor<[n, 1, 4, 4], f32>, !relax.tensor<[1], f32>, !relax.tensor<[1], f32>>
  %y = relax.tuple_get_item %b[0] : !relax.tensor<[n, 1, 4, 4], f32>
  %d = relax.nn.conv2d %x, %w : !relax.tensor<[n, 1, 4, 4], f32>
  %e = relax.nn.batch_norm %d, %g, %g, %m, %g {axis = 1, training = false} : tuple<!relax.tensor<[n, 1, 4, 4], f32>, !relax.tensor<[1], f32>, !relax.tensor<[1], f32>>
  %z = relax.tuple_get_item %e[0] : !relax.tensor<[n, 1, 4, 4], f32>
  %out = relax.tuple(%y, %z)
  relax.return %out : tuple<!relax.tensor<[n, 1, 4, 4], f32>, !relax.tensor<[n, 1, 4, 4], f32>>
}
