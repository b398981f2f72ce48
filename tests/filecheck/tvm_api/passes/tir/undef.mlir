// RUN: tirax-opt %s --split-input-file --verify-diagnostics -p remove-store-undef | filecheck %s

// CHECK-LABEL: tir.func @stored
// CHECK-NOT:     undef
// CHECK:         tir.store %i, %A[%i]
tir.func @stored(%A: !tir.buffer<[8], i64>) {
  %u = tir.call_intrin "undef"() : i64
  tir.for %i = 0 to 8 {
    %v = tir.add %u, %i : i64
    tir.store %v, %A[%i]
    tir.store %i, %A[%i]
  }
}

// -----

tir.func @index(%A: !tir.buffer<[8], i64>) {
  %u = tir.call_intrin "undef"() : i64
  %one = tir.const 1 : i64
  // expected-error@+1 {{an index must not be T.undef()}}
  tir.store %one, %A[%u]
}
