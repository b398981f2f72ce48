// RUN: tirax-opt %s -p merge-kernels | filecheck %s

// @b is @a with other names: one of them stays. @c differs, @d is public.
// CHECK:      tir.func private @a(
// CHECK-NOT:  tir.func private @b(
// CHECK:      tir.func private @c(
// CHECK:      tir.func @d(
tir.func private @a(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>) {
  tir.for %i = 0 for n {
    %0 = tir.load %A[%i] : f32
    tir.store %0, %B[%i]
  }
}
tir.func private @b(%P: !tir.buffer<[m], f32>, %Q: !tir.buffer<[m], f32>) {
  tir.for %j = 0 for m {
    %x = tir.load %P[%j] : f32
    tir.store %x, %Q[%j]
  }
}
tir.func private @c(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>) {
  tir.for %i = 0 for n {
    %0 = tir.load %A[%i] : f32
    %1 = tir.add %0, %0 : f32
    tir.store %1, %B[%i]
  }
}
tir.func @d(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>) {
  tir.for %i = 0 for n {
    %0 = tir.load %A[%i] : f32
    tir.store %0, %B[%i]
  }
}
// CHECK:      relax.call_tir @a(%x)
// CHECK-NEXT: relax.call_tir @a(%y)
// CHECK-NEXT: relax.call_tir @c(%z)
// CHECK-NEXT: relax.call_dps_packed "a"(%u)
// CHECK-NEXT: relax.call_tir @d(%v)
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %y = relax.call_tir @a(%x) : !relax.tensor<[n], f32>
  %z = relax.call_tir @b(%y) : !relax.tensor<[n], f32>
  %u = relax.call_tir @c(%z) : !relax.tensor<[n], f32>
  %v = relax.call_dps_packed "b"(%u) : !relax.tensor<[n], f32>
  %w = relax.call_tir @d(%v) : !relax.tensor<[n], f32>
  relax.return %w : !relax.tensor<[n], f32>
}
