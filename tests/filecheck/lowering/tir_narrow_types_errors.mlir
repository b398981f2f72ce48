// RUN: not tirax-opt %s -p lower-narrow-types 2>&1 | filecheck %s

// CHECK: tir.add: nothing is computed with float8_e5m2
// CHECK: hint: convert it first: R.astype, T.Cast
tir.func @double(%A: !tir.buffer<[4], f8E5M2>) {
  tir.for %i = 0 for 4 {
    %0 = tir.load %A[%i] : f8E5M2
    %1 = tir.add %0, %0 : f8E5M2
    tir.store %1, %A[%i]
  }
}
