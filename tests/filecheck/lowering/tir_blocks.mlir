// RUN: tirax-opt %s -p lower-init-block | filecheck %s --check-prefix INIT
// RUN: tirax-opt %s -p lower-init-block,convert-blocks-to-opaque,lower-match-buffer,lower-opaque-block | filecheck %s --check-prefix BLOCKS
// RUN: tirax-opt %s -p lower-init-block,convert-blocks-to-opaque,lower-match-buffer,lower-opaque-block,flatten-buffer | filecheck %s --check-prefix FLAT

// INIT-LABEL: tir.func @sum
// INIT:       tir.block "C" (%vi = spatial(%i, n), %vk = reduce(%k, 8)) where %in {
// INIT:         %[[ZERO:.*]] = tir.const 0 : i64
// INIT-NEXT:    %[[FIRST:.*]] = tir.eq %vk, %[[ZERO]] : i64
// INIT-NEXT:    tir.if %[[FIRST]] {
// INIT-NEXT:      %z = tir.const 0.000000e+00 : f32
// INIT-NEXT:      tir.store %z, %C[%vi]
// INIT-NOT:   tir.init

// BLOCKS-LABEL: tir.func @sum
// BLOCKS:       tir.for %i = 0 to n {
// BLOCKS-NEXT:    tir.for %k = 0 to 8 {
// BLOCKS:           %in = tir.lt %k, %end : i64
// BLOCKS-NEXT:      tir.if %in {
// BLOCKS:             tir.eq %k, %{{.*}} : i64
// BLOCKS:             tir.load %A[%i, %k] : f32
// BLOCKS-NOT:   tir.block
// BLOCKS-NOT:   tir.reads

// FLAT-LABEL: tir.func @sum(%A: !tir.buffer<[n, 8], f32>, %C: !tir.buffer<[n], f32>)
// FLAT:         %[[DATA:.*]] = tir.buffer_data %A
// FLAT-NEXT:    %[[A:.*]] = tir.decl_buffer %[[DATA]] : !tir.buffer<[n * 8], f32>
// FLAT:         %[[EIGHT:.*]] = tir.const 8 : i64
// FLAT-NEXT:    %[[ROW:.*]] = tir.mul %i, %[[EIGHT]] : i64
// FLAT-NEXT:    %[[AT:.*]] = tir.add %[[ROW]], %k : i64
// FLAT-NEXT:    tir.load %[[A]][%[[AT]]] : f32
tir.func @sum(%A: !tir.buffer<[n, 8], f32>, %C: !tir.buffer<[n], f32>) attributes {tir.noalias = true} {
  tir.for %i = 0 to n {
    tir.for %k = 0 to 8 {
      %end = tir.const 7 : i64
      %in = tir.lt %k, %end : i64
      tir.block "C" (%vi = spatial(%i, n), %vk = reduce(%k, 8)) where %in {
        tir.reads %A[%vi, %vk]
        tir.writes %C[%vi]
        tir.init {
          %z = tir.const 0.0 : f32
          tir.store %z, %C[%vi]
        }
        %c = tir.load %C[%vi] : f32
        %a = tir.load %A[%vi, %vk] : f32
        %s = tir.add %c, %a : f32
        tir.store %s, %C[%vi]
      }
    }
  }
}

// A region of a buffer becomes accesses of the buffer.
// BLOCKS-LABEL: tir.func @region
// BLOCKS:         %[[ROW:.*]] = tir.add %two, %p : i64
// BLOCKS-NEXT:    %[[COLUMN:.*]] = tir.add %i, %q : i64
// BLOCKS-NEXT:    tir.store %one, %Y[%[[ROW]], %[[COLUMN]]]
// BLOCKS-NOT:   tir.match_buffer
tir.func @region(%Y: !tir.buffer<[6, 8], f32>) {
  %one = tir.const 1.0 : f32
  tir.for %i = 0 to 3 {
    tir.block "b" (%vi = spatial(%i, 3)) {
      %two = tir.const 2 : i64
      %M = tir.match_buffer %Y[%two : 2, %vi : 4] : !tir.buffer<[2, 4], f32, strides = [8, 1]>
      tir.for %p = 0 to 2 {
        tir.for %q = 0 to 4 {
          tir.store %one, %M[%p, %q]
        }
      }
    }
  }
}

// Index arithmetic is simplified on the way: what is divided and put together again is itself.
// FLAT-LABEL: tir.func @collapse
// FLAT:         %[[V:.*]] = tir.load %{{.*}}[%i] : f32
// FLAT-NEXT:    tir.store %[[V]], %Y[%i]
tir.func @collapse(%X: !tir.buffer<[4, 16], f32>, %Y: !tir.buffer<[64], f32>) {
  tir.for %i = 0 to 64 {
    %c = tir.const 16 : i64
    %r = tir.floordiv %i, %c : i64
    %q = tir.floormod %i, %c : i64
    %v = tir.load %X[%r, %q] : f32
    tir.store %v, %Y[%i]
  }
}
