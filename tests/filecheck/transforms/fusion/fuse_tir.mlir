// RUN: tirax-opt %s -p fuse-tir | filecheck %s

// Dead: nothing calls it any more.
// CHECK-NOT: @double
tir.func private @double(%A: !tir.buffer<[k], f32>, %B: !tir.buffer<[k], f32>) {
  tir.for %i = 0 to k {
    tir.block "B" (%v = spatial(%i, k)) {
      tir.reads %A[%v]
      tir.writes %B[%v]
      %x = tir.load %A[%v] : f32
      %y = tir.add %x, %x : f32
      tir.store %y, %B[%v]
    }
  }
}

// CHECK-LABEL: tir.func private @four(
// CHECK-SAME:    %x: !tir.buffer<[n * 2], f32>, %B_intermediate: !tir.buffer<[n * 2], f32>, %n: i64)
// CHECK-SAME:    handles ["p_x", "p_output0", "n"] attributes {tir.noalias = true}
// CHECK-NEXT:    %B_intermediate.1 = tir.alloc_buffer : !tir.buffer<[n * 2], f32>
// CHECK-NEXT:    tir.for %i = 0 to n * 2 {
// CHECK-NEXT:      tir.block "B" (%v = spatial(%i, n * 2)) {
// CHECK-NEXT:        tir.reads %x[%v]
// CHECK-NEXT:        tir.writes %B_intermediate.1[%v]
// CHECK:         tir.for
// CHECK-NEXT:      tir.block "B1"
// CHECK-NEXT:        tir.reads %B_intermediate.1[
// CHECK-NEXT:        tir.writes %B_intermediate[
relax.func private @four(%x: !relax.tensor<[n * 2], f32>, %s: !relax.shape<[n]>) -> !relax.tensor<[n * 2], f32> attributes {Primitive = 1 : i64} {
  %gv = relax.dataflow {
    %a = relax.call_tir @double(%x) : !relax.tensor<[n * 2], f32>
    %gv = relax.call_tir @double(%a) : !relax.tensor<[n * 2], f32>
    relax.output %gv : !relax.tensor<[n * 2], f32>
  }
  relax.return %gv : !relax.tensor<[n * 2], f32>
}

// CHECK-LABEL: relax.func private @opaque(
// CHECK-SAME:    fuse_tir.not_fused = "it holds relax.call_pure_packed, which is no call of a tensor function"
relax.func private @opaque(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> attributes {Primitive = 1 : i64} {
  %y = relax.call_pure_packed "f"(%x) : !relax.tensor<[n], f32>
  relax.return %y : !relax.tensor<[n], f32>
}

// CHECK-LABEL: relax.func @main
// CHECK:         %a = relax.call_tir @four(%x) tir_vars [m] : !relax.tensor<[m * 2], f32>
// CHECK-NEXT:    %b = relax.call @opaque(%a) : !relax.tensor<[m * 2], f32>
relax.func @main(%x: !relax.tensor<[m * 2], f32>, %y: !relax.tensor<[m], f32>) -> !relax.tensor<[m * 2], f32> {
  %s = relax.shape [m]
  %a = relax.call @four(%x, %s) : !relax.tensor<[m * 2], f32>
  %b = relax.call @opaque(%a) : !relax.tensor<[m * 2], f32>
  relax.return %b : !relax.tensor<[m * 2], f32>
}
