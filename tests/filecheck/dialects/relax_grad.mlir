// RUN: tirax-opt %s --split-input-file | tirax-opt --split-input-file | filecheck %s
// RUN: tirax-opt %s --split-input-file -p legalize-ops | filecheck %s --check-prefix LEGAL

// CHECK-LABEL: @operators
// LEGAL-LABEL: @operators
relax.func @operators(%g: !relax.tensor<[n, 2, 3, 3], f32>, %x: !relax.tensor<[n, 2, 6, 6], f32>, %i: !relax.tensor<[3], i64>) -> !relax.tensor<[n, 2, 6, 6], f32> {
  // CHECK: %a = relax.grad.start_checkpoint %x : !relax.tensor<[n, 2, 6, 6], f32>
  // LEGAL: %a = relax.bind %x
  %a = relax.grad.start_checkpoint %x : !relax.tensor<[n, 2, 6, 6], f32>
  // CHECK: %b = relax.grad.max_pool2d_backward %g, %a {pool_size = [2, 2], strides = [2, 2]} : !relax.tensor<[n, 2, 6, 6], f32>
  // LEGAL: %b = relax.call_tir @max_pool2d_backward(%g, %a) : !relax.tensor<[n, 2, 6, 6], f32>
  %b = relax.grad.max_pool2d_backward %g, %a {pool_size = [2, 2], strides = [2, 2]} : !relax.tensor<[n, 2, 6, 6], f32>
  // CHECK: %c = relax.grad.take_backward %h, %b, %i {axis = 2} : !relax.tensor<[n, 2, 6, 6], f32>
  %s = relax.shape [n, 2, 3, 6]
  %h = relax.zeros %s {dtype = f32} : !relax.tensor<[n, 2, 3, 6], f32>
  // LEGAL: %c = relax.call_tir @take_backward(%h, %b, %i) : !relax.tensor<[n, 2, 6, 6], f32>
  %c = relax.grad.take_backward %h, %b, %i {axis = 2} : !relax.tensor<[n, 2, 6, 6], f32>
  // CHECK: %d = relax.grad.no_grad %c : !relax.tensor<[n, 2, 6, 6], f32>
  %d = relax.grad.no_grad %c : !relax.tensor<[n, 2, 6, 6], f32>
  relax.return %d : !relax.tensor<[n, 2, 6, 6], f32>
}
