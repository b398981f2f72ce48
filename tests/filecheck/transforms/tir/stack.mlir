// RUN: tirax-opt %s -p 'promote-buffers-to-stack{max_bytes=64 max_bytes_in_all=100}' | filecheck %s
// RUN: tirax-opt %s -p 'promote-buffers-to-stack{max_bytes=64 max_bytes_in_all=100},convert-tir-to-scf' | filecheck %s --check-prefix SCF

// One that is small, one that is too large, one of unknown size, and one for which no room is left.

// CHECK-LABEL: tir.func @f
// CHECK-NEXT:    %A = tir.alloc_buffer {tirax.on_stack} : !tir.buffer<[16], f32>
// CHECK-NEXT:    %B = tir.alloc_buffer : !tir.buffer<[17], f32>
// CHECK-NEXT:    %C = tir.alloc_buffer : !tir.buffer<[n], f32>
// CHECK-NEXT:    %D = tir.allocate [10] f32{{$}}
// CHECK-NEXT:    %E = tir.allocate [9] f32 {tirax.on_stack}
// SCF-LABEL: func.func @f
// SCF-COUNT-2: "memref.alloca"()
// SCF-COUNT-3: "memref.alloc"(
// SCF-COUNT-3: memref.dealloc
tir.func @f(%Y: !tir.buffer<[n], f32>) {
  %A = tir.alloc_buffer : !tir.buffer<[16], f32>
  %B = tir.alloc_buffer : !tir.buffer<[17], f32>
  %C = tir.alloc_buffer : !tir.buffer<[n], f32>
  %D = tir.allocate [10] f32
  %E = tir.allocate [9] f32
}
