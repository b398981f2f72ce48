// RUN: tirax-opt %s -p apply-schedule --split-input-file | filecheck %s

// An index map over indices of another integer type is that over the block's.

tir.func @main(%A: !tir.buffer<[6 : i32, 8 : i32], f32>, %C: !tir.buffer<[6 : i32, 8 : i32], f32>) {
  %B = tir.alloc_buffer : !tir.buffer<[6 : i32, 8 : i32], f32>
  tir.for %i = 0 : i32 to 6 : i32 {
    tir.for %j = 0 : i32 to 8 : i32 {
      tir.block "B" (%vi = spatial(%i, 6 : i32), %vj = spatial(%j, 8 : i32)) {
        tir.reads %A[%vi, %vj]
        tir.writes %B[%vi, %vj]
        %0 = tir.load %A[%vi, %vj] : f32
        tir.store %0, %B[%vi, %vj]
      }
    }
  }
  tir.for %i = 0 : i32 to 6 : i32 {
    tir.for %j = 0 : i32 to 8 : i32 {
      tir.block "C" (%vi = spatial(%i, 6 : i32), %vj = spatial(%j, 8 : i32)) {
        tir.reads %B[%vi, %vj]
        tir.writes %C[%vi, %vj]
        %0 = tir.load %B[%vi, %vj] : f32
        tir.store %0, %C[%vi, %vj]
      }
    }
  }
}
sched.sequence {
  %b0 = sched.get_block(name = "B", func_name = "main") : block
  sched.transform_layout(block = %b0, buffer = ["write", 0], index_map = #sym.index_map<(i, j) -> (i floordiv 4, j, i mod 4)>, pad_value = ["float32", 0.0], assume_injective_transform = false)
  sched.set_axis_separator(block = %b0, buffer = ["write", 0], axis_separators = [1])
  %b1 = sched.get_block(name = "C", func_name = "main") : block
  sched.transform_block_layout(block = %b1, index_map = #sym.index_map<(i, j) -> (j * 6 + i)>)
}

// CHECK:       tir.alloc_buffer : !tir.buffer<[2 : i32, 8 : i32, 4 : i32], f32, separators = [1]>
// CHECK:       tir.for %axis0 = 0 : i32 to 2 : i32 {
// CHECK:       tir.block "B" (%v_axis0 = spatial(%axis0, 2 : i32), %v_j = spatial(%j, 8 : i32), %v_axis2 = spatial(%axis2, 4 : i32))
// CHECK:       tir.if_then_else
// CHECK:       tir.for %ax0 = 0 : i32 to 48 : i32 {
// CHECK-NEXT:    tir.block "C" (%v0 = spatial(%ax0, 48 : i32)) {
