// RUN: not tirax-opt %s -p apply-schedule 2>&1 | filecheck %s

tir.func @main(%A: !tir.buffer<[128], f32>, %B: !tir.buffer<[1], f32>) {
  tir.for %k = 0 to 128 {
    tir.block "B" (%vk = reduce(%k, 128)) {
      %0 = tir.const 0 : i64
      tir.reads %A[%vk]
      tir.writes %B[%0]
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %B[%0]
      }
      %1 = tir.load %B[%0] : f32
      %2 = tir.load %A[%vk] : f32
      %3 = tir.add %1, %2 : f32
      tir.store %3, %B[%0]
    }
  }
}
sched.sequence {
  %b0 = sched.get_block(name = "B", func_name = "main") : block
  %l1 = sched.get_loops(block = %b0) : loop
  sched.parallel(loop = %l1)
}

// CHECK:      error: parallel: an iterator of kind reduce depends on the loop
// CHECK:      for k in range(T.int64(128))
// CHECK-NEXT: ^^^
