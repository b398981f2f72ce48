// Errors that do not come, come elsewhere or come unannounced are failures.
// RUN: not tirax-opt %s --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// CHECK: verify_diagnostics_fails.mlir:6:1: error: an expected error did not come
// CHECK: expected: nothing is wrong here
// expected-error@+1 {{nothing is wrong here}}
func.func @f() {
  func.return
}

// -----

// CHECK: error: this error was not expected
// CHECK-NEXT: note: {{.*}}:15:1: error: unknown operation 'func.funk'
func.funk @f() {}

// -----

// CHECK: error: this error was not expected
// expected-error@-1 {{unknown operation}}
func.funk @f() {}

// -----

// CHECK: error: unknown place '@nowhere'
// expected-error@nowhere {{x}}
func.func @g() {
  func.return
}
