// RUN: tirax-opt %s | tirax-opt | filecheck %s
// RUN: tirax-opt %s --print-op-generic | tirax-opt | filecheck %s

// CHECK-LABEL: tir.func private @relu(%X: !tir.buffer<[n, 128], f32>, %Y: !tir.buffer<[n, 128], f32>)
// CHECK-SAME: attributes {tir.noalias = true} {
// CHECK-NEXT: tir.for %i = 0 to n {
// CHECK-NEXT:   tir.for vectorized %j = 0 to 128 {
// CHECK-NEXT:     tir.block "Y" (%vi = spatial(%i, n), %vj = spatial(%j, 128)) {
// CHECK-NEXT:       tir.reads %X[%vi, %vj]
// CHECK-NEXT:       tir.writes %Y[%vi, %vj]
// CHECK-NEXT:       %0 = tir.load %X[%vi, %vj] : f32
// CHECK-NEXT:       %1 = tir.const 0.000000e+00 : f32
// CHECK-NEXT:       %2 = tir.max %0, %1 : f32
// CHECK-NEXT:       tir.store %2, %Y[%vi, %vj]
tir.func private @relu(%X: !tir.buffer<[n, 128], f32>, %Y: !tir.buffer<[n, 128], f32>) attributes {tir.noalias = true} {
  tir.for %i = 0 to n {
    tir.for vectorized %j = 0 to 128 {
      tir.block "Y" (%vi = spatial(%i, n), %vj = spatial(%j, 128)) {
        tir.reads %X[%vi, %vj]
        tir.writes %Y[%vi, %vj]
        %0 = tir.load %X[%vi, %vj] : f32
        %1 = tir.const 0.0 : f32
        %2 = tir.max %0, %1 : f32
        tir.store %2, %Y[%vi, %vj]
      }
    }
  }
}

// CHECK-LABEL: tir.func @control
// CHECK: tir.for parallel %i = 1 for %n annotations {a = 1 : i64} {
// CHECK: tir.for %k.0 = 0 to 4 : i32 {
// CHECK: tir.alloc_buffer : !tir.buffer<[4 : i32], i8, scope = "local", align = 128>
tir.func @control(%n: i64) {
  tir.for parallel %i = 1 for %n annotations {a = 1 : i64} {
    tir.for %k.0 = 0 to 4 : i32 {
    }
  }
  %b = tir.alloc_buffer : !tir.buffer<[4 : i32], i8, scope = "local", align = 128>
}
