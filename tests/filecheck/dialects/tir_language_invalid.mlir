// RUN: tirax-opt %s --split-input-file --verify-diagnostics

tir.func @lane(%v: !tir.buffer<[4], f32>) {
  %c = tir.const 1.0 : f32
  %b = tir.broadcast %c : f32 -> vector<4xf32>
  // expected-error @+1 {{tir.shuffle: lane 4 of 4}}
  %r = tir.shuffle [%b] [4] : f32
}

// -----

tir.func @bits() {
  %c = tir.const 1.0 : f32
  // expected-error @+1 {{tir.reinterpret changes the number of bits: 32 -> 64}}
  %r = tir.reinterpret %c : f32 -> i64
}

// -----

tir.func @index(%A: !tir.buffer<[4, 4], f32>) {
  %c = tir.const 0 : i32
  %b = tir.broadcast %c : i32 -> vector<4xi32>
  // expected-error @+1 {{tir.load: only the last index may be a vector}}
  %r = tir.load %A[%b, %c] : f32
}

// -----

tir.func @let() {
  %c = tir.const 0 : i32
  // expected-error @+1 {{the body of tir.let_in must end with tir.yield}}
  %r = "tir.let_in"(%c) ({
  ^bb0(%x: i32):
    %d = tir.const 1 : i32
  }) : (i32) -> i32
}

// -----

tir.func @yield() {
  tir.for %i = 0 to 4 {
    // expected-error @+1 {{'tir.yield' stands in 'tir.for', whose regions are no expressions}}
    tir.yield %i : i64
  }
}

// -----

tir.func private @g(%A: !tir.buffer<[4], f32>, %n: i32) {
}

tir.func @count(%A: !tir.buffer<[4], f32>) {
  %data = tir.buffer_data %A
  // expected-error @+1 {{@g takes 2 arguments, found 1}}
  %r = tir.call @g(%data) : none
}

// -----

tir.func private @g(%A: !tir.buffer<[4], f32>, %n: i32) {
}

tir.func @kinds(%A: !tir.buffer<[4], f32>, %n: i64) {
  %data = tir.buffer_data %A
  // expected-error @+1 {{argument 1 of @g is of i64, not i32}}
  %r = tir.call @g(%data, %n) : none
}

// -----

tir.func private @g(%n: i32) -> f32 {
  %c = tir.const 1.0 : f32
  tir.return %c : f32
}

tir.func @result(%n: i32) {
  // expected-error @+1 {{@g does not give f16}}
  %r = tir.call @g(%n) : f16
}

// -----

tir.func @reduction_of_no_value(%A: !tir.buffer<[4], f32>) {
  %z = tir.const 0.0 : f32
  // expected-error @+1 {{there is no value 1 of 1}}
  %r = tir.reduce 1 over [4] identity %z where {
  ^bb0(%i: i64):
    %t = tir.const true
    tir.yield %t : i1
  } of {
  ^bb0(%i: i64):
    %v = tir.load %A[%i] : f32
    tir.yield %v : f32
  } by {
  ^bb0(%x: f32, %y: f32):
    tir.yield %x : f32
  }
}
