// RUN: tirax-opt %s -p 'default-schedule{target="llvm -mcpu=x86-64-v4 -vector-width=512"}' | filecheck %s

// Rows of a large matrix lie pages apart: a strip of columns is copied, and all rows use the copy.
// CHECK-LABEL: tir.func @large
// CHECK:         tir.for %vj_strip = 0 to 32 {
// CHECK:           %[[PANEL:.*]] = tir.alloc_buffer {tirax.padded} : !tir.buffer<[2048, 64], f32>
// CHECK:           %[[SUMS:.*]] = tir.alloc_buffer {tirax.padded} : !tir.buffer<[48, 64], f32>
// CHECK:           tir.for %vk_part = 0 to 2 {
// CHECK:             tir.for vectorized %{{.*}} = 0 to 64 {
// CHECK:               tir.load %B
// CHECK:               tir.store %{{.*}}, %[[PANEL]]
// CHECK:             tir.for %vi_tile = 0 to 8 {
// CHECK:               !tir.buffer<[6, 64], f32, scope = "local">
// CHECK:               tir.load %[[PANEL]]
// CHECK-NEXT:          tir.load %A
// CHECK:               tir.store %{{.*}}, %[[SUMS]]
// CHECK:           tir.load %[[SUMS]]
// CHECK:           tir.store %{{.*}}, %C
tir.func @large(%A: !tir.buffer<[48, 4096], f32>, %B: !tir.buffer<[4096, 2048], f32>, %C: !tir.buffer<[48, 2048], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 2048 { tir.for %k = 0 to 4096 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 2048), %vk = reduce(%k, 4096)) {
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
}

// A small one is used where it stands.
// CHECK-LABEL: tir.func @small
// CHECK-NOT:     _strip
// CHECK:         tir.for %vj_tile = 0 to 4 {
// CHECK-NEXT:      tir.const
// CHECK-NEXT:      tir.mul
// CHECK-NEXT:      tir.for %vi_tile = 0 to 8 {
tir.func @small(%A: !tir.buffer<[48, 64], f32>, %B: !tir.buffer<[64, 256], f32>, %C: !tir.buffer<[48, 256], f32>) {
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
}

// One row: eight rows of the matrix are read side by side, and asked for before.
// CHECK-LABEL: tir.func @vector
// CHECK:         %[[SUMS:.*]] = tir.alloc_buffer : !tir.buffer<[2048], f32>
// CHECK:         tir.for %vk_tile = 0 to 8 {
// CHECK:           tir.for %vj_line = 0 to 128 {
// CHECK-COUNT-8:     tir.call_llvm_effect "llvm.prefetch"
// CHECK:             tir.for vectorized %{{.*}} = 0 to 16 {
// CHECK-COUNT-8:       tir.load %B
// CHECK:               tir.store %{{.*}}, %[[SUMS]]
tir.func @vector(%A: !tir.buffer<[64], f32>, %B: !tir.buffer<[64, 2048], f32>, %C: !tir.buffer<[2048], f32>) {
  tir.for %j = 0 to 2048 { tir.for %k = 0 to 64 {
    tir.block "C" (%vj = spatial(%j, 2048), %vk = reduce(%k, 64)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vj]
      }
      %c = tir.load %C[%vj] : f32
      %a = tir.load %A[%vk] : f32
      %b = tir.load %B[%vk, %vj] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vj]
    }
  } }
}

