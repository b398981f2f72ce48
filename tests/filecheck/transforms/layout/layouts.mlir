// RUN: tirax-opt %s -p optimize-layout-transform --check-each | filecheck %s
// RUN: tirax-opt %s -p legalize-ops --check-each | filecheck %s --check-prefix LEGAL
// RUN: tirax-opt %s -t tvmscript | filecheck %s --check-prefix SCRIPT
// RUN: tirax-opt %s -p convert-layout,alter-op-impl,attach-attr-layout-free-buffers,split-layout-rewrite-preproc --check-each | filecheck %s --check-prefix SAME

// LEGAL: tir.func private @te_layout_transform_with_pad_axis_separator(
// LEGAL-SAME: separators = [1]
// LEGAL: tir.if_then_else
// LEGAL: tir.func private @te_layout_transform(
// LEGAL: tir.writes %te_layout_transform[

// CHECK-LABEL: @undone
// SAME-LABEL: @undone
relax.func @undone(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  // CHECK-NEXT: %c = relax.exp %x
  // CHECK-NOT: relax.layout_transform
  // SCRIPT-DAG: R.layout_transform(x, index_map=T.index_map(lambda i, j: (j, i)), pad_value=None, axis_separators=[], input_axis_separators=[])
  // SAME: relax.layout_transform %x {index_map = #sym.index_map<(i, j) -> (j, i)>} : !relax.tensor<[4, n], f32>
  %a = relax.layout_transform %x {index_map = #sym.index_map<(i, j) -> (j, i)>} : !relax.tensor<[4, n], f32>
  %b = relax.layout_transform %a {index_map = #sym.index_map<(i, j) -> (j, i)>} : !relax.tensor<[n, 4], f32>
  %c = relax.exp %b : !relax.tensor<[n, 4], f32>
  relax.return %c : !relax.tensor<[n, 4], f32>
}

// CHECK-LABEL: @kept
relax.func @kept(%x: !relax.tensor<[6], f32>) -> !relax.tensor<[8], f32> {
  // CHECK: relax.layout_transform %x
  // CHECK: relax.layout_transform %a
  // SCRIPT-DAG: (i // 4, i % 4)), pad_value=R.prim_value(T.float32(1.5)), axis_separators=[1], input_axis_separators=[])
  // LEGAL-LABEL: @kept
  // LEGAL: relax.call_tir @te_layout_transform_with_pad_axis_separator(%x)
  %a = relax.layout_transform %x {index_map = #sym.index_map<(i) -> (i floordiv 4, i mod 4)>, pad_value = 1.5, axis_separators = [1]} : !relax.tensor<[2, 4], f32>
  %b = relax.layout_transform %a {index_map = #sym.index_map<(i, j) -> (i * 4 + j)>} : !relax.tensor<[8], f32>
  relax.return %b : !relax.tensor<[8], f32>
}
