// RUN: tirax-opt -p legalize-ops %s | filecheck %s

// CHECK:      tir.func private @matmul
// CHECK:        tir.block "matmul" (%v_i0 = spatial(%i0, n), %v_i1 = spatial(%i1, 8), %v_k = reduce(%k, 4)) {
// CHECK-NEXT:     tir.reads %x[%v_i0, %v_k]
// CHECK-NEXT:     tir.reads %w[%v_k, %v_i1]
// CHECK-NEXT:     tir.writes %matmul[%v_i0, %v_i1]
// CHECK-NEXT:     tir.init {
// CHECK-NEXT:       %0 = tir.const 0.000000e+00 : f32
// CHECK-NEXT:       tir.store %0, %matmul[%v_i0, %v_i1]
// CHECK-NEXT:     }
// CHECK:      tir.func private @softmax
// CHECK:        tir.alloc_buffer
// CHECK:        tir.block "T_softmax_maxelem"
// CHECK:        tir.block "T_softmax_exp"
// CHECK:        tir.block "T_softmax_expsum"
// CHECK:        tir.block "T_softmax_norm" {{.*}} annotations {axis = 1 : i64}
// An operator of unknown shape stays.
// CHECK:      relax.func @main
// CHECK:        relax.call_tir @matmul(%x, %w)
// CHECK:        relax.call_tir @softmax(%lv)
// CHECK:        relax.exp %z
relax.func @main(%x: !relax.tensor<[n, 4], f32>, %w: !relax.tensor<[4, 8], f32>, %z: !relax.tensor<*, f32>) -> !relax.tensor<[n, 8], f32> {
  %lv = relax.matmul %x, %w : !relax.tensor<[n, 8], f32>
  %lv1 = relax.nn.softmax %lv : !relax.tensor<[n, 8], f32>
  %lv2 = relax.exp %z : !relax.tensor<*, f32>
  relax.return %lv1 : !relax.tensor<[n, 8], f32>
}