// A matrix that is stored transposed: squares of it are turned around in registers on the way into the panel.
// CHECK-LABEL: tir.func @across
// CHECK:         tir.for %vj_strip = 0 to 2 {
// CHECK:           %[[PANEL:.*]] = tir.alloc_buffer {tirax.padded} : !tir.buffer<[40, 64], f32>
// CHECK:           tir.for %{{.*}} = 0 to 4 {
// CHECK:             tir.for %vk_tile = 0 to 2 {
// CHECK-COUNT-16:      tir.load %B[%{{.*}}] : vector<16xf32>
// CHECK-COUNT-64:      tir.shuffle
// CHECK-COUNT-16:      tir.store %{{.*}}, %[[PANEL]]
// CHECK:           tir.for %vk = 0 to 8 {
// CHECK:             tir.for vectorized %{{.*}} = 0 to 64 {
// CHECK:               tir.store %{{.*}}, %[[PANEL]]
// CHECK:           tir.for %vi_tile = 0 to 8 {
// CHECK:             tir.load %[[PANEL]]
tir.func @across(%A: !tir.buffer<[48, 40], f32>, %B: !tir.buffer<[128, 40], f32>, %C: !tir.buffer<[48, 128], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 128 { tir.for %k = 0 to 40 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 128), %vk = reduce(%k, 40)) {
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

// A matrix times a vector: four rows side by side, two vectors of sums each, whose sums are made together.
// CHECK-LABEL: tir.func @dots
// CHECK-NOT:     tir.shuffle
// CHECK:         tir.for %{{.*}} = 0 to 32 {
// CHECK:           !tir.buffer<[4, 32], f32, scope = "local">
// CHECK:           tir.for %k_tile = 0 to 2 {
// CHECK-NEXT:        tir.const
// CHECK-NEXT:        tir.mul
// CHECK-NEXT:        tir.for unrolled %{{.*}} = 0 to 4 {
// CHECK:               tir.for vectorized %{{.*}} = 0 to 32 {
// CHECK:                 tir.load %B
// CHECK:           tir.shuffle
tir.func @dots(%A: !tir.buffer<[64], f32>, %B: !tir.buffer<[128, 64], f32>, %C: !tir.buffer<[128], f32>) {
  tir.for %j = 0 to 128 { tir.for %k = 0 to 64 {
    tir.block "C" (%vj = spatial(%j, 128), %vk = reduce(%k, 64)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vj]
      }
      %c = tir.load %C[%vj] : f32
      %a = tir.load %A[%vk] : f32
      %b = tir.load %B[%vj, %vk] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vj]
    }
  } }
}

// Squares of 16 x 16 are turned around in registers; what is left of 40 rows is copied one by one.
// CHECK-LABEL: tir.func @transposed
// CHECK:         tir.for %vi_tile = 0 to 2 {
// CHECK-NEXT:      tir.for %vj_tile = 0 to 3 {
// CHECK-COUNT-16:    tir.load %A[%{{.*}}] : vector<16xf32>
// CHECK-COUNT-64:    tir.shuffle
// CHECK-COUNT-16:    tir.store %{{.*}}, %C
// CHECK:         tir.for %vi = 0 to 8 {
// CHECK-NEXT:      tir.for vectorized %vj = 0 to 48 {
// CHECK-NOT:     tir.for
tir.func @transposed(%A: !tir.buffer<[48, 40], f32>, %C: !tir.buffer<[40, 48], f32>) {
  tir.for %i = 0 to 40 { tir.for %j = 0 to 48 {
    tir.block "C" (%vi = spatial(%i, 40), %vj = spatial(%j, 48)) {
      %a = tir.load %A[%vj, %vi] : f32
      tir.store %a, %C[%vi, %vj]
    }
  } }
}

