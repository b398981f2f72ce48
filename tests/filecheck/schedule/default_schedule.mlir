// RUN: tirax-opt %s -p 'default-schedule{target="llvm -mcpu=x86-64-v4 -vector-width=512"}' | filecheck %s

// The epilogue is computed on the tile, and the buffer between vanishes.
// CHECK-LABEL: tir.func @dense_relu
// CHECK-NOT:     tir.alloc_buffer : !tir.buffer<[n, 64], f32>
// CHECK:         tir.for %vi_tile = 0 to n floordiv 6 {
// CHECK:           %[[ACC:.*]] = tir.alloc_buffer {tirax.padded} : !tir.buffer<[6, 64], f32, scope = "local">
// CHECK:           tir.for %vk = 0 to 8 {
// CHECK-NEXT:        tir.for %{{.*}} = 0 to 4 annotations {tirax.written_out_late = true} {
// CHECK:               tir.for unrolled %{{.*}} = 0 to 6 {
// CHECK-NEXT:            tir.for vectorized %{{.*}} = 0 to 64 {
// CHECK:           tir.for unrolled %{{.*}} = 0 to 6 {
// CHECK-NEXT:        tir.for vectorized %{{.*}} = 0 to 64 {
// CHECK:               tir.load %[[ACC]]
// CHECK:               tir.max
// CHECK-NEXT:          tir.store %{{.*}}, %D
// CHECK:         !tir.buffer<[2, 64], f32, scope = "local">
// CHECK:         !tir.buffer<[1, 64], f32, scope = "local">
tir.func @dense_relu(%A: !tir.buffer<[n, 32], f32>, %B: !tir.buffer<[32, 64], f32>, %D: !tir.buffer<[n, 64], f32>) {
  %C = tir.alloc_buffer : !tir.buffer<[n, 64], f32>
  tir.for %i = 0 to n { tir.for %j = 0 to 64 { tir.for %k = 0 to 32 {
    tir.block "C" (%vi = spatial(%i, n), %vj = spatial(%j, 64), %vk = reduce(%k, 32)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %b = tir.load %B[%vk, %vj] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
  tir.for %i = 0 to n { tir.for %j = 0 to 64 {
    tir.block "D" (%vi = spatial(%i, n), %vj = spatial(%j, 64)) {
      %c = tir.load %C[%vi, %vj] : f32
      %z = tir.const 0.0 : f32
      %r = tir.max %c, %z : f32
      tir.store %r, %D[%vi, %vj]
    }
  } }
}

// Along the reduction: partial sums stand in the lanes.
// CHECK-LABEL: tir.func @rows
// CHECK:         %[[ACC:.*]] = tir.alloc_buffer {tirax.padded} : !tir.buffer<[64], f32, scope = "local">
// CHECK:         tir.for %k_tile = 0 to 8 {
// CHECK:         tir.call_llvm_intrin "llvm.vector.reduce.fadd"
tir.func @rows(%A: !tir.buffer<[n, 512], f32>, %C: !tir.buffer<[n], f32>) {
  tir.for %i = 0 to n { tir.for %k = 0 to 512 {
    tir.block "C" (%vi = spatial(%i, n), %vk = reduce(%k, 512)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi]
      }
      %c = tir.load %C[%vi] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %s = tir.add %c, %a : f32
      tir.store %s, %C[%vi]
    }
  } }
}

// What the user has scheduled stays.
// CHECK-LABEL: tir.func @scheduled
// CHECK-NEXT:    tir.for parallel %i = 0 to n {
// CHECK-NEXT:      tir.block "Y"
tir.func @scheduled(%X: !tir.buffer<[n], f32>, %Y: !tir.buffer<[n], f32>) {
  tir.for parallel %i = 0 to n {
    tir.block "Y" (%vi = spatial(%i, n)) {
      %a = tir.load %X[%vi] : f32
      tir.store %a, %Y[%vi]
    }
  }
}
