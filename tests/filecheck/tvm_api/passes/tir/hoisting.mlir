// RUN: tirax-opt %s -p hoist-expression | filecheck %s
// RUN: tirax-opt %s -p hoist-expression{hoisted_conditionals=1} | filecheck %s --check-prefix WHOLE
// RUN: tirax-opt %s -p hoist-if-then-else | filecheck %s --check-prefix WHOLE

// CHECK-LABEL: tir.func @both
// CHECK:         tir.for %i = 0 to 8 {
// CHECK-NEXT:      %c = tir.lt %i, %n : i64
// CHECK-NEXT:      tir.if %c {
// CHECK-NEXT:        tir.for %j = 0 to 8 {
// CHECK-NEXT:          %d = tir.lt %j, %four : i64
// CHECK-NEXT:          tir.if %d {
// WHOLE-LABEL: tir.func @both
// WHOLE:         tir.for %i = 0 to 8 {
// WHOLE-NEXT:      tir.for %j = 0 to 8 {
// WHOLE:             tir.if %b {
tir.func @both(%n: i64, %A: !tir.buffer<[8], f32>, %Y: !tir.buffer<[8], f32>) {
  %four = tir.const 4 : i64
  tir.for %i = 0 to 8 {
    tir.for %j = 0 to 8 {
      %c = tir.lt %i, %n : i64
      %d = tir.lt %j, %four : i64
      %b = tir.and %c, %d : i1
      tir.if %b {
        %z = tir.mul %n, %n : i64
        %l = tir.let %z : i64 -> i64
        %x = tir.load %A[%j] : f32
        tir.store %x, %Y[%j]
      }
    }
  }
}

// what is read may change, and a division may fail

// CHECK-LABEL: tir.func @stays
// CHECK:         tir.for %j = 0 to 8 {
// CHECK:           tir.if %c {
// CHECK:         tir.for %k = 0 to 8 {
// CHECK:           tir.if %d {
tir.func @stays(%n: i64, %Y: !tir.buffer<[8], f32>) {
  %one = tir.const 1.0 : f32
  %zero = tir.const 0 : i64
  %four = tir.const 4 : i64
  tir.for %j = 0 to 8 {
    %y = tir.load %Y[%zero] : f32
    %c = tir.lt %y, %one : f32
    tir.if %c {
      tir.store %one, %Y[%j]
    }
  }
  tir.for %k = 0 to 8 {
    %q = tir.floordiv %four, %n : i64
    %d = tir.lt %q, %four : i64
    tir.if %d {
      tir.store %one, %Y[%k]
    }
  }
}
