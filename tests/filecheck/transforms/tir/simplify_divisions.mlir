// RUN: tirax-opt %s -p simplify-divisions | filecheck %s

// A remainder of an iterator that is below the divisor is the iterator; others stay.
// CHECK-LABEL: tir.func @tile
// CHECK:         %[[ROW:.*]] = tir.floormod %i
// CHECK-NOT:     tir.floormod
// CHECK:         tir.load %A[%[[ROW]], %j]
tir.func @tile(%A: !tir.buffer<[n, m], f32>, %Y: !tir.buffer<[3 * n, m], f32>) {
  tir.for %i = 0 to 3 * n {
    tir.for %j = 0 to m {
      %n = sym.value n
      %m = sym.value m
      %row = tir.floormod %i, %n : i64
      %column = tir.floormod %j, %m : i64
      %x = tir.load %A[%row, %column] : f32
      tir.store %x, %Y[%i, %j]
    }
  }
}

// Functions with a schedule are left to simplify-scheduled.
// CHECK-LABEL: tir.func @scheduled
// CHECK:         tir.floormod
tir.func @scheduled(%A: !tir.buffer<[16], f32>, %Y: !tir.buffer<[16], f32>) attributes {tir.is_scheduled = true} {
  %c16 = tir.const 16 : i64
  tir.for %j = 0 to 16 {
    %lane = tir.floormod %j, %c16 : i64
    %x = tir.load %A[%lane] : f32
    tir.store %x, %Y[%j]
  }
}
