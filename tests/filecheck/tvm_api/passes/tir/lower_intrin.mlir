// RUN: tirax-opt %s -p lower-intrin | filecheck %s

// CHECK-LABEL: tir.func @fused
// CHECK:         %[[FMA:.*]] = tir.call_llvm_intrin "llvm.fma"(%x, %x, %x)
// CHECK:         %[[SIN:.*]] = tir.call_intrin "sin"(%[[FMA]]) : f32
// CHECK:         tir.store %[[SIN]], %A[%i]
tir.func @fused(%A: !tir.buffer<[8], f32>) {
  tir.for %i = 0 to 8 {
    %x = tir.load %A[%i] : f32
    %y = tir.call_intrin "fma"(%x, %x, %x) : f32
    %z = tir.call_intrin "sin"(%y) : f32
    tir.store %z, %A[%i]
  }
}
