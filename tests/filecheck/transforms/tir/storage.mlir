// RUN: tirax-opt %s -p storage-rewrite | filecheck %s
// RUN: tirax-opt %s -p bind-target{target=cuda} | filecheck %s --check-prefix TARGET
// RUN: not tirax-opt %s -p bind-target{target=cuda},verify-memory 2>&1 | filecheck %s --check-prefix OUTSIDE
// RUN: tirax-opt %s -p verify-memory,annotate-entry-func | filecheck %s --check-prefix HOST

// OUTSIDE: @reused touches memory of the device outside of its threads
// two functions: none is the entry
// HOST-NOT: tir.is_entry_func

// TARGET: tir.func @reused{{.*}} attributes {target = #tir.target<{kind = "cuda"}>}
// HOST:   tir.func @reused
// CHECK-LABEL: tir.func @reused
// CHECK:         tir.alloc_buffer
// CHECK-NOT:     tir.alloc_buffer
tir.func @reused(%A: !tir.buffer<[8], f32>, %Y: !tir.buffer<[8], f32>) {
  %B = tir.alloc_buffer {tirax.declared} : !tir.buffer<[8], f32>
  %C = tir.alloc_buffer {tirax.declared} : !tir.buffer<[8], f32>
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

// memory of two loops is one

// CHECK-LABEL: tir.func @memory
// CHECK-NEXT:    %h = tir.allocate [8] f32
// CHECK-NEXT:    %B = tir.decl_buffer %h
// CHECK-NEXT:    %C = tir.decl_buffer %h
// CHECK-NOT:     tir.allocate
tir.func @memory(%A: !tir.buffer<[8], f32>, %Y: !tir.buffer<[8], f32>) {
  tir.for %i = 0 to 8 {
    tir.for %j = 0 to 8 {
      %h = tir.allocate [8] f32
      %B = tir.decl_buffer %h : !tir.buffer<[8], f32>
      %x = tir.load %A[%i] : f32
      tir.store %x, %B[%j]
    }
    tir.for %k = 0 to 8 {
      %g = tir.allocate [8] f32
      %C = tir.decl_buffer %g : !tir.buffer<[8], f32>
      %unused = tir.allocate [8] f32
      %x = tir.load %A[%i] : f32
      tir.store %x, %C[%k]
    }
  }
}

// not of loops whose iterations run at the same time

// CHECK-LABEL: tir.func @threads
// CHECK:         tir.for parallel %i
// CHECK-NEXT:      tir.allocate [8] f32
// CHECK:         tir.for parallel %j
// CHECK-NEXT:      tir.allocate [8] f32
tir.func @threads(%A: !tir.buffer<[8], f32>) {
  tir.for parallel %i = 0 to 8 {
    %h = tir.allocate [8] f32
    %B = tir.decl_buffer %h : !tir.buffer<[8], f32>
    %x = tir.load %A[%i] : f32
    tir.store %x, %B[%i]
  }
  tir.for parallel %j = 0 to 8 {
    %g = tir.allocate [8] f32
    %C = tir.decl_buffer %g : !tir.buffer<[8], f32>
    %x = tir.load %A[%j] : f32
    tir.store %x, %C[%j]
  }
}

// an address may reach other elements than the one that is read: no element is written in its place

// CHECK-LABEL: tir.func @addresses
// CHECK:         %h = tir.allocate
// CHECK:         %g = tir.allocate
// CHECK:         %D = tir.decl_buffer %h
tir.func @addresses(%Y: !tir.buffer<[8], f32>) {
  %h = tir.allocate [8] f32
  %B = tir.decl_buffer %h : !tir.buffer<[8], f32>
  %g = tir.allocate [8] f32
  %C = tir.decl_buffer %g : !tir.buffer<[8], f32>
  %f = tir.allocate [8] f32
  %D = tir.decl_buffer %f : !tir.buffer<[8], f32>
  tir.for %i = 0 to 8 {
    %x = tir.const 1.0 : f32
    tir.store %x, %B[%i]
  }
  tir.for %i = 0 to 8 {
    %x = tir.load %B[%i] : f32
    %p = tir.call_intrin "address_of"(%x) : !tir.handle<f32>
    %y = tir.call_extern "deref"(%p) : f32
    tir.store %y, %C[%i]
  }
  tir.for %i = 0 to 8 {
    %x = tir.load %C[%i] : f32
    %p = tir.call_intrin "address_of"(%x) : !tir.handle<f32>
    %y = tir.call_extern "deref"(%p) : f32
    tir.store %y, %D[%i]
  }
  tir.for %i = 0 to 8 {
    %x = tir.load %D[%i] : f32
    tir.store %x, %Y[%i]
  }
}

// both are read last

// CHECK-LABEL: tir.func @apart
// CHECK-COUNT-2: tir.allocate
tir.func @apart(%A: !tir.buffer<[8], f32>, %Y: !tir.buffer<[8], f32>) {
  %B = tir.alloc_buffer {tirax.declared} : !tir.buffer<[8], f32>
  %C = tir.alloc_buffer {tirax.declared} : !tir.buffer<[8], f32>
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
