// RUN: tirax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// Pieces without an error are printed; those whose error was announced are not.
// CHECK: relax.func @good
relax.func @good(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  relax.return %x : !relax.tensor<[n], f32>
}

// -----

relax.func @shapes(%x: !relax.tensor<[n, 4], f32>, %w: !relax.tensor<[3, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  // expected-error@+1 {{expected: 4 rows in x2}}
  %0 = relax.matmul %x, %w : !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.funk @f() {} // expected-error {{did you mean 'relax.func'}}

// -----

// expected-error@below {{unknown type or attribute 'relax.tensr'}}
relax.func @f(%x: !relax.tensr<[n], f32>) {}

// -----

func.func @f(%a: i32) -> i32 {
  %b = arith.addi %a, %c : i32
  // expected-error@above {{%c is not defined}}
  func.return %b : i32
}

// -----

func.func @f(%a: i32) -> i32 {
  // expected-error@+1 {{uses c where it is not defined}}
  %b = arith.addi %a, %c : i32
  %c = arith.addi %a, %a : i32
  func.return %b : i32
}

// -----

// expected-error@+1 {{end of file reached before closing string literal}}
"unterminated

// CHECK-NOT: relax.func @f
