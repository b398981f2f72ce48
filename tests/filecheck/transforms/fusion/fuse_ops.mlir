// RUN: tirax-opt %s -p fuse-ops | filecheck %s
// RUN: tirax-opt %s -p 'fuse-ops{fuse_opt_level=0}' | filecheck %s --check-prefix=NONE
// RUN: tirax-opt %s -p 'fuse-ops{max_depth=2}' | filecheck %s --check-prefix=TWO

tir.func private @exp(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>) attributes {op_pattern = 0 : i64} {
  tir.for %i = 0 to n {
    tir.block "B" (%v = spatial(%i, n)) {
      tir.reads %A[%v]
      tir.writes %B[%v]
      %x = tir.load %A[%v] : f32
      %y = tir.call_intrin "exp"(%x) : f32
      tir.store %y, %B[%v]
    }
  }
}

// The packed call stays between the groups; an output of another name is bound to it at the end.
// CHECK-LABEL: relax.func @main
// CHECK:         %{{.*}} = relax.dataflow {
// CHECK-NEXT:      %lv = relax.call @fused_exp_exp_exp(%x) : !relax.tensor<[n], f32>
// CHECK-NEXT:      %d = relax.call_dps_packed "f"(%lv) : !relax.tensor<[n], f32>
// CHECK-NEXT:      %e = relax.call_tir @exp(%d) : !relax.tensor<[n], f32>
// CHECK-NEXT:      relax.output %e : !relax.tensor<[n], f32>
// CHECK-LABEL: relax.func private @fused_exp_exp_exp(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
// CHECK-SAME:    attributes {Primitive = 1 : i64}
// CHECK:           %a = relax.call_tir @exp(%x) : !relax.tensor<[n], f32>
// CHECK-NEXT:      %b = relax.call_tir @exp(%a) : !relax.tensor<[n], f32>
// CHECK-NEXT:      %[[GV:.*]] = relax.call_tir @exp(%b) : !relax.tensor<[n], f32>
// CHECK-NEXT:      relax.output %[[GV]] : !relax.tensor<[n], f32>

// NONE-NOT: relax.call @

// TWO: relax.call @fused_exp_exp(%x)
// TWO: relax.call_tir @exp(
// TWO: call_dps_packed
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %gv = relax.dataflow {
    %a = relax.call_tir @exp(%x) : !relax.tensor<[n], f32>
    %b = relax.call_tir @exp(%a) : !relax.tensor<[n], f32>
    %c = relax.call_tir @exp(%b) : !relax.tensor<[n], f32>
    %d = relax.call_dps_packed "f"(%c) : !relax.tensor<[n], f32>
    %e = relax.call_tir @exp(%d) : !relax.tensor<[n], f32>
    relax.output %e : !relax.tensor<[n], f32>
  }
  relax.return %gv : !relax.tensor<[n], f32>
}
