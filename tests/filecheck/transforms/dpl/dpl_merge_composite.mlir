// RUN: tirax-opt %s -p merge-composite-functions | filecheck %s

// Both calls are for one code generator; what lies between is for another, but nothing comes back through it.
// CHECK-LABEL: relax.func @main
// CHECK:         relax.dataflow {
// CHECK-NEXT:      %[[T:.*]] = relax.call @fused_exp_relu_lib(%x) : tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>
// CHECK-NEXT:      %[[A:.*]] = relax.tuple_get_item %[[T]][0]
// CHECK-NEXT:      %[[C:.*]] = relax.tuple_get_item %[[T]][1]
// CHECK-NEXT:      %[[B:.*]] = relax.call @fused_sin1_other(%[[A]])
// CHECK-NEXT:      %{{.*}} = relax.add %[[B]], %[[C]]
// CHECK-NOT:     @fused_exp(
// CHECK:       relax.func @fused_exp_relu_lib(
// CHECK-SAME:    attributes {Codegen = "lib"} {
// CHECK-NEXT:    %gv = relax.closure(
// CHECK-SAME:    attributes {Composite = "lib.exp"} {
// CHECK:         %{{.*}} = relax.call_value %gv(
// CHECK:         relax.return
// CHECK:       relax.func @fused_sin1_other(
// CHECK-SAME:    attributes {Codegen = "other"} {

relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %gv = relax.dataflow {
    %a = relax.call @fused_exp(%x) : !relax.tensor<[n], f32>
    %b = relax.call @fused_sin(%a) : !relax.tensor<[n], f32>
    %c = relax.call @fused_relu(%a) : !relax.tensor<[n], f32>
    %d = relax.add %b, %c : !relax.tensor<[n], f32>
    relax.output %d : !relax.tensor<[n], f32>
  }
  relax.return %gv : !relax.tensor<[n], f32>
}
relax.func private @fused_exp(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> attributes {Composite = "lib.exp", Primitive = 1 : i64} {
  %y = relax.exp %x : !relax.tensor<[n], f32>
  relax.return %y : !relax.tensor<[n], f32>
}
relax.func private @fused_sin(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> attributes {Composite = "other.sin", Primitive = 1 : i64} {
  %y = relax.sin %x : !relax.tensor<[n], f32>
  relax.return %y : !relax.tensor<[n], f32>
}
relax.func private @fused_relu(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> attributes {Composite = "lib.relu", Primitive = 1 : i64} {
  %y = relax.nn.relu %x : !relax.tensor<[n], f32>
  relax.return %y : !relax.tensor<[n], f32>
}
