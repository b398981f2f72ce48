// RUN: tirax-opt %s -p 'default-schedule{target="llvm -mcpu=x86-64-v4"}' | filecheck %s
// RUN: tirax-opt %s --check-each -p 'default-schedule{target="llvm -mcpu=x86-64-v4"}' -o %t

// Numbers and rules that are written down are followed; what is not mentioned is as it is by default.
// CHECK-LABEL: tir.func @product
// CHECK-NOT:     sched.
// CHECK:         %[[T:.*]] = tir.alloc_buffer : !tir.buffer<[48, 256], f32>
// CHECK:         tir.store %{{.*}}, %[[T]]
// CHECK:         tir.for %vi_tile = 0 to 16 {
// CHECK:           !tir.buffer<[3, 64], f32, scope = "local">
// CHECK:           tir.for unrolled %{{.*}} = 0 to 3 {
// CHECK:             tir.for vectorized %{{.*}} = 0 to 64 {
// CHECK:           tir.load %[[T]]
// CHECK:           tir.store %{{.*}}, %D
tir.func @product(%A: !tir.buffer<[48, 64], f32>, %B: !tir.buffer<[64, 256], f32>, %E: !tir.buffer<[48, 256], f32>, %D: !tir.buffer<[48, 256], f32>) {
  %C = tir.alloc_buffer : !tir.buffer<[48, 256], f32>
  %T = tir.alloc_buffer : !tir.buffer<[48, 256], f32>
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 {
    tir.block "T" (%vi = spatial(%i, 48), %vj = spatial(%j, 256)) {
      %e = tir.load %E[%vi, %vj] : f32
      %t = tir.add %e, %e : f32
      tir.store %t, %T[%vi, %vj]
    }
  } }
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 { tir.for %k = 0 to 64 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 256), %vk = reduce(%k, 64)) {
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
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 {
    tir.block "D" (%vi = spatial(%i, 48), %vj = spatial(%j, 256)) {
      %c = tir.load %C[%vi, %vj] : f32
      %t = tir.load %T[%vi, %vj] : f32
      %d = tir.add %c, %t : f32
      tir.store %d, %D[%vi, %vj]
    }
  } }
}
sched.sequence @product {
  sched.rule "pointwise" on "T"
  sched.rule "register_tiles" on "C" then "D" {rows = 3}
}

// Another rule than the default's, and from another number of rows on.
// CHECK-LABEL: tir.func @rows
// CHECK:         tir.const 100
// CHECK:         tir.ge
// CHECK:         tir.if
// CHECK:           tir.shuffle
// CHECK:         } else {
// CHECK:           !tir.buffer<[2, 2, 16], f32, scope = "local">
tir.func @rows(%A: !tir.buffer<[n, 40], f32>, %B: !tir.buffer<[128, 40], f32>, %C: !tir.buffer<[n, 128], f32>) {
  tir.for %i = 0 to n { tir.for %j = 0 to 128 { tir.for %k = 0 to 40 {
    tir.block "C" (%vi = spatial(%i, n), %vj = spatial(%j, 128), %vk = reduce(%k, 40)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %b = tir.load %B[%vj, %vk] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}
sched.sequence @rows {
  sched.rule "panels" on "C" from 100 else "vector_reduction" {tile = [2, 2]}
}

// Without the epilogue there are two nests.
// CHECK-LABEL: tir.func @apart
// CHECK:         tir.for %vi = 0 to 8 {
// CHECK:         }
// CHECK:         tir.for vectorized %vi_1 = 0 to 8 {
// CHECK-NOT:     tir.for
tir.func @apart(%A: !tir.buffer<[8, 40], f32>, %B: !tir.buffer<[8], f32>) {
  %S = tir.alloc_buffer : !tir.buffer<[8], f32>
  tir.for %i = 0 to 8 { tir.for %k = 0 to 40 {
    tir.block "S" (%vi = spatial(%i, 8), %vk = reduce(%k, 40)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %S[%vi]
      }
      %c = tir.load %S[%vi] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %s = tir.add %c, %a : f32
      tir.store %s, %S[%vi]
    }
  } }
  tir.for %i = 0 to 8 {
    tir.block "B" (%vi = spatial(%i, 8)) {
      %s = tir.load %S[%vi] : f32
      %r = tir.add %s, %s : f32
      tir.store %r, %B[%vi]
    }
  }
}
sched.sequence @apart {
  sched.rule "vector_reduction" on "S"
}
