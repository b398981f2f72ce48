relax.func @main(%x: !relax.tensor<[n, 6], f32>, %w: !relax.tensor<[6, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %gv = relax.dataflow {
    %lv = relax.matmul %x, %w : !relax.tensor<[n, 4], f32>
    %lv1 = relax.nn.relu %lv : !relax.tensor<[n, 4], f32>
    %lv2 = relax.exp %lv : !relax.tensor<[n, 4], f32>
    relax.output %lv1 : !relax.tensor<[n, 4], f32>
  }
  relax.return %gv : !relax.tensor<[n, 4], f32>
}
