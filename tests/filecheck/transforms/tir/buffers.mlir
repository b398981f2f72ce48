// RUN: tirax-opt %s -p plan-and-update-buffer-allocation-location | filecheck %s --check-prefix PLAN
// RUN: tirax-opt %s -p plan-and-update-buffer-allocation-location,convert-blocks-to-opaque,compact-buffer-allocation,lower-opaque-block,flatten-buffer,remove-no-op | filecheck %s --check-prefix SMALL

// PLAN-LABEL: tir.func @inside
// PLAN-NEXT:    tir.for %i = 0 to 8 {
// PLAN-NEXT:      tir.block "" () {
// PLAN:             tir.reads %A[%i, {{.*}} : 16]
// PLAN:             tir.writes %Y[%i, {{.*}} : 16]
// PLAN-NEXT:        %B = tir.alloc_buffer : !tir.buffer<[8, 16], f32>
// PLAN-NEXT:        tir.for %j = 0 to 16 {

// SMALL-LABEL: tir.func @inside
// SMALL:         tir.for %i = 0 to 8 {
// SMALL-NEXT:      %B = tir.alloc_buffer {tirax.declared} : !tir.buffer<[16], f32>
// SMALL-NOT:       tir.block
// SMALL:           tir.store {{.*}}, %B[%j]
tir.func @inside(%A: !tir.buffer<[8, 16], f32>, %Y: !tir.buffer<[8, 16], f32>) {
  %B = tir.alloc_buffer : !tir.buffer<[8, 16], f32>
  tir.for %i = 0 to 8 {
    tir.for %j = 0 to 16 {
      tir.block "B" (%v = spatial(%i, 8), %w = spatial(%j, 16)) {
        tir.reads %A[%v, %w]
        tir.writes %B[%v, %w]
        %x = tir.load %A[%v, %w] : f32
        tir.store %x, %B[%v, %w]
      }
    }
    tir.for %k = 0 to 16 {
      tir.block "Y" (%v = spatial(%i, 8), %w = spatial(%k, 16)) {
        tir.reads %B[%v, %w]
        tir.writes %Y[%v, %w]
        %x = tir.load %B[%v, %w] : f32
        tir.store %x, %Y[%v, %w]
      }
    }
  }
}

// an iteration reads what the one before has written

// PLAN-LABEL: tir.func @carried
// PLAN-NEXT:    %B = tir.alloc_buffer
// PLAN-NOT:     tir.block ""

// SMALL-LABEL: tir.func @carried
// SMALL-NEXT:    %B = tir.alloc_buffer {tirax.declared} : !tir.buffer<[1], f32>
tir.func @carried(%A: !tir.buffer<[8], f32>, %Y: !tir.buffer<[8], f32>) {
  %B = tir.alloc_buffer : !tir.buffer<[1], f32>
  tir.for %i = 0 to 8 {
    %zero = tir.const 0 : i64
    %first = tir.eq %i, %zero : i64
    tir.if %first {
      %z = tir.const 0.0 : f32
      tir.store %z, %B[%zero]
    }
    %b = tir.load %B[%zero] : f32
    %a = tir.load %A[%i] : f32
    %s = tir.add %a, %b : f32
    tir.store %s, %B[%zero]
    tir.store %s, %Y[%i]
  }
}
