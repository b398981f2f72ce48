// RUN: tirax-opt %s -p lower-init-block | filecheck %s --check-prefix INIT
// RUN: tirax-opt %s -p lower-init-block,convert-blocks-to-opaque | filecheck %s --check-prefix OPAQUE
// RUN: tirax-opt %s -p lower-init-block,convert-blocks-to-opaque,lower-match-buffer,lower-opaque-block | filecheck %s --check-prefix NONE
// RUN: not tirax-opt %s -p convert-blocks-to-opaque 2>&1 | filecheck %s --check-prefix EARLY
// RUN: not tirax-opt %s -p lower-init-block,lower-opaque-block 2>&1 | filecheck %s --check-prefix ITERS

// EARLY: run lower-init-block before
// ITERS: block "Y" has iterators

// INIT-LABEL: tir.func @sum
// INIT-NOT:     tir.init
// INIT:         %[[FIRST:.*]] = tir.eq %w, {{.*}} : i64
// INIT-NEXT:    tir.if %[[FIRST]] {
// OPAQUE-LABEL: tir.func @sum
// OPAQUE:         tir.block "Y" () {
// OPAQUE-NEXT:      tir.reads %A[%i, %k]
// NONE-LABEL: tir.func @sum
// NONE-NOT:     tir.block
tir.func @sum(%A: !tir.buffer<[8, 4], f32>, %Y: !tir.buffer<[8], f32>) {
  tir.for %i = 0 to 8 {
    tir.for %k = 0 to 4 {
      tir.block "Y" (%v = spatial(%i, 8), %w = reduce(%k, 4)) {
        tir.reads %A[%v, %w]
        tir.writes %Y[%v]
        tir.init {
          %z = tir.const 0.0 : f32
          tir.store %z, %Y[%v]
        }
        %y = tir.load %Y[%v] : f32
        %x = tir.load %A[%v, %w] : f32
        %s = tir.add %y, %x : f32
        tir.store %s, %Y[%v]
      }
    }
  }
}

// no block, no change

// INIT:       tir.func @plain
// NONE:       tir.func @plain
// NONE-NEXT:    tir.for %i = 0 to 8 {
// NONE-NEXT:      %x{{.*}} = tir.load %A[%i] : f32
tir.func @plain(%A: !tir.buffer<[8], f32>, %Y: !tir.buffer<[8], f32>) {
  tir.for %i = 0 to 8 {
    %x = tir.load %A[%i] : f32
    tir.store %x, %Y[%i]
  }
}

// OPAQUE:     tir.match_buffer %A
// NONE-LABEL: tir.func @window
// NONE-NOT:     tir.match_buffer
// NONE:         tir.load %A[%{{.*}}, %four] : f32
tir.func @window(%A: !tir.buffer<[8, 8], f32>, %Y: !tir.buffer<[8, 8], f32>) {
  %zero = tir.const 0 : i64
  %four = tir.const 4 : i64
  tir.block "W" () {
    tir.reads %A[%four : 4, %zero : 8]
    tir.writes %Y[%zero : 8, %zero : 8]
    %W = tir.match_buffer %A[%four : 4, %zero : 8] : !tir.buffer<[4, 8], f32>
    %x = tir.load %W[%zero, %four] : f32
    tir.store %x, %Y[%zero, %zero]
  }
}
