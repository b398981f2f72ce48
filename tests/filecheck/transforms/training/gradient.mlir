// RUN: tirax-opt %s -p 'gradient{func_name="main"}' --check-each | filecheck %s
// RUN: tirax-opt %s -p 'gradient{func_name="main" require_grads="w"}' | filecheck %s --check-prefix SOME
// RUN: tirax-opt %s -p 'gradient{func_name="main"},legalize-ops' --check-each | filecheck %s --check-prefix LEGAL
// RUN: not tirax-opt %s -p 'gradient{func_name="unknown"}' 2>&1 | filecheck %s --check-prefix UNKNOWN
// RUN: not tirax-opt %s -p 'gradient{func_name="main" require_grads="v"}' 2>&1 | filecheck %s --check-prefix NAME

// UNKNOWN: gradient.mlir:15:{{.*}} relax.image.resize2d has no gradient
// NAME: unknown variable of 'main' 'v'

relax.func @unknown(%x: !relax.tensor<[1, 1, 2, 2], f32>) -> !relax.tensor<[], f32> {
  %gv = relax.dataflow {
    %s = relax.shape [4, 4]
    %a = relax.nn.relu %x : !relax.tensor<[1, 1, 2, 2], f32>
    %b = relax.nn.max_pool2d %a : !relax.tensor<[1, 1, 2, 2], f32>
    %c = relax.image.resize2d %b, %s : !relax.tensor<[1, 1, 4, 4], f32>
    %gv = relax.sum %c : !relax.tensor<[], f32>
    relax.output %gv : !relax.tensor<[], f32>
  }
  relax.return %gv : !relax.tensor<[], f32>
}

// The function itself stays.
// CHECK: relax.func @main(
// CHECK-LABEL: relax.func @main_adjoint(%x: !relax.tensor<[n, 4], f32>, %w: !relax.tensor<[4], f32>, %i: !relax.tensor<[n], i64>)
// CHECK-SAME: -> tuple<!relax.tensor<[], f32>, tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>, !relax.tensor<[n], i64>>>
// CHECK: %gv_adjoint = relax.ones
// CHECK: %b_adjoint = relax.grad.nll_loss_backward %gv_adjoint, %b, %i {reduction = "sum"} : !relax.tensor<[n, 4], f32>
// CHECK: relax.sum %b_adjoint {axis = [-1], keepdims = true} : !relax.tensor<[n, 1], f32>
// CHECK: %a_adjoint = relax.subtract %b_adjoint
// CHECK-NEXT: %x_adjoint = relax.multiply %a_adjoint, %w : !relax.tensor<[n, 4], f32>
// CHECK-NEXT: [[part:%[a-z0-9_.]+]] = relax.multiply %a_adjoint, %x
// CHECK: %w_adjoint = relax.collapse_sum_to [[part]]
// CHECK: %i_adjoint = relax.zeros {{.*}} : !relax.tensor<[n], i64>
// SOME-LABEL: relax.func @main_adjoint(
// SOME-NOT: %x_adjoint
// SOME-NOT: %i_adjoint
// SOME: relax.output {{.*}} : !relax.tensor<[], f32>, !relax.tensor<[4], f32>
// LEGAL-LABEL: relax.func @main_adjoint(
// LEGAL: relax.call_tir @nll_loss_backward(%gv_adjoint, %b, %i) : !relax.tensor<[n, 4], f32>
relax.func @main(%x: !relax.tensor<[n, 4], f32>, %w: !relax.tensor<[4], f32>, %i: !relax.tensor<[n], i64>) -> !relax.tensor<[], f32> {
  %gv = relax.dataflow {
    %a = relax.multiply %x, %w : !relax.tensor<[n, 4], f32>
    %b = relax.nn.log_softmax %a : !relax.tensor<[n, 4], f32>
    %gv = relax.nn.nll_loss %b, %i {reduction = "sum"} : !relax.tensor<[], f32>
    relax.output %gv : !relax.tensor<[], f32>
  }
  relax.return %gv : !relax.tensor<[], f32>
}
