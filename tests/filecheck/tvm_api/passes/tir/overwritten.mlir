// RUN: tirax-opt %s -p 'remove-no-op{use_dataflow_analysis=true}' | filecheck %s
// RUN: tirax-opt %s -p remove-no-op | filecheck %s --check-prefix KEPT

// CHECK-LABEL: tir.func @twice
// CHECK-NOT:     tir.store %one
// CHECK:         tir.store %two, %A[%j]
// KEPT-LABEL:  tir.func @twice
// KEPT:          tir.store %one
// KEPT:          tir.store %two
tir.func @twice(%A: !tir.buffer<[8], f32>) {
  %one = tir.const 1.0 : f32
  %two = tir.const 2.0 : f32
  tir.for %i = 0 to 8 {
    tir.store %one, %A[%i]
  }
  tir.for %j = 0 to 8 {
    tir.store %two, %A[%j]
  }
}

// CHECK-LABEL: tir.func @read
// CHECK:         tir.store %one
// CHECK:         tir.store %two
tir.func @read(%A: !tir.buffer<[8], f32>, %B: !tir.buffer<[8], f32>) {
  %one = tir.const 1.0 : f32
  %two = tir.const 2.0 : f32
  tir.for %i = 0 to 8 {
    tir.store %one, %A[%i]
    %x = tir.load %A[%i] : f32
    tir.store %x, %B[%i]
    tir.store %two, %A[%i]
  }
}
