// RUN: tirax-opt %s -p 'convert-layout{operators="relax.nn.conv2d" layouts="NHWC OHWI"}' --check-each | filecheck %s
// RUN: tirax-opt %s -p 'convert-layout{operators="relax.nn.conv2d" layouts="NCHW4c OIHW4o"},legalize-ops' --check-each | filecheck %s --check-prefix BLOCKS
// RUN: not tirax-opt %s -p 'convert-layout{operators="relax.nn.conv2d" layouts="NHW OHWI"}' 2>&1 | filecheck %s --check-prefix BAD

// BAD: relax.nn.conv2d: not a layout of its data_layout
// BLOCKS: tir.func private @conv2d_nchw4c(
// CHECK-LABEL: @main
relax.func @main(%x: !relax.tensor<[n, 4, 8, 8], f32>, %w: !relax.tensor<[8, 4, 3, 3], f32>) -> !relax.tensor<[n, 8, 6, 6], f32> {
  // CHECK: [[a:%[a-z0-9]+]] = relax.permute_dims %x {axes = [0, 2, 3, 1]} : !relax.tensor<[n, 8, 8, 4], f32>
  // CHECK-NEXT: [[b:%[a-z0-9]+]] = relax.permute_dims %w {axes = [0, 2, 3, 1]} : !relax.tensor<[8, 3, 3, 4], f32>
  // CHECK-NEXT: %c = relax.nn.conv2d [[a]], [[b]] {data_layout = "NHWC", kernel_layout = "OHWI", out_layout = "NHWC"} : !relax.tensor<[n, 6, 6, 8], f32>
  // CHECK-NEXT: [[y:%[a-z0-9]+]] = relax.nn.relu %c : !relax.tensor<[n, 6, 6, 8], f32>
  // CHECK-NEXT: relax.permute_dims [[y]] {axes = [0, 3, 1, 2]} : !relax.tensor<[n, 8, 6, 6], f32>
  %gv = relax.dataflow {
    %c = relax.nn.conv2d %x, %w : !relax.tensor<[n, 8, 6, 6], f32>
    %y = relax.nn.relu %c : !relax.tensor<[n, 8, 6, 6], f32>
    relax.output %y : !relax.tensor<[n, 8, 6, 6], f32>
  }
  relax.return %gv : !relax.tensor<[n, 8, 6, 6], f32>
}
