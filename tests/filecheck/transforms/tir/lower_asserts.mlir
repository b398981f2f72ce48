// RUN: tirax-opt %s -p lower-asserts | filecheck %s

// After an assertion that does not hold nothing more runs, and the loop is no longer parallel.

// CHECK-LABEL: tir.func @checks({{.*}}) -> i32 {
// CHECK-NEXT:    %status = tir.alloc_buffer : !tir.buffer<[1], i32>
// CHECK:         tir.store %{{.*}}, %status
// CHECK-NEXT:    tir.for %i = 0 to 4 {
// CHECK:           [[RUNS:%[0-9]+]] = tir.eq
// CHECK-NEXT:      tir.if [[RUNS]] {
// CHECK:             [[BAD:%[0-9]+]] = tir.not %ok
// CHECK-NEXT:        tir.if [[BAD]] {
// CHECK-NEXT:          [[ONE:%[0-9]+]] = tir.const 1 : i32
// CHECK:               tir.store [[ONE]], %status
// CHECK:             [[HOLDS:%[0-9]+]] = tir.eq
// CHECK-NEXT:        tir.if [[HOLDS]] {
// CHECK-NEXT:          tir.store %z, %A[%i]
// CHECK:         tir.if
// CHECK-NEXT:      %c = tir.const false
// CHECK:             [[TWO:%[0-9]+]] = tir.const 2 : i32
// CHECK:             tir.store [[TWO]], %status
// CHECK:         [[STATUS:%[0-9]+]] = tir.load %status
// CHECK-NEXT:    tir.return [[STATUS]] : i32
tir.func @checks(%A: !tir.buffer<[4], i64>) {
  tir.for parallel %i = 0 to 4 {
    %a = tir.load %A[%i] : i64
    %z = tir.const 0 : i64
    %ok = tir.le %z, %a : i64
    tir.assert %ok, "negative"
    tir.store %z, %A[%i]
  }
  %c = tir.const false
  tir.assert %c, "few"
}

// What a function that may fail gives is the status of its caller, too.

// CHECK-LABEL: tir.func @calls({{.*}}) -> i32 {
// CHECK:         %r = tir.call @checks(%data) : i32
// CHECK-NEXT:    [[ZERO:%[0-9]+]] = tir.const 0 : i32
// CHECK-NEXT:    [[FAILED:%[0-9]+]] = tir.ne %r, [[ZERO]]
// CHECK-NEXT:    tir.if [[FAILED]] {
tir.func @calls(%A: !tir.buffer<[4], i64>) {
  %data = tir.buffer_data %A
  %r = tir.call @checks(%data) : none
  tir.evaluate %r : none
}

