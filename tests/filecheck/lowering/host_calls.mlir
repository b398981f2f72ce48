// RUN: tirax-opt %s -p lift-closures,lower-relax-calls,plan-memory | filecheck %s

tir.func private @relu(%A: !tir.buffer<[n, 64], f32>, %B: !tir.buffer<[n, 64], f32>) attributes {tir.noalias = true} {
  tir.for %i = 0 for n {
    tir.for %j = 0 for 64 {
      %0 = tir.load %A[%i, %j] : f32
      tir.store %0, %B[%i, %j]
    }
  }
}

// Intermediates share the arena; what Python may keep, what a branch yields and what is returned does not live there.
// CHECK-LABEL: relax.func @main
// CHECK-NEXT:    host.arena n * 512
// CHECK-NEXT:    %lv = host.tensor arena 0 : !relax.tensor<[n, 64], f32>
// CHECK-NEXT:    host.kernel @relu(%x, %lv)
// CHECK-NEXT:    %lv1 = host.tensor arena n * 256 : !relax.tensor<[n, 64], f32>
// CHECK-NEXT:    host.kernel @relu(%lv, %lv1)
// CHECK-NEXT:    %lv2 = host.tensor : !relax.tensor<[n, 64], f32>
// CHECK-NEXT:    host.kernel @relu(%lv1, %lv2)
// CHECK-NEXT:    %lv3 = host.tensor : !relax.tensor<[n, 64], f32>
// CHECK-NEXT:    host.call_dps "f"(%lv2, %lv3)
// CHECK-NEXT:    %r = relax.if %c : !relax.tensor<[n, 64], f32> {
// CHECK-NEXT:      %q = host.tensor arena 0 : !relax.tensor<[n, 64], f32>
// CHECK-NEXT:      host.kernel @relu(%lv3, %q)
// CHECK-NEXT:      %q1 = host.tensor : !relax.tensor<[n, 64], f32>
// CHECK-NEXT:      host.kernel @relu(%q, %q1)
// CHECK-NEXT:      relax.yield %q1
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %y = relax.call @main_f(%lv3, %x) : !relax.tensor<[n, 64], f32>
// CHECK-NEXT:      relax.yield %y
// CHECK:         relax.return %r
relax.func @main(%x: !relax.tensor<[n, 64], f32>, %c: !relax.tensor<[], i1>) -> !relax.tensor<[n, 64], f32> {
  %gv = relax.dataflow {
    %lv = relax.call_tir @relu(%x) : !relax.tensor<[n, 64], f32>
    %lv1 = relax.call_tir @relu(%lv) : !relax.tensor<[n, 64], f32>
    %lv2 = relax.call_dps_packed "relu"(%lv1) : !relax.tensor<[n, 64], f32>
    %lv3 = relax.call_dps_packed "f"(%lv2) : !relax.tensor<[n, 64], f32>
    relax.output %lv3 : !relax.tensor<[n, 64], f32>
  }
  %f = relax.closure(%a: !relax.tensor<[n, 64], f32>) -> !relax.tensor<[n, 64], f32> {
    %q = relax.call_tir @relu(%x) : !relax.tensor<[n, 64], f32>
    relax.return %q : !relax.tensor<[n, 64], f32>
  }
  %r = relax.if %c : !relax.tensor<[n, 64], f32> {
    %q = relax.call_tir @relu(%gv) : !relax.tensor<[n, 64], f32>
    %q1 = relax.call_tir @relu(%q) : !relax.tensor<[n, 64], f32>
    relax.yield %q1 : !relax.tensor<[n, 64], f32>
  } else {
    %y = relax.call_value %f(%gv) : !relax.tensor<[n, 64], f32>
    relax.yield %y : !relax.tensor<[n, 64], f32>
  }
  relax.return %r : !relax.tensor<[n, 64], f32>
}

// CHECK-LABEL: relax.func private @main_f(%a: !relax.tensor<[n, 64], f32>, %x: !relax.tensor<[n, 64], f32>)
// CHECK-NEXT:    %q = host.tensor : !relax.tensor<[n, 64], f32>
// CHECK-NEXT:    host.kernel @relu(%x, %q)

// CHECK-LABEL: relax.func @several
// CHECK-NEXT:    %t.0 = host.tensor : !relax.tensor<[m + 1], f32>
// CHECK-NEXT:    %t.1 = host.tensor : !relax.tensor<[m], f32>
// CHECK-NEXT:    host.kernel @two(%s, %t.0, %t.1) tir_vars [m]
// CHECK-NEXT:    %t = relax.tuple(%t.0, %t.1)
// CHECK-NEXT:    host.kernel @one(%s)
// CHECK-NEXT:    %u = relax.tuple(%s, %t.0)
tir.func private @two(%A: !tir.buffer<[], f32>, %B: !tir.buffer<[m + 1], f32>, %C: !tir.buffer<[m], f32>, %m: i64) {
}
tir.func private @one(%A: !tir.buffer<[], f32>) {
}
relax.func @several(%s: !relax.tensor<[], f32>, %x: !relax.tensor<[m], f32>) -> !relax.object {
  %t = relax.call_tir @two(%s) tir_vars [m] : tuple<!relax.tensor<[m + 1], f32>, !relax.tensor<[m], f32>>
  %f = relax.tuple_get_item %t[0] : !relax.tensor<[m + 1], f32>
  %g = relax.bind %f : !relax.tensor<[m + 1], f32> -> !relax.tensor<[m + 1], f32>
  %i = relax.call_tir_inplace @one(%s) inplace [0] : !relax.tensor<[], f32>
  %u = relax.tuple(%i, %g)
  relax.return %u : tuple<!relax.tensor<[], f32>, !relax.tensor<[m + 1], f32>>
}
