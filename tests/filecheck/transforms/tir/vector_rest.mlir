// RUN: tirax-opt %s -p 'vectorize-for-target{target="llvm -mcpu=haswell"},convert-tir-to-scf' | filecheck %s

// The loop over what is left over starts at a number that cannot be negative: its remainders need no signs. What
// they are of may be an extent of 0, by which nothing is divided.

// CHECK-LABEL: func.func @tile
// CHECK:         scf.for %i
// CHECK:         scf.for %i
// CHECK-NEXT:      [[ZERO:%[0-9]+]] = arith.cmpi eq
// CHECK-NEXT:      [[BY:%[0-9]+]] = arith.select [[ZERO]]
// CHECK-NEXT:      {{%[0-9]+}} = arith.remui %{{.*}}, [[BY]]
// CHECK-NEXT:      {{%[0-9]+}} = memref.load
tir.func @tile(%X: !tir.buffer<[m], f32>, %Y: !tir.buffer<[m * 3], f32>) {
  tir.for vectorized %i = 0 to m * 3 {
    %m = sym.value m
    %j = tir.floormod %i, %m : i64
    %x = tir.load %X[%j] : f32
    tir.store %x, %Y[%i]
  }
}
