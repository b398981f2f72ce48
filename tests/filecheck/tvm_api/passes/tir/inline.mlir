// RUN: tirax-opt %s -p tir-inline-private-functions | filecheck %s

// CHECK-NOT: @scale

// CHECK-LABEL: tir.func @main
// CHECK:         tir.for %i = 0 to 8 {
// CHECK-NEXT:      %x = tir.load %A[%i] : f32
// CHECK-NEXT:      %f = tir.cast %n : i32 -> f32
// CHECK:           tir.store %y, %A[%i]
// CHECK:         tir.call @public(%data) : none
tir.func @main(%A: !tir.buffer<[8], f32>, %n: i32) {
  %data = tir.buffer_data %A
  %r = tir.call @scale(%data, %n) : none
  tir.evaluate %r : none
  %p = tir.call @public(%data) : none
  tir.evaluate %p : none
}

tir.func private @scale(%X: !tir.buffer<[m], f32>, %k: i32) {
  tir.for %i = 0 to m {
    %x = tir.load %X[%i] : f32
    %f = tir.cast %k : i32 -> f32
    %y = tir.mul %x, %f : f32
    tir.store %y, %X[%i]
  }
}

// CHECK:       tir.func @public
tir.func @public(%X: !tir.buffer<[m], f32>) {
  %c = tir.const 1.0 : f32
  tir.for %i = 0 to m {
    tir.store %c, %X[%i]
  }
}

// A buffer at an address that is computed is declared at a name for it; where the address is known, it is as it was.

// CHECK-LABEL: tir.func @rows
// CHECK:         %[[AT:[a-z_0-9]+]] = tir.call_intrin "address_of"
// CHECK-NEXT:    %Row_view_data = tir.let %[[AT]]
// CHECK-NEXT:    %Row = tir.decl_buffer %Row_view_data
// CHECK:         %Row_1 = tir.decl_buffer %data
tir.func @rows(%A: !tir.buffer<[4, 8], f32>, %i: i32) {
  %zero = tir.const 0 : i32
  %first = tir.load %A[%i, %zero] : f32
  %at = tir.call_intrin "address_of"(%first) : !tir.handle<f32>
  %r = tir.call @clear(%at) : none
  tir.evaluate %r : none
  %data = tir.buffer_data %A
  %s = tir.call @clear(%data) : none
  tir.evaluate %s : none
}

tir.func private @clear(%h: !tir.handle<f32>) {
  %Row = tir.decl_buffer %h : !tir.buffer<[8], f32>
  %zero = tir.const 0 : i32
  %c = tir.const 0.0 : f32
  tir.store %c, %Row[%zero]
}
