// RUN: tirax-opt %s -p attach-variable-bounds | filecheck %s

// A private tensor function is told what its variables are at most in all calls; a public one may be called by others.

// CHECK: tir.func private @scale(%X: !tir.buffer<[m, 2], f32>, %Y: !tir.buffer<[m, 2], f32>) attributes {tir_var_lower_bound = {m = 6 : i64}, tir_var_upper_bound = {m = 16 : i64}} {
tir.func private @scale(%X: !tir.buffer<[m, 2], f32>, %Y: !tir.buffer<[m, 2], f32>) {
}
// CHECK: tir.func @public(%X: !tir.buffer<[m, 2], f32>, %Y: !tir.buffer<[m, 2], f32>) {
tir.func @public(%X: !tir.buffer<[m, 2], f32>, %Y: !tir.buffer<[m, 2], f32>) {
}
relax.func @main(%x: !relax.tensor<[n * 2, 2], f32>, %s: !relax.shape<[n]>) -> !relax.tensor<[n * 2, 2], f32> attributes {tir_var_lower_bound = {n = 3 : i64}, tir_var_upper_bound = {n = 8 : i64}} {
  %y = relax.call_tir @scale(%x) : !relax.tensor<[n * 2, 2], f32>
  %z = relax.call_tir @public(%y) : !relax.tensor<[n * 2, 2], f32>
  relax.return %z : !relax.tensor<[n * 2, 2], f32>
}
