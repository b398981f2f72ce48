// RUN: tirax-opt %s | filecheck %s
// RUN: tirax-opt %s | tirax-opt | filecheck %s

// CHECK:      tir.func @f(%A: !tir.buffer<[16], f32>, %n: i32)
tir.func @f(%A: !tir.buffer<[16], f32>, %n: i32) {
  // CHECK:      %h = tir.allocate [n, 4] f32 scope "local" annotations {a = 1 : i64}
  %h = tir.allocate [n, 4] f32 scope "local" annotations {a = 1 : i64}
  // CHECK-NEXT: %B = tir.decl_buffer %h : !tir.buffer<[n, 4], f32>
  %B = tir.decl_buffer %h : !tir.buffer<[n, 4], f32>
  %c = tir.const 1.0 : f32
  // CHECK:      %l = tir.let_in %x = %c {
  // CHECK-NEXT:   %{{.*}} = tir.add %x, %x : f32
  // CHECK-NEXT:   tir.yield %{{.*}} : f32
  %l = tir.let_in %x = %c {
    %s = tir.add %x, %x : f32
    tir.yield %s : f32
  }
  %v = tir.broadcast %l : f32 -> vector<4xf32>
  // CHECK:      %w = tir.shuffle [%v, %c] [4, 0] : f32
  %w = tir.shuffle [%v, %c] [4, 0] : f32
  // CHECK-NEXT: %o = tir.shuffle [%v] [3] : f32
  %o = tir.shuffle [%v] [3] : f32
  %data = tir.buffer_data %A
  // CHECK:      tir.call @g(%data, %n) : f32
  %r = tir.call @g(%data, %n) : f32
  // CHECK-NEXT: tir.call_pure_extern "cosf"(%r) : f32
  %p = tir.call_pure_extern "cosf"(%r) : f32
  %e = tir.call_llvm_effect "llvm.prefetch"(%data) : none
  // CHECK:      tir.attr "align" %n on %data {
  tir.attr "align" %n on %data {
    tir.evaluate %e : none
  }
  // CHECK:      tir.attr "key" %n on "name" {
  tir.attr "key" %n on "name" {
    tir.evaluate %p : f32
  }
}

tir.func private @g(%A: !tir.buffer<[m], f32>, %n: i32) -> f32 {
  %c = tir.const 1.0 : f32
  tir.return %c : f32
}

// CHECK-LABEL: tir.func @reductions
tir.func @reductions(%A: !tir.buffer<[4, n], f32>, %B: !tir.buffer<[1], f32>) {
  %z = tir.const 0.0 : f32
  %at = tir.const 0 : i64
  // CHECK:      %r = tir.reduce 0 over {{\[\[}}1, 3], n] identity %z init %z where {
  // CHECK-NEXT: ^bb0(%i: i64, %j: i64):
  // CHECK:      } of {
  // CHECK:      } by {
  // CHECK-NEXT: ^bb0(%x: f32, %y: f32):
  %r = tir.reduce 0 over [[1, 3], n] identity %z init %z where {
  ^bb0(%i: i64, %j: i64):
    %t = tir.lt %i, %j : i64
    tir.yield %t : i1
  } of {
  ^bb0(%i: i64, %j: i64):
    %v = tir.load %A[%i, %j] : f32
    tir.yield %v : f32
  } by {
  ^bb0(%x: f32, %y: f32):
    %s = tir.add %x, %y : f32
    tir.yield %s : f32
  }
  tir.store %r, %B[%at]
}
