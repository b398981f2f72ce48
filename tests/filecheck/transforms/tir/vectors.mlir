// RUN: tirax-opt %s -p 'vectorize-for-target{target="llvm -mcpu=haswell"}' | filecheck %s
// RUN: tirax-opt %s -p 'vectorize-for-target{target="llvm -mcpu=haswell"},unroll-marked-loops' | filecheck %s --check-prefix UNROLL

// Two vectors of eight lanes, in a loop to be unrolled, and three lanes under a mask.

// CHECK-LABEL: tir.func @constant
// CHECK:         tir.for unrolled %i = 0 to 2 {
// CHECK:           tir.load %A[%{{.*}}] : vector<8xf32>
// CHECK:         }
// CHECK:         %[[MASK:.*]] = tir.lt %{{.*}}, %{{.*}} : vector<4xi64>
// CHECK:         tir.masked_load %A[%{{.*}}], %[[MASK]] : vector<4xf32>
// CHECK:         tir.masked_store %{{.*}}, %Y[%{{.*}}], %[[MASK]]
// UNROLL-LABEL: tir.func @constant
// UNROLL-NOT:     tir.for
// UNROLL-COUNT-2: tir.load %A[%{{.*}}] : vector<8xf32>
tir.func @constant(%A: !tir.buffer<[19], f32>, %Y: !tir.buffer<[19], f32>) {
  tir.for vectorized %i = 0 to 19 {
    %x = tir.load %A[%i] : f32
    %y = tir.add %x, %x : f32
    tir.store %y, %Y[%i]
  }
}

// What a varying condition decides is under a mask; every second element is a ramp of stride 2.

// CHECK-LABEL: tir.func @masked
// CHECK:         tir.for %i = 0 to n floordiv 8 {
// CHECK:           %[[MASK:.*]] = tir.lt %{{.*}}, %{{.*}} : vector<8xi64>
// CHECK:           %[[AT:.*]] = tir.ramp %{{.*}}, %{{.*}} : i64, i64 -> vector<8xi64>
// CHECK:           %[[A:.*]] = tir.masked_load %A[%[[AT]]], %[[MASK]] : vector<8xf32>
// CHECK:           tir.select %[[MASK]], %[[A]], %{{.*}} : vector<8xf32>
// CHECK:         tir.if
tir.func @masked(%A: !tir.buffer<[n * 2], f32>, %Y: !tir.buffer<[n], f32>, %m: i64) {
  %two = tir.const 2 : i64
  tir.for vectorized %i = 0 to n {
    %in = tir.lt %i, %m : i64
    %r = tir.if_then_else %in {
      %at = tir.mul %i, %two : i64
      %a = tir.load %A[%at] : f32
      tir.yield %a : f32
    } else {
      %z = tir.const 0.0 : f32
      tir.yield %z : f32
    }
    tir.store %r, %Y[%i]
  }
}

// A loop of kind unrolled in the extent of another one.

// UNROLL-LABEL: tir.func @triangle
// UNROLL-NOT:     tir.for
// UNROLL-COUNT-3: tir.store
// UNROLL-NOT:     tir.store
tir.func @triangle(%Y: !tir.buffer<[9], f32>) {
  %x = tir.const 1.0 : f32
  %three = tir.const 3 : i64
  tir.for unrolled %i = 0 to 3 {
    %row = tir.mul %i, %three : i64
    tir.for unrolled %j = 0 for %i {
      %at = tir.add %row, %j : i64
      tir.store %x, %Y[%at]
    }
  }
}
