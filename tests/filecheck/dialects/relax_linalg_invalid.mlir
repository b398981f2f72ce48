// RUN: tirax-opt %s --split-input-file --verify-diagnostics

relax.func @main(%x: !relax.tensor<[4, 5], f32>) -> !relax.tensor<[], f32> {
  // expected-error @+1 {{argument x must be square}}
  %y = relax.linalg.det %x : !relax.tensor<[], f32>
  relax.return %y : !relax.tensor<[], f32>
}

// -----

relax.func @main(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
  // expected-error @+1 {{argument x must be a matrix}}
  %y = relax.linalg.svdvals %x : !relax.tensor<[4], f32>
  relax.return %y : !relax.tensor<[4], f32>
}

// -----

relax.func @main(%x: !relax.tensor<[4, 4], i32>) -> !relax.tensor<[4, 4], i32> {
  // expected-error @+1 {{argument x must be of float32 or float64}}
  %y = relax.linalg.matrix_exp %x : !relax.tensor<[4, 4], i32>
  relax.return %y : !relax.tensor<[4, 4], i32>
}

// -----

relax.func @main(%x: !relax.tensor<[4, 4], f32>, %b: !relax.tensor<[3, 2], f32>) -> !relax.tensor<[4, 2], f32> {
  // expected-error @+1 {{argument b must have as many rows as x}}
  %y = relax.linalg.solve_triangular %x, %b : !relax.tensor<[4, 2], f32>
  relax.return %y : !relax.tensor<[4, 2], f32>
}

// -----

relax.func @main(%x: !relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32> {
  // expected-error @+1 {{attribute mode is unknown}}
  %y = relax.linalg.qr %x {mode = "full"} : !relax.tensor<[4, 4], f32>
  relax.return %y : !relax.tensor<[4, 4], f32>
}
