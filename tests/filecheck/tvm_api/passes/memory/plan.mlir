// RUN: tirax-opt %s -p call-tir-rewrite --check-each | filecheck %s --check-prefix CALL
// RUN: tirax-opt %s -p call-tir-rewrite,static-plan-block-memory --check-each | filecheck %s --check-prefix PLAN
// RUN: tirax-opt %s -p call-tir-rewrite,static-plan-block-memory,lower-alloc-tensor,kill-after-last-use --check-each | filecheck %s --check-prefix KILL
// RUN: tirax-opt %s -p call-tir-rewrite,static-plan-block-memory,lower-relax-calls,plan-memory | tirax-opt | filecheck %s --check-prefix HOST
// RUN: tirax-opt %s -p compute-prim-value --check-each | filecheck %s --check-prefix VALUE
// RUN: not tirax-opt %s -p remove-purity-checking 2>&1 | filecheck %s --check-prefix PURE

// PURE: 1 calls of dataflow blocks would have effects
// PURE: run to-non-dataflow before
// VALUE: %v = relax.call @compute_symbolic_expr(%{{.*}}) : !relax.prim<i64, n * 2>
tir.func private @inc(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>) {
  tir.for %i = 0 for n {
    %a = tir.load %A[%i] : f32
    %one = tir.const 1.0 : f32
    %b = tir.add %a, %one : f32
    tir.store %b, %B[%i]
  }
}

// CALL-LABEL: relax.func @main
// PLAN-LABEL: relax.func @main
// KILL-LABEL: relax.func @main
// HOST-LABEL: relax.func @main
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  // CALL: %alloc = relax.builtin.alloc_tensor %{{.*}} : !relax.tensor<[n], f32>
  // CALL-NEXT: relax.call @inc(%x, %alloc) : tuple<>
  // CALL-NEXT: %a = relax.bind %alloc
  // PLAN: %[[SIZE:.*]] = relax.shape [n * 4]
  // PLAN-NEXT: %storage = relax.memory.alloc_storage %[[SIZE]], %{{.*}} : !relax.object
  // PLAN: relax.memory.alloc_tensor %storage, %{{.*}} : !relax.tensor<[n], f32>
  // PLAN: %storage1 = relax.memory.alloc_storage
  // PLAN: relax.memory.alloc_tensor %storage, %{{.*}} : !relax.tensor<[n], f32>
  // PLAN-NOT: alloc_storage
  // PLAN: relax.builtin.alloc_tensor
  // KILL: relax.call @inc(%alloc, %alloc1) : tuple<>
  // KILL-NEXT: relax.memory.kill_tensor %alloc : tuple<>
  // HOST: host.arena
  // HOST: %storage = host.tensor arena 0 : !relax.tensor<[n * 4], ui8>
  // HOST-NEXT: %alloc = host.view %storage at 0 : !relax.tensor<[n], f32>
  // HOST-NEXT: host.kernel @inc(%x, %alloc)
  // HOST: %alloc3 = host.tensor : !relax.tensor<[n], f32>
  %a = relax.call_tir @inc(%x) : !relax.tensor<[n], f32>
  %b = relax.call_tir @inc(%a) : !relax.tensor<[n], f32>
  %c = relax.call_tir @inc(%b) : !relax.tensor<[n], f32>
  %d = relax.call_tir @inc(%c) : !relax.tensor<[n], f32>
  relax.return %d : !relax.tensor<[n], f32>
}

relax.func private @pure(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %gv = relax.dataflow {
    %v = relax.prim_value n * 2
    %y = relax.call_pure_packed "vm.builtin.shape_of"(%x) : !relax.object
    relax.output %y : !relax.object
  }
  relax.return %gv : !relax.object
}
