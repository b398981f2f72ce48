// RUN: tirax-opt %s | tirax-opt | filecheck %s
// RUN: tirax-opt %s --print-op-generic | tirax-opt | filecheck %s
// RUN: tirax-opt %s --print-op-generic | filecheck %s --check-prefix GENERIC

// CHECK-LABEL: relax.func @main(%x: !relax.tensor<[n, 784], f32>, %w: !relax.tensor<[784, 128], f32>)
// CHECK-SAME: -> !relax.tensor<[n, 128], f32> attributes {num_input = 1 : i64} {
// CHECK-NEXT: %gv = relax.dataflow {
// CHECK-NEXT:   %lv = relax.matmul %x, %w : !relax.tensor<[n, 128], f32>
// CHECK-NEXT:   %lv1 = relax.nn.relu %lv : !relax.tensor<[n, 128], f32>
// CHECK-NEXT:   relax.output %lv1 : !relax.tensor<[n, 128], f32>
// CHECK-NEXT: }
// CHECK-NEXT: relax.return %gv : !relax.tensor<[n, 128], f32>
// GENERIC: "relax.func"() <{sym_name = "main", ret_type = !relax.tensor<[n, 128], f32>
// GENERIC: %lv = "relax.matmul"(%x, %w) : (!relax.tensor<[n, 784], f32>, !relax.tensor<[784, 128], f32>)
relax.func @main(%x: !relax.tensor<[n, 784], f32>, %w: !relax.tensor<[784, 128], f32>) -> !relax.tensor<[n, 128], f32> attributes {num_input = 1 : i64} {
  %gv = relax.dataflow {
    %lv = relax.matmul %x, %w : !relax.tensor<[n, 128], f32>
    %lv1 = relax.nn.relu %lv : !relax.tensor<[n, 128], f32>
    relax.output %lv1 : !relax.tensor<[n, 128], f32>
  }
  relax.return %gv : !relax.tensor<[n, 128], f32>
}

// CHECK-LABEL: relax.func private @calls
// CHECK-NEXT: %0 = relax.prim_value n + 1
// CHECK-NEXT: %y = relax.call_packed "f"(%x, %0) : !relax.object
// CHECK-NEXT: %z = relax.match_cast %y : !relax.object -> !relax.tensor<[n, m], f32>
// CHECK-NEXT: %t = relax.tuple(%z, %z)
// CHECK-NEXT: %i = relax.tuple_get_item %t[1] : !relax.tensor<[n, m], f32>
// CHECK-NEXT: %s = relax.split %i {indices_or_sections = [2, 3], axis = 1}
relax.func private @calls(%x: !relax.tensor<[n], f32>) -> !relax.object impure {
  %0 = relax.prim_value n + 1
  %y = relax.call_packed "f"(%x, %0) : !relax.object
  %z = relax.match_cast %y : !relax.object -> !relax.tensor<[n, m], f32>
  %t = relax.tuple(%z, %z)
  %i = relax.tuple_get_item %t[1] : !relax.tensor<[n, m], f32>
  %s = relax.split %i {indices_or_sections = [2, 3], axis = 1} : tuple<!relax.tensor<[n, 2], f32>, !relax.tensor<[n, 1], f32>, !relax.tensor<[n, max(m - 3, 0)], f32>>
  relax.return %s : tuple<!relax.tensor<[n, 2], f32>, !relax.tensor<[n, 1], f32>, !relax.tensor<[n, max(m - 3, 0)], f32>>
}

// A local function that calls itself.
// CHECK-LABEL: relax.func @recursive
// CHECK-NEXT: %f = relax.closure itself %f(%a: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
// CHECK-NEXT:   %b = relax.call_value %f(%a) : !relax.tensor<[n], f32>
// GENERIC: %f = "relax.closure"()
// GENERIC: %b = "relax.call_value"(%f, %a)
relax.func @recursive(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %f = relax.closure itself %f(%a: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    %b = relax.call_value %f(%a) : !relax.tensor<[n], f32>
    relax.return %b : !relax.tensor<[n], f32>
  }
  %y = relax.call_value %f(%x) : !relax.tensor<[n], f32>
  relax.return %y : !relax.tensor<[n], f32>
}
