// RUN: tirax-opt %s --split-input-file --verify-diagnostics

relax.func @main(%x: !relax.tensor<[4, 3], f32>) -> !relax.tensor<[4, 3], f32> {
  // expected-error @+1 {{the last dimension of argument x must be pairs}}
  %y = relax.fft.fft %x : !relax.tensor<[4, 3], f32>
  relax.return %y : !relax.tensor<[4, 3], f32>
}

// -----

relax.func @main(%x: !relax.tensor<[4, 0, 2], f32>) -> !relax.tensor<[4, 0, 2], f32> {
  // expected-error @+1 {{argument x must not be empty along the axis}}
  %y = relax.fft.fft %x : !relax.tensor<[4, 0, 2], f32>
  relax.return %y : !relax.tensor<[4, 0, 2], f32>
}

// -----

relax.func @main(%x: !relax.tensor<[4, 2], f32>) -> !relax.tensor<[4, 2], f32> {
  // expected-error @+1 {{attribute norm is unknown}}
  %y = relax.fft.fft %x {norm = "none"} : !relax.tensor<[4, 2], f32>
  relax.return %y : !relax.tensor<[4, 2], f32>
}

// -----

relax.func @main(%x: !relax.tensor<[4, 2], f32>) -> !relax.tensor<[9], f32> {
  %n = relax.prim_value 9
  // expected-error @+1 {{argument x has another number of frequencies}}
  %y = relax.fft.irfft %x, length = %n : !relax.tensor<[9], f32>
  relax.return %y : !relax.tensor<[9], f32>
}
