// RUN: tirax-opt %s -p 'default-schedule{target="llvm -mcpu=x86-64-v3"}' | filecheck %s

// Sums of 16 bits accumulate in float32, products of them are exact there, and the sum is rounded when it is complete.
// CHECK-LABEL: tir.func @dot
// CHECK:         tir.alloc_buffer {{.*}}: !tir.buffer<[{{.*}}], f32
// CHECK:         tir.cast %{{.*}} : f16 -> f32
// CHECK:         tir.mul %{{.*}}, %{{.*}} : f32
// CHECK:         tir.add %{{.*}}, %{{.*}} : f32
// CHECK:         tir.cast %{{.*}} : f32 -> f16
// CHECK-NOT:     tir.add %{{.*}}, %{{.*}} : f16
tir.func @dot(%A: !tir.buffer<[8, 100], f16>, %B: !tir.buffer<[100], f16>, %C: !tir.buffer<[8], f16>) attributes {tir.noalias = true} {
  tir.for %i = 0 to 8 {
    tir.for %k = 0 to 100 {
      tir.block "dot" (%vi = spatial(%i, 8), %vk = reduce(%k, 100)) {
        tir.reads %A[%vi, %vk]
        tir.reads %B[%vk]
        tir.writes %C[%vi]
        tir.init {
          %zero = tir.const 0.0 : f16
          tir.store %zero, %C[%vi]
        }
        %old = tir.load %C[%vi] : f16
        %a = tir.load %A[%vi, %vk] : f16
        %b = tir.load %B[%vk] : f16
        %p = tir.mul %a, %b : f16
        %new = tir.add %old, %p : f16
        tir.store %new, %C[%vi]
      }
    }
  }
}

// What adds to a parameter without an init is as it is written: elements that it does not compute stay.
// CHECK-LABEL: tir.func @increment
// CHECK:         tir.add %{{.*}}, %{{.*}} : bf16
tir.func @increment(%A: !tir.buffer<[8], bf16>, %C: !tir.buffer<[8], bf16>) attributes {tir.noalias = true} {
  tir.for %i = 0 to 8 {
    tir.block "increment" (%vi = spatial(%i, 8)) {
      tir.reads %A[%vi]
      tir.reads %C[%vi]
      tir.writes %C[%vi]
      %old = tir.load %C[%vi] : bf16
      %a = tir.load %A[%vi] : bf16
      %new = tir.add %old, %a : bf16
      tir.store %new, %C[%vi]
    }
  }
}

// A function that has a schedule accumulates in float32 in its own buffers.
// CHECK-LABEL: tir.func @scheduled
// CHECK:         tir.alloc_buffer : !tir.buffer<[1], f32>
// CHECK:         tir.add %{{.*}}, %{{.*}} : f32
// CHECK:         tir.cast %{{.*}} : f32 -> f16
tir.func @scheduled(%A: !tir.buffer<[100], f16>, %C: !tir.buffer<[1], f16>) attributes {tir.noalias = true, tir.is_scheduled = true} {
  %sum = tir.alloc_buffer : !tir.buffer<[1], f16>
  %first = tir.const 0 : i64
  %zero = tir.const 0.0 : f16
  tir.store %zero, %sum[%first]
  tir.for %k = 0 to 100 {
    %old = tir.load %sum[%first] : f16
    %a = tir.load %A[%k] : f16
    %new = tir.add %old, %a : f16
    tir.store %new, %sum[%first]
  }
  %total = tir.load %sum[%first] : f16
  tir.store %total, %C[%first]
}
