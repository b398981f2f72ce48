// RUN: tirax-opt %s -p apply-schedule --split-input-file | filecheck %s

tir.func @main(%A: !tir.buffer<[128], f32>, %B: !tir.buffer<[128], f32>) {
  tir.for %i = 0 to 128 {
    tir.block "B" (%vi = spatial(%i, 128)) {
      tir.reads %A[%vi]
      tir.writes %B[%vi]
      %0 = tir.load %A[%vi] : f32
      tir.store %0, %B[%vi]
    }
  }
}
sched.sequence {
  %b0 = sched.get_block(name = "B", func_name = "main") : block
  %l1 = sched.get_loops(block = %b0) : loop
  %v2, %v3 = sched.sample_perfect_tile(loop = %l1, n = 2, max_innermost_factor = 16) decision [16, 8] : int, int
  %l4, %l5 = sched.split(loop = %l1, factors = [%v2, %v3], preserve_unit_iters = true, disable_predication = false) : loop, loop
  sched.parallel(loop = %l4)
  sched.vectorize(loop = %l5)
}

// CHECK:       tir.for parallel %i.0 = 0 to 16 {
// CHECK-NEXT:    tir.for vectorized %i.1 = 0 to 8 {
// CHECK-NOT:   sched.sequence
