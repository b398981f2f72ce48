// RUN: tirax-opt %s -p 'channels-last{least=2},pack-convolutions{target="llvm -mcpu=haswell"}' --check-each | filecheck %s
// RUN: tirax-opt %s -p channels-last | filecheck %s --check-prefix FEW
// RUN: not tirax-opt %s -p 'channels-last{last=2}' 2>&1 | filecheck %s --check-prefix BAD

// BAD: unknown option
// 8 channels are a panel of one vector of AVX2.
// CHECK: tir.func private @packed_conv2d(%{{.*}}: !tir.buffer<[n, 1, 1, 1], f32>, %{{.*}}: !tir.buffer<[1, 1, 1, 1, 8], f32>
// CHECK-LABEL: relax.func @main
// CHECK: relax.permute_dims %x {axes = [0, 2, 3, 1]} : !relax.tensor<[n, 1, 1, 1], f32>
// CHECK: relax.constant <f32 [1, 1, 1, 1, 8] {{.*}}2.0, 3.0
// CHECK: relax.call_tir @packed_conv2d
// CHECK: relax.call_tir @packed_conv2d
// CHECK-NOT: relax.permute_dims
// CHECK: relax.mean
// Two convolutions do not pay for transposing what they read, and need not where no element has another place.
// FEW-LABEL: relax.func @main
// FEW: relax.nn.conv2d {{.*}}NHWC
// FEW: relax.nn.conv2d {{.*}}NHWC
// FEW-LABEL: relax.func @two_rows
// FEW-NOT: NHWC
// FEW: relax.nn.conv2d %x
relax.func @main(%x: !relax.tensor<[n, 1, 1, 1], f32>) -> !relax.tensor<[n, 8], f32> {
  %w = relax.constant <f32 [8, 1, 1, 1] [[[[1.0]]], [[[2.0]]], [[[3.0]]], [[[4.0]]], [[[5.0]]], [[[6.0]]], [[[7.0]]], [[[8.0]]]]>
  %y = relax.dataflow {
    %a = relax.nn.conv2d %x, %w : !relax.tensor<[n, 8, 1, 1], f32>
    %b = relax.sum %a {axis = [1], keepdims = true} : !relax.tensor<[n, 1, 1, 1], f32>
    %c = relax.nn.conv2d %b, %w : !relax.tensor<[n, 8, 1, 1], f32>
    %m = relax.mean %c {axis = [2, 3]} : !relax.tensor<[n, 8], f32>
    relax.output %m : !relax.tensor<[n, 8], f32>
  }
  relax.return %y : !relax.tensor<[n, 8], f32>
}
relax.func @two_rows(%x: !relax.tensor<[n, 2, 2, 1], f32>) -> !relax.tensor<[n, 1], f32> {
  %v = relax.constant <f32 [1, 2, 1, 1] [[[[1.0]], [[2.0]]]]>
  %w = relax.constant <f32 [1, 1, 1, 1] [[[[3.0]]]]>
  %y = relax.dataflow {
    %a = relax.nn.conv2d %x, %v : !relax.tensor<[n, 1, 2, 1], f32>
    %b = relax.nn.conv2d %a, %w : !relax.tensor<[n, 1, 2, 1], f32>
    %m = relax.mean %b {axis = [2, 3]} : !relax.tensor<[n, 1], f32>
    relax.output %m : !relax.tensor<[n, 1], f32>
  }
  relax.return %y : !relax.tensor<[n, 1], f32>
}
