// RUN: tirax-opt %s -p report-indices,guard-indices | filecheck %s

// A function with indices that are data notes in front of each load, and where a store is left out, that one was
// outside, and fails at its end; the lanes of a vectorized loop are looked at before it. One with a result does not.

// CHECK-LABEL: tir.func @gather
// CHECK-NOT: reports_indices
tir.func @gather(%A: !tir.buffer<[n], f32>, %I: !tir.buffer<[m], i64>, %B: !tir.buffer<[m], f32>) {
  // CHECK: %outside = tir.alloc_buffer : !tir.buffer<[1], i32, scope = "local">
  // CHECK: tir.for %{{.*}} = 0 to m {
  // CHECK-NEXT: [[K:%.*]] = tir.load %I
  // CHECK: [[LT:%.*]] = tir.lt [[K]], {{.*}} : i64
  // CHECK: [[GE:%.*]] = tir.ge [[K]], {{.*}} : i64
  // CHECK: [[OUT:%.*]] = tir.or [[LT]], [[GE]] : i1
  // CHECK-NEXT: tir.if [[OUT]] {
  // CHECK: tir.store %{{.*}}, %outside
  // CHECK: tir.for vectorized %i = 0 to m {
  // CHECK-NOT: tir.if
  tir.for vectorized %i = 0 to m {
    %k = tir.load %I[%i] : i64
    %x = tir.load %A[%k] : f32
    tir.store %x, %B[%i]
  }
  // CHECK: tir.assert %{{.*}}, "an index is outside of A: 0 <= index < n"
}

// Where a choice has it that nothing is read, nothing is outside.
// CHECK-LABEL: tir.func @choice
tir.func @choice(%A: !tir.buffer<[n], f32>, %I: !tir.buffer<[m], i64>, %B: !tir.buffer<[m], f32>) {
  %zero = tir.const 0 : i64
  tir.for %i = 0 to m {
    %k = tir.load %I[%i] : i64
    %c = tir.ge %k, %zero : i64
    // CHECK: %y = tir.if_then_else
    // CHECK: [[TEST:%.*]] = tir.if_then_else %{{.*}} {
    // CHECK: tir.or
    // CHECK: } else {
    // CHECK-NEXT: tir.const false
    // CHECK: tir.if [[TEST]] {
    %y = tir.if_then_else %c {
      %x = tir.load %A[%k] : f32
      tir.yield %x : f32
    } else {
      %f = tir.const 0.0 : f32
      tir.yield %f : f32
    }
    tir.store %y, %B[%i]
  }
}

// CHECK-LABEL: tir.func @first
tir.func @first(%A: !tir.buffer<[n], f32>, %I: !tir.buffer<[1], i64>) -> f32 {
  // CHECK-NOT: tir.assert
  %zero = tir.const 0 : i64
  %k = tir.load %I[%zero] : i64
  %x = tir.load %A[%k] : f32
  tir.return %x : f32
}
