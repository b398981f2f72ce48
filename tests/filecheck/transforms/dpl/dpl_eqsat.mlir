// RUN: tirax-opt %s -p 'apply-dpl-patterns{file="%S/Inputs/dpl_matmul.py" eqsat=true}' | filecheck %s
// RUN: tirax-opt %s -p 'apply-dpl-patterns{file="%S/Inputs/dpl_matmul.py"}' | filecheck %s --check-prefix=GREEDY

// Greedy rewriting takes the common right factor first, and keeps the product of two matrices.

// CHECK-LABEL: relax.func @main
// CHECK:         %[[BX:.*]] = relax.matmul %b, %x : !relax.tensor<[16, 1], f32>
// CHECK-NEXT:    %[[SUM:.*]] = relax.add %[[BX]], %x : !relax.tensor<[16, 1], f32>
// CHECK-NEXT:    %[[S:.*]] = relax.matmul %a, %[[SUM]] : !relax.tensor<[16, 1], f32>
// CHECK-NEXT:    relax.output %[[S]]

// GREEDY-LABEL: relax.func @main
// GREEDY:         %ab = relax.matmul %a, %b
// GREEDY-NEXT:    %[[SUM:.*]] = relax.add %ab, %a
// GREEDY-NEXT:    %{{.*}} = relax.matmul %[[SUM]], %x
relax.func @main(%a: !relax.tensor<[16, 16], f32>, %b: !relax.tensor<[16, 16], f32>, %x: !relax.tensor<[16, 1], f32>) -> !relax.tensor<[16, 1], f32> {
  %gv = relax.dataflow {
    %ab = relax.matmul %a, %b : !relax.tensor<[16, 16], f32>
    %abx = relax.matmul %ab, %x : !relax.tensor<[16, 1], f32>
    %ax = relax.matmul %a, %x : !relax.tensor<[16, 1], f32>
    %s = relax.add %abx, %ax : !relax.tensor<[16, 1], f32>
    relax.output %s : !relax.tensor<[16, 1], f32>
  }
  relax.return %gv : !relax.tensor<[16, 1], f32>
}
