// RUN: not tirax-opt %s -p apply-schedule 2>&1 | filecheck %s

tir.func @main(%A: !tir.buffer<[6], f32>, %B: !tir.buffer<[6], f32>) {
  tir.for %i = 0 to 6 {
    tir.block "B" (%vi = spatial(%i, 6)) {
      tir.reads %A[%vi]
      tir.writes %B[%vi]
      %0 = tir.load %A[%vi] : f32
      tir.store %0, %B[%vi]
    }
  }
}
sched.sequence {
  %b0 = sched.get_block(name = "B", func_name = "main") : block
  sched.transform_layout(block = %b0, buffer = ["write", 0], index_map = #sym.index_map<(i) -> (i floordiv 4, i mod 4)>, pad_value = none, assume_injective_transform = false)
}

// CHECK:      error: transform_layout: the index map pads the buffer
// CHECK:      hint: give pad_value
// CHECK:      with T.block("B")
// CHECK-NEXT: ^^^
