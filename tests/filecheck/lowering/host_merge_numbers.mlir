// RUN: tirax-opt %s -p merge-kernels | filecheck %s

// @b is @a with another factor, which becomes a parameter; the summand 7 is the same. In @c the factor is 1, @d has
// another bound, @e is called by another operation.
// CHECK:      tir.func private @a(%A: !tir.buffer<[n], f32>, %number.0: f32, %B: !tir.buffer<[n], f32>) {
// CHECK:      %[[PRODUCT:.*]] = tir.mul %{{.*}}, %number.0 : f32
// CHECK:      %[[SUMMAND:.*]] = tir.const 7.000000e+00 : f32
// CHECK:      tir.add %[[PRODUCT]], %[[SUMMAND]] : f32
// CHECK-NOT:  tir.func private @b(
// CHECK:      tir.func private @c(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>) {
// CHECK:      tir.func private @d(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>) {
// CHECK:      tir.func private @e(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>) {
tir.func private @a(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>) {
  tir.for %i = 0 for n {
    %0 = tir.load %A[%i] : f32
    %1 = tir.const 2.5 : f32
    %2 = tir.mul %0, %1 : f32
    %3 = tir.const 7.0 : f32
    %4 = tir.add %2, %3 : f32
    %5 = tir.const 255.0 : f32
    %6 = tir.min %4, %5 : f32
    tir.store %6, %B[%i]
  }
}
tir.func private @b(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>) {
  tir.for %i = 0 for n {
    %0 = tir.load %A[%i] : f32
    %1 = tir.const 3.5 : f32
    %2 = tir.mul %0, %1 : f32
    %3 = tir.const 7.0 : f32
    %4 = tir.add %2, %3 : f32
    %5 = tir.const 255.0 : f32
    %6 = tir.min %4, %5 : f32
    tir.store %6, %B[%i]
  }
}
tir.func private @c(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>) {
  tir.for %i = 0 for n {
    %0 = tir.load %A[%i] : f32
    %1 = tir.const 1.0 : f32
    %2 = tir.mul %0, %1 : f32
    %3 = tir.const 7.0 : f32
    %4 = tir.add %2, %3 : f32
    %5 = tir.const 255.0 : f32
    %6 = tir.min %4, %5 : f32
    tir.store %6, %B[%i]
  }
}
tir.func private @d(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>) {
  tir.for %i = 0 for n {
    %0 = tir.load %A[%i] : f32
    %1 = tir.const 2.5 : f32
    %2 = tir.mul %0, %1 : f32
    %3 = tir.const 7.0 : f32
    %4 = tir.add %2, %3 : f32
    %5 = tir.const 127.0 : f32
    %6 = tir.min %4, %5 : f32
    tir.store %6, %B[%i]
  }
}
tir.func private @e(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>) {
  tir.for %i = 0 for n {
    %0 = tir.load %A[%i] : f32
    %1 = tir.const 4.5 : f32
    %2 = tir.mul %0, %1 : f32
    %3 = tir.const 7.0 : f32
    %4 = tir.add %2, %3 : f32
    %5 = tir.const 255.0 : f32
    %6 = tir.min %4, %5 : f32
    tir.store %6, %B[%i]
  }
}
// CHECK:      %[[FACTOR:.*]] = relax.prim_value float 2.500000e+00 : f32
// CHECK-NEXT: relax.call_tir @a(%x, %[[FACTOR]])
// CHECK-NEXT: %[[OTHER:.*]] = relax.prim_value float 3.500000e+00 : f32
// CHECK-NEXT: relax.call_tir @a(%y, %[[OTHER]])
// CHECK-NEXT: relax.call_tir @c(%z)
// CHECK-NEXT: relax.call_tir @d(%u)
// CHECK-NEXT: relax.call_dps_packed "e"(%v)
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %y = relax.call_tir @a(%x) : !relax.tensor<[n], f32>
  %z = relax.call_tir @b(%y) : !relax.tensor<[n], f32>
  %u = relax.call_tir @c(%z) : !relax.tensor<[n], f32>
  %v = relax.call_tir @d(%u) : !relax.tensor<[n], f32>
  %w = relax.call_dps_packed "e"(%v) : !relax.tensor<[n], f32>
  relax.return %w : !relax.tensor<[n], f32>
}
