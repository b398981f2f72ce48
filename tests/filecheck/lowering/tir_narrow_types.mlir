// RUN: tirax-opt %s -p lower-narrow-types | filecheck %s

// CHECK:      tir.func @widen(%A: !tir.buffer<[4], ui8>, %B: !tir.buffer<[4], i32>)
// CHECK:      %[[B:.*]] = tir.load %A[%i] : ui8
// CHECK-NOT:  i4
// CHECK:      tir.store %{{.*}}, %B[%i]
tir.func @widen(%A: !tir.buffer<[4], i4>, %B: !tir.buffer<[4], i32>) {
  tir.for %i = 0 for 4 {
    %0 = tir.load %A[%i] : i4
    %1 = tir.cast %0 : i4 -> i32
    tir.store %1, %B[%i]
  }
}

// Two of float8_e4m3fn is 0x40.
// CHECK:      tir.func @fill(%A: !tir.buffer<[4], ui8>)
// CHECK:      %[[TWO:.*]] = tir.const 64 : ui8
// CHECK-NEXT: tir.store %[[TWO]], %A[%i]
tir.func @fill(%A: !tir.buffer<[4], f8E4M3FN>) {
  tir.for %i = 0 for 4 {
    %0 = tir.const 2.0 : f8E4M3FN
    tir.store %0, %A[%i]
  }
}
