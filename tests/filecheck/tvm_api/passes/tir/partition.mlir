// RUN: tirax-opt %s -p loop-partition | filecheck %s
// RUN: tirax-opt %s -p convert-for-loops-to-serial | filecheck %s --check-prefix SERIAL

// CHECK-LABEL: tir.func @tail
// CHECK:         tir.for parallel %i = 0 to min(11, n) {
// CHECK-NEXT:      tir.const true
// CHECK-NEXT:      tir.if
// CHECK:         tir.for parallel %{{.*}} = 0 to n - 11 {
// CHECK-NOT:       likely
// CHECK:           tir.if
// SERIAL-LABEL: tir.func @tail
// SERIAL:         tir.for %i = 0 to n {
tir.func @tail(%n: i64, %A: !tir.buffer<[64], f32>, %Y: !tir.buffer<[64], f32>) {
  %limit = tir.const 11 : i64
  tir.for parallel %i = 0 to n {
    %c = tir.lt %i, %limit : i64
    %l = tir.call_intrin "likely"(%c) : i1
    tir.if %l {
      %x = tir.load %A[%i] : f32
      tir.store %x, %Y[%i]
    }
  }
}

// not said to be likely

// CHECK-LABEL: tir.func @whole
// CHECK:         tir.for %i = 0 to n {
// CHECK-NOT:     tir.for
// SERIAL-LABEL: tir.func @whole
// SERIAL:         tir.for %i = 0 to n {
tir.func @whole(%n: i64, %A: !tir.buffer<[64], f32>, %Y: !tir.buffer<[64], f32>) {
  %limit = tir.const 11 : i64
  tir.for %i = 0 to n {
    %c = tir.lt %i, %limit : i64
    tir.if %c {
      %x = tir.load %A[%i] : f32
      tir.store %x, %Y[%i]
    }
  }
}
