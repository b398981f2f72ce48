// RUN: tirax-opt %s -p 'report-indices{accesses=all},guard-indices' | filecheck %s
// RUN: env TIRAX_SANITIZE=address tirax-opt %s -p report-indices,guard-indices | filecheck %s
// RUN: tirax-opt %s -p report-indices | filecheck %s --check-prefix=PLAIN

// Where all accesses are checked, each has the number of its message: where it stands.

// PLAIN-NOT: tirax.reports_indices

// CHECK-LABEL: tir.func @shift
tir.func @shift(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[m], f32>) {
  // CHECK: %outside = tir.alloc_buffer : !tir.buffer<[1], i32, scope = "local">
  %one = tir.const 1 : i64
  tir.for %i = 0 to m {
    // CHECK: [[LT:%.*]] = tir.lt %next
    // CHECK: [[GE:%.*]] = tir.ge %next
    // CHECK: tir.or [[LT]], [[GE]] : i1
    // CHECK-NEXT: tir.if
    // CHECK-NEXT: tir.const 2 : i32
    // CHECK-NEXT: tir.const 0 : i64
    // CHECK-NEXT: tir.store {{.*}}, %outside
    %next = tir.add %i, %one : i64
    %x = tir.load %A[%next] : f32
    // CHECK: tir.if
    // CHECK-NEXT: tir.store %x, %B[%i]
    // CHECK-NEXT: } else {
    // CHECK-NEXT: tir.const 3 : i32
    tir.store %x, %B[%i]
  }
  // CHECK: tir.assert {{.*}}, "an index is outside of a buffer"
  // CHECK-SAME: "an index is outside of A, which is read at {{.*}}tir_sanitize.mlir:22:5"
  // CHECK-SAME: "an index is outside of B, which is written at {{.*}}tir_sanitize.mlir:27:5"
}
