// RUN: tirax-opt %s -p bf16-compute-legalize | filecheck %s --check-prefix BF16
// RUN: tirax-opt %s -p fp8-compute-legalize | filecheck %s --check-prefix FP8
// RUN: tirax-opt %s -p bf16-compute-legalize,bf16-storage-legalize,fp8-compute-legalize,fp8-storage-legalize | filecheck %s --check-prefix STORED
// RUN: not tirax-opt %s -p bf16-storage-legalize 2>&1 | filecheck %s --check-prefix EARLY
// RUN: not tirax-opt %s -p fp8-storage-legalize 2>&1 | filecheck %s --check-prefix EARLY8

// EARLY:  tir.add: nothing is computed with bfloat16
// EARLY:  hint: run bf16-compute-legalize before
// EARLY8: tir.add: nothing is computed with float8_e5m2
// EARLY8: hint: run fp8-compute-legalize before

// BF16-LABEL: tir.func @add
// BF16:         %[[S:.*]] = tir.add {{.*}} : f32
// BF16-NEXT:    %[[A:.*]] = tir.cast %a : bf16 -> f32
// BF16-NEXT:    %[[P:.*]] = tir.mul %[[S]], %[[A]] : f32
// BF16-NEXT:    %[[B:.*]] = tir.cast %[[P]] : f32 -> bf16
// BF16-NEXT:    tir.store %[[B]], %B[%i]
// STORED-LABEL: tir.func @add(%A: !tir.buffer<[4], ui16>, %B: !tir.buffer<[4], ui16>)
// STORED:         tir.call_intrin "shift_left"({{.*}}) : ui32
// STORED-NEXT:    tir.reinterpret {{.*}} : ui32 -> f32
// STORED-NOT:     bf16
tir.func @add(%A: !tir.buffer<[4], bf16>, %B: !tir.buffer<[4], bf16>) {
  tir.for %i = 0 to 4 {
    %a = tir.load %A[%i] : bf16
    %s = tir.add %a, %a : bf16
    %p = tir.mul %s, %a : bf16
    tir.store %p, %B[%i]
  }
}

// what is only moved is not converted

// BF16-LABEL: tir.func @move
// BF16-NOT:     tir.cast
// STORED-LABEL: tir.func @move
// STORED:         %a = tir.load %A[%i] : ui16
// STORED-NEXT:    tir.store %a, %B[%i]
tir.func @move(%A: !tir.buffer<[4], bf16>, %B: !tir.buffer<[4], bf16>) {
  tir.for %i = 0 to 4 {
    %a = tir.load %A[%i] : bf16
    tir.store %a, %B[%i]
  }
}

// BF16-LABEL: tir.func @small
// BF16:         tir.add %a, %a : f8E5M2
// FP8-LABEL:  tir.func @small
// FP8:          tir.add {{.*}} : f32
// FP8-NEXT:     tir.cast {{.*}} : f32 -> f8E5M2
// STORED-LABEL: tir.func @small(%A: !tir.buffer<[4], ui8>, %B: !tir.buffer<[4], ui8>)
// STORED-NOT:     f8E5M2
tir.func @small(%A: !tir.buffer<[4], f8E5M2>, %B: !tir.buffer<[4], f8E5M2>) {
  tir.for %i = 0 to 4 {
    %a = tir.load %A[%i] : f8E5M2
    %s = tir.add %a, %a : f8E5M2
    tir.store %s, %B[%i]
  }
}

// float16 is neither

// BF16-LABEL: tir.func @half
// BF16:         %s = tir.add %a, %a : f16
// FP8-LABEL:  tir.func @half
// FP8:          %s = tir.add %a, %a : f16
// STORED-LABEL: tir.func @half
// STORED:         %s = tir.add %a, %a : f16
tir.func @half(%A: !tir.buffer<[4], f16>) {
  tir.for %i = 0 to 4 {
    %a = tir.load %A[%i] : f16
    %s = tir.add %a, %a : f16
    tir.store %s, %A[%i]
  }
}
