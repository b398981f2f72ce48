// RUN: tirax-opt %s -p tir-simplify | filecheck %s

// CHECK-LABEL: tir.func @loops
// CHECK-NEXT:    %z = tir.const 2.000000e+00 : f32
// CHECK-NEXT:    %[[AT:.*]] = tir.const 3 : i64
// CHECK-NEXT:    tir.store %z, %X[%[[AT]]]
// CHECK-NEXT:    tir.for %k = 0 to n {
// CHECK-NEXT:      tir.store %z, %X[%k]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
tir.func @loops(%X: !tir.buffer<[n], f32>) {
  %z = tir.const 2.0 : f32
  tir.for %i = 3 for 1 {
    tir.store %z, %X[%i]
  }
  tir.for %j = 0 to 0 {
    tir.store %z, %X[%j]
  }
  tir.for %k = 0 to n {
    %unused = tir.load %X[%k] : f32
    tir.store %z, %X[%k]
  }
}

// CHECK-LABEL: tir.func @branches
// CHECK-NOT:     tir.if
// CHECK:         tir.store %one, %X[%one]
// CHECK-NOT:     tir.store %two
tir.func @branches(%X: !tir.buffer<[4], i64>) {
  %one = tir.const 1 : i64
  %two = tir.const 2 : i64
  %less = tir.lt %one, %two : i64
  tir.if %less {
    tir.store %one, %X[%one]
  } else {
    tir.store %two, %X[%one]
  }
}
