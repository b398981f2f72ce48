// RUN: tirax-opt %s -p force-narrow-index-to-int32 | filecheck %s

// A scalar that is passed to a function becomes int32 as all else; the extents that mention it do, too.

// CHECK-LABEL: tir.func @shifted
// CHECK-SAME:    (%A: !tir.buffer<[n : i32], f32>, %B: !tir.buffer<[4 : i32], f32>, %n: i32)
// CHECK:         tir.for %i = 0 : i32 to 4 : i32 {
// CHECK:           tir.add %i, %n : i32
tir.func @shifted(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[4], f32>, %n: i64) {
  tir.for %i = 0 to 4 {
    %k = tir.add %i, %n : i64
    %four = tir.const 4 : i64
    %at = tir.sub %k, %four : i64
    %x = tir.load %A[%at] : f32
    tir.store %x, %B[%i]
  }
}
