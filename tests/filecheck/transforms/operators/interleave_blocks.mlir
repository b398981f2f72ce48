// RUN: tirax-opt %s -p 'interleave-blocks{target="llvm -mcpu=haswell"}' | filecheck %s

// Words of eight rows stand side by side; where they are no whole vectors rows of zeros are cut off again, and what
// reads rows by index reads those that were given.

// CHECK: relax.func @whole
// CHECK: %lv = relax.matmul_blocks %x, %{{.*}} {format = "q4_0", interleaved = 8} : !relax.tensor<[n, 8], f32>
// CHECK: relax.take_blocks %{{.*}}, %i {format = "q4_0", interleaved = 8} : !relax.tensor<[n, 32], f32>
relax.func @whole(%x: !relax.tensor<[n, 32], f32>, %i: !relax.tensor<[n], i64>) -> tuple<!relax.tensor<[n, 8], f32>, !relax.tensor<[n, 32], f32>> {
  %p = relax.constant <ui8 [8, 18] "0x030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303">
  %lv = relax.matmul_blocks %x, %p {format = "q4_0"} : !relax.tensor<[n, 8], f32>
  %gv = relax.take_blocks %p, %i {format = "q4_0"} : !relax.tensor<[n, 32], f32>
  %t = relax.tuple(%lv, %gv)
  relax.return %t : tuple<!relax.tensor<[n, 8], f32>, !relax.tensor<[n, 32], f32>>
}

// CHECK: relax.func @padded
// CHECK: relax.constant <ui8 [2, 144]
// CHECK: relax.matmul_blocks %x, %{{.*}} {format = "q4_0", activation = "int8", interleaved = 8} : !relax.tensor<[n, 16], f32>
// CHECK: relax.strided_slice
// CHECK: relax.take_blocks %{{.*}}, %i {format = "q4_0"} : !relax.tensor<[n, 32], f32>
relax.func @padded(%x: !relax.tensor<[n, 32], f32>, %i: !relax.tensor<[n], i64>) -> tuple<!relax.tensor<[n, 9], f32>, !relax.tensor<[n, 32], f32>> {
  %p = relax.constant <ui8 [9, 18] "0x030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303">
  %lv = relax.matmul_blocks %x, %p {format = "q4_0", activation = "int8"} : !relax.tensor<[n, 9], f32>
  %gv = relax.take_blocks %p, %i {format = "q4_0"} : !relax.tensor<[n, 32], f32>
  %t = relax.tuple(%lv, %gv)
  relax.return %t : tuple<!relax.tensor<[n, 9], f32>, !relax.tensor<[n, 32], f32>>
}

// CHECK: relax.func @parameter
// CHECK-NEXT: relax.matmul_blocks %x, %p {format = "q4_0"} : !relax.tensor<[n, 8], f32>
relax.func @parameter(%x: !relax.tensor<[n, 32], f32>, %p: !relax.tensor<[8, 18], ui8>) -> !relax.tensor<[n, 8], f32> {
  %gv = relax.matmul_blocks %x, %p {format = "q4_0"} : !relax.tensor<[n, 8], f32>
  relax.return %gv : !relax.tensor<[n, 8], f32>
}
