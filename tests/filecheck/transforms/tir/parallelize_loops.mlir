// RUN: tirax-opt %s -p parallelize-loops | filecheck %s

// Rows do not depend on each other.
// CHECK-LABEL: tir.func @rows
// CHECK:         tir.for parallel %i = 0 to n {
// CHECK-NEXT:      tir.for %j = 0 to 64 {
tir.func @rows(%A: !tir.buffer<[n, 64], f32>, %Y: !tir.buffer<[n, 64], f32>) attributes {tir.noalias = true} {
  tir.for %i = 0 to n {
    tir.for %j = 0 to 64 {
      %x = tir.load %A[%i, %j] : f32
      tir.store %x, %Y[%i, %j]
    }
  }
}

// Each row needs the one before; columns do not.
// CHECK-LABEL: tir.func @scan
// CHECK:         tir.for %i = 1 for n - 1 {
// CHECK-NEXT:      tir.for parallel %j = 0 to 65536 {
tir.func @scan(%Y: !tir.buffer<[n, 65536], f32>) attributes {tir.noalias = true} {
  %one = tir.const 1 : i64
  tir.for %i = 1 to n {
    tir.for %j = 0 to 65536 {
      %before = tir.sub %i, %one : i64
      %x = tir.load %Y[%before, %j] : f32
      tir.store %x, %Y[%i, %j]
    }
  }
}

// Buffers that may be one: nothing is known.
// CHECK-LABEL: tir.func @aliased
// CHECK-NOT:     parallel
tir.func @aliased(%A: !tir.buffer<[n, 64], f32>, %Y: !tir.buffer<[n, 64], f32>) {
  tir.for %i = 0 to n {
    tir.for %j = 0 to 64 {
      %x = tir.load %A[%i, %j] : f32
      tir.store %x, %Y[%i, %j]
    }
  }
}
