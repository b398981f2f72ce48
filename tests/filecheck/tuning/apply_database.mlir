// RUN: rm -rf %t.dir
// RUN: tirax-opt %s -p 'meta-schedule-tune-tir{work_dir="%t.dir" max_trials_global=1 target="llvm -num-cores=1"}' | filecheck %s --check-prefix SAME
// RUN: tirax-opt %s -p 'meta-schedule-apply-database{work_dir="%t.dir" target="llvm -num-cores=1"}' | filecheck %s
// RUN: tirax-opt %s -p 'meta-schedule-apply-database{work_dir="%t.dir" target="llvm -num-cores=3"}' | filecheck %s --check-prefix SAME
// RUN: not tirax-opt %s -p meta-schedule-apply-database 2>&1 | filecheck %s --check-prefix NONE

// A record is for one target; without a database there is nothing to apply.
// NONE: there is no database to apply

// SAME:         tir.func @twice
// SAME-NOT:     tir.is_scheduled
// SAME-NEXT:      tir.for %i = 0 to 64 {

// CHECK:        tir.func @twice
// CHECK-SAME:     tir.is_scheduled = true
// CHECK:          tir.for vectorized
// CHECK:          tir.block "B"
tir.func @twice(%A: !tir.buffer<[64, 64], f32>, %B: !tir.buffer<[64, 64], f32>) {
  tir.for %i = 0 to 64 {
    tir.for %j = 0 to 64 {
      tir.block "B" (%vi = spatial(%i, 64), %vj = spatial(%j, 64)) {
        tir.reads %A[%vi, %vj]
        tir.writes %B[%vi, %vj]
        %0 = tir.load %A[%vi, %vj] : f32
        %1 = tir.add %0, %0 : f32
        tir.store %1, %B[%vi, %vj]
      }
    }
  }
}

// Sizes that are not known are not tuned.
// CHECK:        tir.func @unknown
// CHECK-NOT:      tir.is_scheduled
// CHECK:          tir.store
tir.func @unknown(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>) {
  tir.for %i = 0 to n {
    %0 = tir.load %A[%i] : f32
    tir.store %0, %B[%i]
  }
}
