// RUN: tirax-opt %s -p simplify-scheduled | filecheck %s

// A layout in blocks of 16, as `transform_layout` leaves it: the vector is 16 elements in a row.
// CHECK-LABEL: tir.func @scheduled
// CHECK:         tir.load %A[%i, %j]
tir.func @scheduled(%A: !tir.buffer<[4, 16], f32>, %Y: !tir.buffer<[64], f32>) attributes {tir.is_scheduled = true} {
  %c16 = tir.const 16 : i64
  tir.for %i = 0 to 4 {
    tir.for vectorized %j = 0 to 16 {
      %row = tir.mul %i, %c16 : i64
      %at = tir.add %row, %j : i64
      %block = tir.floordiv %at, %c16 : i64
      %lane = tir.floormod %at, %c16 : i64
      %x = tir.load %A[%block, %lane] : f32
      tir.store %x, %Y[%at]
    }
  }
}

// Other functions stay as they are.
// CHECK-LABEL: tir.func @unscheduled
// CHECK:         tir.floormod
tir.func @unscheduled(%A: !tir.buffer<[16], f32>, %Y: !tir.buffer<[16], f32>) {
  %c16 = tir.const 16 : i64
  tir.for %j = 0 to 16 {
    %lane = tir.floormod %j, %c16 : i64
    %x = tir.load %A[%lane] : f32
    tir.store %x, %Y[%j]
  }
}
