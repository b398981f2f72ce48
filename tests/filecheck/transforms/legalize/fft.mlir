// RUN: tirax-opt %s -p legalize-ops | filecheck %s

// CHECK-LABEL: relax.func @main
relax.func @main(%x: !relax.tensor<[b, 8], f32>, %y: !relax.tensor<[n], f32>) -> tuple<!relax.tensor<[b, 5, 2], f32>, !relax.tensor<[n floordiv 2 + 1, 2], f32>> {
  // CHECK: %r = relax.call_tir @rfft(%x, {{.+}}) : !relax.tensor<[b, 5, 2], f32>
  %r = relax.fft.rfft %x : !relax.tensor<[b, 5, 2], f32>
  // CHECK: %s = relax.call_dps_packed "relax.run.fft.rfft"(%y, {{.+}}) : !relax.tensor<[n floordiv 2 + 1, 2], f32>
  %s = relax.fft.rfft %y : !relax.tensor<[n floordiv 2 + 1, 2], f32>
  %t = relax.tuple(%r, %s)
  relax.return %t : tuple<!relax.tensor<[b, 5, 2], f32>, !relax.tensor<[n floordiv 2 + 1, 2], f32>>
}
