// RUN: tirax-opt %s -p sink-loop-constants --check-each | filecheck %s

// CHECK-LABEL: relax.func private @less(%v: !relax.tensor<[2], f32>, %x: !relax.tensor<[2], f32>) -> !relax.tensor<[], i1>
// CHECK-NOT: relax.constant <f32 [2]
relax.func private @less(%v: !relax.tensor<[2], f32>, %w: !relax.tensor<[2], f32>, %x: !relax.tensor<[2], f32>) -> !relax.tensor<[], i1> {
  %s = relax.sum %v : !relax.tensor<[], f32>
  %most = relax.constant <f32 [] 10.0>
  %c = relax.less %s, %most : !relax.tensor<[], i1>
  relax.return %c : !relax.tensor<[], i1>
}

// CHECK-LABEL: relax.func private @step(%v: !relax.tensor<[2], f32>, %x: !relax.tensor<[2], f32>)
// CHECK: %w = relax.constant <f32 [2] [1.0, 2.0]>
// CHECK: relax.add %v, %w
relax.func private @step(%v: !relax.tensor<[2], f32>, %w: !relax.tensor<[2], f32>, %x: !relax.tensor<[2], f32>) -> tuple<!relax.tensor<[2], f32>> {
  %y = relax.add %v, %w : !relax.tensor<[2], f32>
  %z = relax.add %y, %x : !relax.tensor<[2], f32>
  %t = relax.tuple(%z)
  relax.return %t : tuple<!relax.tensor<[2], f32>>
}

// CHECK-LABEL: relax.func @main
// CHECK: %r = relax.while_loop %0, %1, (%x), invariants = (%x) : tuple<!relax.tensor<[2], f32>>
relax.func @main(%x: !relax.tensor<[2], f32>) -> tuple<!relax.tensor<[2], f32>> {
  %0 = relax.function_ref @less : !relax.callable<(!relax.tensor<[2], f32>, !relax.tensor<[2], f32>, !relax.tensor<[2], f32>) -> !relax.tensor<[], i1>>
  %1 = relax.function_ref @step : !relax.callable<(!relax.tensor<[2], f32>, !relax.tensor<[2], f32>, !relax.tensor<[2], f32>) -> tuple<!relax.tensor<[2], f32>>>
  %2 = relax.constant <f32 [2] [1.0, 2.0]>
  %r = relax.while_loop %0, %1, (%x), invariants = (%2, %x) : tuple<!relax.tensor<[2], f32>>
  relax.return %r : tuple<!relax.tensor<[2], f32>>
}
