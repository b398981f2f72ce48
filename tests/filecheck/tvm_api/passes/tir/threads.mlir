// RUN: tirax-opt %s --split-input-file --verify-diagnostics -p inject-virtual-thread | filecheck %s
// RUN: tirax-opt %s --split-input-file -p renormalize-split-pattern | filecheck %s --check-prefix SPLIT

// Each thread has its half of the memory; what they do is written out.
// CHECK-LABEL: tir.func @threads
// CHECK-NOT:     tir.launch_thread
// CHECK:         tir.alloc_buffer : !tir.buffer<[2], f32
// CHECK-COUNT-2: tir.store {{.*}}, %B
// CHECK-COUNT-2: tir.store {{.*}}, %C
// CHECK-NOT:     tir.store
// CHECK-LABEL: tir.func @quotients
tir.func @threads(%A: !tir.buffer<[2], f32>, %C: !tir.buffer<[2], f32>) {
  %two = tir.const 2 : i32
  tir.launch_thread "vthread" %two {
  ^bb0(%v: i32):
    %B = tir.alloc_buffer : !tir.buffer<[1], f32, scope = "local">
    %zero = tir.const 0 : i32
    %x = tir.load %A[%v] : f32
    tir.store %x, %B[%zero]
    %y = tir.load %B[%zero] : f32
    tir.store %y, %C[%v]
  }
}

// The quotient comes before the remainder: i % 12 // 4 -> i // 4 % 3.
// SPLIT-LABEL: tir.func @quotients
// SPLIT:         %[[FOUR:.*]] = tir.const 4 : i64
// SPLIT:         %[[QUOTIENT:.*]] = tir.floordiv %i, %[[FOUR]]
// SPLIT:         tir.floormod %[[QUOTIENT]], {{.*}}
tir.func @quotients(%A: !tir.buffer<[3], f32>, %C: !tir.buffer<[48], f32>) {
  tir.for %i = 0 to 48 {
    %twelve = tir.const 12 : i64
    %four = tir.const 4 : i64
    %rest = tir.floormod %i, %twelve : i64
    %place = tir.floordiv %rest, %four : i64
    %x = tir.load %A[%place] : f32
    tir.store %x, %C[%i]
  }
}

// -----

// SPLIT-LABEL: tir.func @unknown
tir.func @unknown(%A: !tir.buffer<[n : i32], f32>, %n: i32) {
  // expected-error@+1 {{the number of virtual threads must be a constant}}
  tir.launch_thread "vthread" %n {
  ^bb0(%v: i32):
    %x = tir.const 1.0 : f32
    tir.store %x, %A[%v]
  }
}
