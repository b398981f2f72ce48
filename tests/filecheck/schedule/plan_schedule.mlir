// RUN: tirax-opt %s -p 'plan-schedule{target="llvm -mcpu=x86-64-v4"}' | filecheck %s
// RUN: tirax-opt %s -p 'plan-schedule{target="llvm -mcpu=x86-64-v3"}' | filecheck %s --check-prefix AVX2
// RUN: tirax-opt %s -p 'plan-schedule{target="llvm -mcpu=x86-64-v4"},default-schedule{target="llvm -mcpu=x86-64-v4"}' -o %t.planned
// RUN: tirax-opt %s -p 'default-schedule{target="llvm -mcpu=x86-64-v4"}' -o %t.default
// RUN: cmp %t.planned %t.default

// A product, a producer that is computed where it is read, and what becomes its epilogue.
// CHECK-LABEL: tir.func @product
// CHECK:       sched.sequence @product {
// CHECK-NEXT:    sched.rule "inline" on "T"
// CHECK-NEXT:    sched.rule "register_tiles" on "C" then "D" {lane = "vj", row = "vi", lanes = 16, vectors = 4, rows = 6{{.*}}}
// CHECK-NEXT:  }
// AVX2:        sched.rule "register_tiles" on "C" then "D" {lane = "vj", row = "vi", lanes = 8, vectors = 2, rows = 6{{.*}}}
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

// Whether a panel pays is found out when it runs.
// CHECK-LABEL: tir.func @rows
// CHECK:       sched.sequence @rows {
// CHECK-NEXT:    sched.rule "panels" on "C" {{{.*}}lanes = 16, vectors = 4, rows = 6{{.*}}} from 24 else "vector_reduction" {lane = "vk", tile = [4, 4], lanes = 16, chains = 1}
// AVX2:          sched.rule "panels" on "C" {{{.*}}lanes = 8, vectors = 2, rows = 6{{.*}}} from 24 else "vector_reduction" {lane = "vk", tile = [2, 4], lanes = 8, chains = 1}
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

// What was given a schedule has none of ours.
// CHECK-LABEL: tir.func @mine
// CHECK-NOT:   sched.sequence
tir.func @mine(%A: !tir.buffer<[64], f32>, %B: !tir.buffer<[64], f32>) attributes {tir.is_scheduled = true} {
  tir.for %i = 0 to 64 {
    tir.block "B" (%vi = spatial(%i, 64)) {
      %a = tir.load %A[%vi] : f32
      tir.store %a, %B[%vi]
    }
  }
}
