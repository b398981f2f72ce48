// RUN: tirax-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: tirax-opt %s --split-input-file --verify-diagnostics -t tvmscript | filecheck %s --check-prefix SCRIPT

// CHECK-LABEL: relax.func @append
relax.func @append(%cache: !relax.object, %x: !relax.tensor<[n], f32>) -> !relax.object {
  // CHECK: %y = relax.call_inplace_packed "f"(%cache, %x) attributes {inplace_indices = [0 : i64]} : !relax.object
  // SCRIPT: y: R.Object = R.call_inplace_packed("f", cache, x, inplace_indices=[0], sinfo_args=(R.Object,))
  %y = relax.call_inplace_packed "f"(%cache, %x) attributes {inplace_indices = [0]} : !relax.object
  relax.return %y : !relax.object
}

// -----

relax.func @behind(%cache: !relax.object, %x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error @+1 {{inplace index 2 of a call with 2 arguments}}
  %y = relax.call_inplace_packed "f"(%cache, %x) attributes {inplace_indices = [2]} : !relax.object
  relax.return %y : !relax.object
}

// -----

relax.func @none(%cache: !relax.object) -> !relax.object {
  // expected-error @+1 {{needs inplace_indices}}
  %y = relax.call_inplace_packed "f"(%cache) : !relax.object
  relax.return %y : !relax.object
}
