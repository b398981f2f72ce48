// RUN: tirax-opt -p legalize-ops %s | filecheck %s
// RUN: tirax-opt -p 'legalize-ops{skip_ops="relax.exp"}' %s | filecheck %s --check-prefix=SKIP

// CHECK:      tir.func private @add(%x: !tir.buffer<[n, 4], f32>, %y: !tir.buffer<[4], f32>, %T_add: !tir.buffer<[n, 4], f32>) attributes {tir.noalias = true} {
// CHECK-NEXT:   tir.for %ax0 = 0 to n {
// CHECK-NEXT:     tir.for %ax1 = 0 to 4 {
// CHECK-NEXT:       tir.block "T_add" (%v_ax0 = spatial(%ax0, n), %v_ax1 = spatial(%ax1, 4)) {
// CHECK-NEXT:         tir.reads %x[%v_ax0, %v_ax1]
// CHECK-NEXT:         tir.reads %y[%v_ax1]
// CHECK-NEXT:         tir.writes %T_add[%v_ax0, %v_ax1]
// CHECK-NEXT:         %0 = tir.load %x[%v_ax0, %v_ax1] : f32
// CHECK-NEXT:         %1 = tir.load %y[%v_ax1] : f32
// CHECK-NEXT:         %2 = tir.add %0, %1 : f32
// CHECK-NEXT:         tir.store %2, %T_add[%v_ax0, %v_ax1]
// CHECK:      tir.func private @tir_exp
// CHECK:      relax.func @main
// CHECK-NEXT:   %lv = relax.call_tir @add(%x, %y) : !relax.tensor<[n, 4], f32>
// CHECK-NEXT:   %lv1 = relax.call_tir @tir_exp(%lv) : !relax.tensor<[n, 4], f32>

// SKIP-NOT: tir_exp
// SKIP:     %lv = relax.call_tir @add(%x, %y) : !relax.tensor<[n, 4], f32>
// SKIP:     %lv1 = relax.exp %lv : !relax.tensor<[n, 4], f32>
relax.func @main(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32> {
  %lv = relax.add %x, %y : !relax.tensor<[n, 4], f32>
  %lv1 = relax.exp %lv : !relax.tensor<[n, 4], f32>
  relax.return %lv1 : !relax.tensor<[n, 4], f32>
}
