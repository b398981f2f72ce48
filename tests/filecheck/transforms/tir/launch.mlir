// RUN: tirax-opt %s -p lower-opaque-block,simplify | filecheck %s
// RUN: tirax-opt %s -p lower-opaque-block,simplify -t tvmscript | filecheck %s --check-prefix SCRIPT
// RUN: tirax-opt %s -p lower-opaque-block,simplify --check-each

// Loops on threads launch them; what is certain of their number is known.
// CHECK: tir.launch_thread "blockIdx.x" %0 {
// CHECK-NEXT: ^bb0(%blockIdx_x: i32):
// CHECK: tir.launch_thread "threadIdx.x" %1 {
// CHECK-NEXT: ^bb0(%threadIdx_x: i32):
// CHECK-NOT: tir.if
// CHECK: tir.store %one, %A[%blockIdx_x, %threadIdx_x]
// SCRIPT: blockIdx_x = T.launch_thread("blockIdx.x", 4)
// SCRIPT-NEXT: threadIdx_x = T.launch_thread("threadIdx.x", 2)
// SCRIPT-NEXT: A[blockIdx_x, threadIdx_x] = T.float32(1.0)
tir.func @f(%A: !tir.buffer<[4 : i32, 2 : i32], f32>) {
  tir.for thread_binding("blockIdx.x") %i = 0 : i32 to 4 : i32 {
    tir.for thread_binding("threadIdx.x") %j = 0 : i32 to 2 : i32 {
      %two = tir.const 2 : i32
      %c = tir.lt %j, %two : i32
      tir.if %c {
        %one = tir.const 1.0 : f32
        tir.store %one, %A[%i, %j]
      }
    }
  }
}
