// RUN: tirax-opt %s --split-input-file --verify-diagnostics

relax.func @shape(%x: !relax.tensor<[3], f32>, %y: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
  // expected-error @+1 {{arguments x1 and x2 do not broadcast}}
  %z = relax.add %x, %y : !relax.tensor<[4], f32>
  relax.return %z : !relax.tensor<[4], f32>
}

// -----

relax.func @result(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  // expected-error @+1 {{does not hold}}
  %z = relax.exp %x : !relax.tensor<[n + 1], f32>
  relax.return %x : !relax.tensor<[n], f32>
}

// -----

relax.func @callee(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  // expected-error @+1 {{calls @nosuch, which is not in the module}}
  %z = relax.call_tir @nosuch(%x) : !relax.tensor<[n], f32>
  relax.return %z : !relax.tensor<[n], f32>
}

// -----

relax.func @recursive(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  // expected-error @+1 {{%x is defined already}}
  %f = relax.closure itself %x(%a: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    relax.return %a : !relax.tensor<[n], f32>
  }
  relax.return %x : !relax.tensor<[n], f32>
}
