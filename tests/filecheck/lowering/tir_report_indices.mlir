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

// What is the same in all iterations of a loop that runs is looked at once, before it.
// CHECK-LABEL: tir.func @rows
tir.func @rows(%A: !tir.buffer<[n, 8], f32>, %I: !tir.buffer<[m], i64>, %B: !tir.buffer<[m, 8], f32>) {
  // CHECK: tir.for %i = 0 to m {
  // CHECK: tir.or
  // CHECK: tir.for %j = 0 to 8 {
  // CHECK-NOT: tir.or
  // CHECK: tir.assert
  tir.for %i = 0 to m {
    tir.for %j = 0 to 8 {
      %k = tir.load %I[%i] : i64
      %x = tir.load %A[%k, %j] : f32
      tir.store %x, %B[%i, %j]
    }
  }
}

// It may be another one where the loop stores indices, and is not looked at where the loop may not run.
// CHECK-LABEL: tir.func @changing
tir.func @changing(%A: !tir.buffer<[n, l], f32>, %I: !tir.buffer<[m], i64>, %B: !tir.buffer<[m, l], f32>) {
  %two = tir.const 2 : i64
  // CHECK: tir.for %i = 0 to m {
  // CHECK-NEXT: tir.for %j = 0 to l {
  // CHECK: tir.or
  // CHECK: tir.for %i_1 = 0 to 8 {
  // CHECK: tir.or
  // CHECK: tir.store %{{.*}}, %I
  tir.for %i = 0 to m {
    tir.for %j = 0 to l {
      %k = tir.load %I[%i] : i64
      %x = tir.load %A[%k, %j] : f32
      tir.store %x, %B[%i, %j]
    }
  }
  tir.for %i_1 = 0 to 8 {
    %k = tir.load %I[%two] : i64
    %x = tir.load %A[%k, %two] : f32
    tir.store %x, %B[%i_1, %two]
    tir.store %i_1, %I[%two]
  }
}

// So it may where the loop stores such numbers to what may be the same memory.
// CHECK-LABEL: tir.func @elsewhere
tir.func @elsewhere(%A: !tir.buffer<[n], f32>, %I: !tir.buffer<[m], i64>, %J: !tir.buffer<[m], i64>, %B: !tir.buffer<[m], f32>) {
  %two = tir.const 2 : i64
  // CHECK: tir.for %i = 0 to 8 {
  // CHECK: tir.or
  // CHECK: tir.store %{{.*}}, %J
  tir.for %i = 0 to 8 {
    %k = tir.load %I[%two] : i64
    %x = tir.load %A[%k] : f32
    tir.store %x, %B[%two]
    tir.store %i, %J[%two]
  }
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
