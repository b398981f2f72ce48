// RUN: tirax-opt %s -p 'default-schedule{target="llvm -mcpu=cooperlake"}' | filecheck %s
// RUN: tirax-opt %s -p 'default-schedule{target="llvm -mcpu=x86-64-v4"}' | filecheck %s --check-prefix=WITHOUT

// Two steps of k are one element of the panel; odd ones are steps of their own.
// CHECK-LABEL: tir.func @brains
// CHECK:         tir.for %vj_strip = 0 to 2 {
// CHECK:           %[[PANEL:.*]] = tir.alloc_buffer {tirax.padded} : !tir.buffer<[4, 64], i32>
// CHECK:           tir.for %vk = 0 to 3 {
// CHECK:             tir.call_intrin "shift_left"
// CHECK-NEXT:        tir.call_intrin "bitwise_or"
// CHECK-NEXT:        tir.store %{{.*}}, %[[PANEL]]
// CHECK:           tir.for %vi_tile = 0 to 8 {
// CHECK:             !tir.buffer<[6, 64], f32, scope = "local">
// CHECK:             tir.call_llvm_intrin "llvm.x86.avx512bf16.dpbf16ps.512"
// WITHOUT-LABEL: tir.func @brains
// WITHOUT-NOT:     llvm.x86
tir.func @brains(%A: !tir.buffer<[48, 7], bf16>, %B: !tir.buffer<[7, 128], bf16>, %C: !tir.buffer<[48, 128], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 128 { tir.for %k = 0 to 7 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 128), %vk = reduce(%k, 7)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : bf16
      %b = tir.load %B[%vk, %vj] : bf16
      %aw = tir.cast %a : bf16 -> f32
      %bw = tir.cast %b : bf16 -> f32
      %m = tir.mul %aw, %bw : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}

// Both operands are signed: those of A are shifted, and the last of five rows is what is too much. Few rows: no panel.
// CHECK-LABEL: tir.func @bytes
// CHECK-NOT:     !tir.buffer<[2, 16], i32>
// CHECK:         !tir.buffer<[5, 16], i32, scope = "local">
// CHECK:         tir.call_intrin "bitwise_xor"
// CHECK:         tir.call_llvm_intrin "llvm.x86.avx512.vpdpbusd.512"
// CHECK:         tir.sub
// WITHOUT-LABEL: tir.func @bytes
// WITHOUT-NOT:     llvm.x86
tir.func @bytes(%A: !tir.buffer<[4, 8], i8>, %B: !tir.buffer<[8, 16], i8>, %C: !tir.buffer<[4, 16], i32>) {
  tir.for %i = 0 to 4 { tir.for %j = 0 to 16 { tir.for %k = 0 to 8 {
    tir.block "C" (%vi = spatial(%i, 4), %vj = spatial(%j, 16), %vk = reduce(%k, 8)) {
      tir.init {
        %z = tir.const 0 : i32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : i32
      %a = tir.load %A[%vi, %vk] : i8
      %b = tir.load %B[%vk, %vj] : i8
      %aw = tir.cast %a : i8 -> i32
      %bw = tir.cast %b : i8 -> i32
      %m = tir.mul %aw, %bw : i32
      %s = tir.add %c, %m : i32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}
