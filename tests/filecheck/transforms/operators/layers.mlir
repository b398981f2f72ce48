// RUN: tirax-opt %s -p fuse-layers --check-each | filecheck %s

// As exporters wrote it before ONNX had the operator.
// CHECK-LABEL: @layer_norm
// CHECK-NEXT:    relax.nn.layer_norm %x, %gamma, %beta {axes = [-1], epsilon = 0.5}
// CHECK-NEXT:    relax.return
relax.func @layer_norm(
  %x: !relax.tensor<[n, 4], f32>, %gamma: !relax.tensor<[4], f32>, %beta: !relax.tensor<[4], f32>
) -> !relax.tensor<[n, 4], f32> {
  %m = relax.mean %x {axis = [-1], keepdims = true} : !relax.tensor<[n, 1], f32>
  %c = relax.subtract %x, %m : !relax.tensor<[n, 4], f32>
  %two = relax.constant <f32 [] 2.0>
  %s = relax.power %c, %two : !relax.tensor<[n, 4], f32>
  %v = relax.mean %s {axis = [-1], keepdims = true} : !relax.tensor<[n, 1], f32>
  %epsilon = relax.constant <f32 [] 0.5>
  %e = relax.add %v, %epsilon : !relax.tensor<[n, 1], f32>
  %d = relax.sqrt %e : !relax.tensor<[n, 1], f32>
  %q = relax.divide %c, %d : !relax.tensor<[n, 4], f32>
  %y = relax.multiply %q, %gamma : !relax.tensor<[n, 4], f32>
  %z = relax.add %y, %beta : !relax.tensor<[n, 4], f32>
  relax.return %z : !relax.tensor<[n, 4], f32>
}

// CHECK-LABEL: @rms_norm
// CHECK-NEXT:    relax.nn.rms_norm %x, %w {epsilon = 0.5}
// CHECK-NEXT:    relax.return
relax.func @rms_norm(%x: !relax.tensor<[n, 4], f32>, %w: !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32> {
  %s = relax.multiply %x, %x : !relax.tensor<[n, 4], f32>
  %v = relax.mean %s {axis = [-1], keepdims = true} : !relax.tensor<[n, 1], f32>
  %epsilon = relax.constant <f32 [] 0.5>
  %e = relax.add %v, %epsilon : !relax.tensor<[n, 1], f32>
  %d = relax.rsqrt %e : !relax.tensor<[n, 1], f32>
  %q = relax.multiply %x, %d : !relax.tensor<[n, 4], f32>
  %y = relax.multiply %w, %q : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

// CHECK-LABEL: @gelu
// CHECK-NEXT:    relax.nn.gelu %x
// CHECK-NEXT:    relax.return
relax.func @gelu(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %root = relax.constant <f32 [] 1.4142135>
  %a = relax.divide %x, %root : !relax.tensor<[n], f32>
  %t = relax.erf %a : !relax.tensor<[n], f32>
  %one = relax.constant <f32 [] 1.0>
  %e = relax.add %t, %one : !relax.tensor<[n], f32>
  %y = relax.multiply %x, %e : !relax.tensor<[n], f32>
  %half = relax.constant <f32 [] 0.5>
  %z = relax.multiply %y, %half : !relax.tensor<[n], f32>
  relax.return %z : !relax.tensor<[n], f32>
}

// Epsilon is added to the deviation, not to the variance: another norm.
// CHECK-LABEL: @beside
// CHECK-NOT:     norm
relax.func @beside(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %s = relax.multiply %x, %x : !relax.tensor<[n, 4], f32>
  %v = relax.mean %s {axis = [-1], keepdims = true} : !relax.tensor<[n, 1], f32>
  %d = relax.sqrt %v : !relax.tensor<[n, 1], f32>
  %epsilon = relax.constant <f32 [] 0.5>
  %e = relax.add %d, %epsilon : !relax.tensor<[n, 1], f32>
  %q = relax.divide %x, %e : !relax.tensor<[n, 4], f32>
  relax.return %q : !relax.tensor<[n, 4], f32>
}
