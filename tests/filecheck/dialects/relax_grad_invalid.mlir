// RUN: tirax-opt %s --split-input-file --verify-diagnostics

relax.func @pool(%g: !relax.tensor<[n, 2, 4, 3], f32>, %x: !relax.tensor<[n, 2, 6, 6], f32>) -> !relax.tensor<[n, 2, 6, 6], f32> {
  // expected-error @+1 {{argument output_grad has the wrong extent in dimension 2}}
  %b = relax.grad.max_pool2d_backward %g, %x {pool_size = [2, 2], strides = [2, 2]} : !relax.tensor<[n, 2, 6, 6], f32>
  relax.return %b : !relax.tensor<[n, 2, 6, 6], f32>
}

// -----

relax.func @take(%g: !relax.tensor<[3, 2], f32>, %x: !relax.tensor<[4, 2], f32>, %i: !relax.tensor<[3], f32>) -> !relax.tensor<[4, 2], f32> {
  // expected-error @+1 {{argument indices must be of an integer type}}
  %b = relax.grad.take_backward %g, %x, %i {axis = 0} : !relax.tensor<[4, 2], f32>
  relax.return %b : !relax.tensor<[4, 2], f32>
}