// The place of the greatest: vectors of the greatest elements, and of the steps at which they were; NaNs are looked for.
// CHECK-LABEL: tir.func @greatest
// CHECK:         tir.for %vi = 0 to n {
// CHECK:           %[[BEST:.*]] = tir.alloc_buffer {tirax.padded} : !tir.buffer<[32], f32, scope = "local">
// CHECK:           %[[STEP:.*]] = tir.alloc_buffer {tirax.padded} : !tir.buffer<[32], i32, scope = "local">
// CHECK:           tir.for %k_tile = 0 to 2 {
// CHECK:             tir.for vectorized %{{.*}} = 0 to 32 {
// CHECK:               tir.ge
// CHECK:               tir.store %{{.*}}, %[[BEST]]
// CHECK:               tir.store %{{.*}}, %[[STEP]]
// CHECK:               tir.ne
// CHECK:           tir.call_llvm_intrin "llvm.vector.reduce.fmax"
// CHECK:           tir.call_llvm_intrin "llvm.vector.reduce.smin"
// CHECK:           tir.if
// CHECK:             tir.for %k = 0 to 96 {
// CHECK:           tir.for %k_1 = 0 to 4 {
tir.func @greatest(%A: !tir.buffer<[n, 100], f32>, %P: !tir.buffer<[n], i64>) {
  %V = tir.alloc_buffer : !tir.buffer<[n], f32>
  tir.for %i = 0 to n { tir.for %k = 0 to 100 {
    tir.block "P" (%vi = spatial(%i, n), %vk = reduce(%k, 100)) {
      tir.init {
        %none = tir.const -1 : i64
        tir.store %none, %P[%vi]
        %least = tir.const -3.40282347e+38 : f32
        tir.store %least, %V[%vi]
      }
      %v = tir.load %V[%vi] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %p = tir.load %P[%vi] : i64
      %wins = tir.gt %v, %a : f32
      %equal = tir.eq %v, %a : f32
      %before = tir.lt %p, %vk : i64
      %first = tir.and %equal, %before : i1
      %stays = tir.or %wins, %first : i1
      %place = tir.select %stays, %p, %vk : i64
      %value = tir.select %wins, %v, %a : f32
      tir.store %place, %P[%vi]
      tir.store %value, %V[%vi]
    }
  } }
}

// A row is finished before the next one is begun.
// CHECK-LABEL: tir.func @rows
// CHECK:         tir.for %vi = 0 to n {
// CHECK:           tir.store %{{.*}}, %S[%vi]
// CHECK:           tir.for vectorized %vj = 0 to 100 {
// CHECK:             tir.load %S[%vi]
// CHECK:             tir.store %{{.*}}, %C[%vi, %vj]
// CHECK-NOT:     tir.for
tir.func @rows(%A: !tir.buffer<[n, 100], f32>, %S: !tir.buffer<[n], f32>, %C: !tir.buffer<[n, 100], f32>) attributes {tir.noalias = true} {
  tir.for %i = 0 to n { tir.for %k = 0 to 100 {
    tir.block "S" (%vi = spatial(%i, n), %vk = reduce(%k, 100)) {
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
  tir.for %i = 0 to n { tir.for %j = 0 to 100 {
    tir.block "C" (%vi = spatial(%i, n), %vj = spatial(%j, 100)) {
      %a = tir.load %A[%vi, %vj] : f32
      %s = tir.load %S[%vi] : f32
      %r = tir.div %a, %s : f32
      tir.store %r, %C[%vi, %vj]
    }
  } }
}

// Unless the second loop reads what another row of the first wrote.
// CHECK-LABEL: tir.func @shifted
// CHECK:         tir.for %vi = 0 to 50 {
// CHECK:         }
// CHECK:         tir.for %vi_1 = 0 to 50 {
tir.func @shifted(%A: !tir.buffer<[50, 100], f32>, %S: !tir.buffer<[50], f32>, %C: !tir.buffer<[50, 100], f32>) attributes {tir.noalias = true} {
  tir.for %i = 0 to 50 { tir.for %k = 0 to 100 {
    tir.block "S" (%vi = spatial(%i, 50), %vk = reduce(%k, 100)) {
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
  tir.for %i = 0 to 50 { tir.for %j = 0 to 100 {
    tir.block "C" (%vi = spatial(%i, 50), %vj = spatial(%j, 100)) {
      %last = tir.const 49 : i64
      %other = tir.sub %last, %vi : i64
      %a = tir.load %A[%vi, %vj] : f32
      %s = tir.load %S[%other] : f32
      %r = tir.div %a, %s : f32
      tir.store %r, %C[%vi, %vj]
    }
  } }
}
