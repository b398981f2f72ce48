// RUN: tirax-opt %s -p guard-indices | filecheck %s

// An index that is data is clamped in a load, and decides about a store; one that is computed stays as it is.

// CHECK-LABEL: tir.func @gather
tir.func @gather(%A: !tir.buffer<[n, 4], f32>, %I: !tir.buffer<[m], i64>, %B: !tir.buffer<[m], f32>) {
  %c = tir.const 0 : i64
  tir.for %i = 0 to m {
    // CHECK: %k = tir.load %I[%i] : i64
    // CHECK-NEXT: [[N:%.*]] = sym.value n
    // CHECK-NEXT: [[ONE:%.*]] = tir.const 1 : i64
    // CHECK-NEXT: [[LAST:%.*]] = tir.sub [[N]], [[ONE]] : i64
    // CHECK-NEXT: [[BELOW:%.*]] = tir.min %k, [[LAST]] : i64
    // CHECK-NEXT: [[ZERO:%.*]] = tir.const 0 : i64
    // CHECK-NEXT: [[INSIDE:%.*]] = tir.max [[BELOW]], [[ZERO]] : i64
    // CHECK-NEXT: %x = tir.load %A{{\[}}[[INSIDE]], %c] : f32
    // CHECK-NEXT: tir.store %x, %B[%i]
    %k = tir.load %I[%i] : i64
    %x = tir.load %A[%k, %c] : f32
    tir.store %x, %B[%i]
  }
}

// CHECK-LABEL: tir.func @scatter
tir.func @scatter(%A: !tir.buffer<[8], f32>, %I: !tir.buffer<[m], i32>, %B: !tir.buffer<[m], f32>) {
  tir.for %i = 0 to m {
    %k = tir.load %I[%i] : i32
    %x = tir.load %B[%i] : f32
    // CHECK: [[GE:%.*]] = tir.ge %k
    // CHECK: [[LT:%.*]] = tir.lt %k
    // CHECK: [[BOTH:%.*]] = tir.and [[GE]], [[LT]] : i1
    // CHECK-NEXT: tir.if [[BOTH]] {
    // CHECK-NEXT: tir.store %x, %A[%k]
    tir.store %x, %A[%k]
  }
}
