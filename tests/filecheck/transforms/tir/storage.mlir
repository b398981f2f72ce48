// RUN: tirax-opt %s -p storage-rewrite | filecheck %s
// RUN: tirax-opt %s -p bind-target{target=cuda} | filecheck %s --check-prefix TARGET
// RUN: not tirax-opt %s -p bind-target{target=cuda},verify-memory 2>&1 | filecheck %s --check-prefix OUTSIDE
// RUN: tirax-opt %s -p verify-memory,annotate-entry-func | filecheck %s --check-prefix HOST

// OUTSIDE: @reused touches memory of the device outside of its threads
// two functions: none is the entry
// HOST-NOT: tir.is_entry_func

// TARGET: tir.func @reused{{.*}} attributes {target = "cuda"}
// HOST:   tir.func @reused
// CHECK-LABEL: tir.func @reused
// CHECK:         tir.alloc_buffer
// CHECK-NOT:     tir.alloc_buffer
tir.func @reused(%A: !tir.buffer<[8], f32>, %Y: !tir.buffer<[8], f32>) {
  %B = tir.alloc_buffer : !tir.buffer<[8], f32>
  %C = tir.alloc_buffer : !tir.buffer<[8], f32>
  tir.for %i = 0 to 8 {
    %x = tir.load %A[%i] : f32
    tir.store %x, %B[%i]
  }
  tir.for %j = 0 to 8 {
    %x = tir.load %B[%j] : f32
    tir.store %x, %C[%j]
  }
  tir.for %k = 0 to 8 {
    %x = tir.load %C[%k] : f32
    tir.store %x, %Y[%k]
  }
}

// both are read last

// CHECK-LABEL: tir.func @apart
// CHECK-COUNT-2: tir.alloc_buffer
tir.func @apart(%A: !tir.buffer<[8], f32>, %Y: !tir.buffer<[8], f32>) {
  %B = tir.alloc_buffer : !tir.buffer<[8], f32>
  %C = tir.alloc_buffer : !tir.buffer<[8], f32>
  tir.for %i = 0 to 8 {
    %x = tir.load %A[%i] : f32
    tir.store %x, %B[%i]
    tir.store %x, %C[%i]
  }
  tir.for %k = 0 to 8 {
    %x = tir.load %C[%k] : f32
    %y = tir.load %B[%k] : f32
    %z = tir.add %x, %y : f32
    tir.store %z, %Y[%k]
  }
}
