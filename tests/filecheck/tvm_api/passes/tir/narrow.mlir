// RUN: tirax-opt %s -p narrow-data-type | filecheck %s
// RUN: not tirax-opt %s -p force-narrow-index-to-int32 2>&1 | filecheck %s --check-prefix FORCED

// FORCED: holds int64

// CHECK-LABEL: tir.func @index
// CHECK:         tir.for %i = 0 : i32 to 8 : i32 {
// CHECK:           %k = tir.add %m, %j : i32
tir.func @index(%A: !tir.buffer<[64], f32>, %Y: !tir.buffer<[64], f32>) {
  %eight = tir.const 8 : i64
  tir.for %i = 0 to 8 {
    tir.for %j = 0 to 8 {
      %m = tir.mul %i, %eight : i64
      %k = tir.add %m, %j : i64
      %x = tir.load %A[%k] : f32
      tir.store %x, %Y[%k]
    }
  }
}

// too many iterations for int32

// CHECK-LABEL: tir.func @long
// CHECK:         tir.for %i = 0 to 3000000000 {
tir.func @long(%Y: !tir.buffer<[1], i64>) {
  %zero = tir.const 0 : i64
  tir.for %i = 0 to 3000000000 {
    tir.store %i, %Y[%zero]
  }
}
