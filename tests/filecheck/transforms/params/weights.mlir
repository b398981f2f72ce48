// RUN: tirax-opt %s -p lift-transform-params | filecheck %s --check-prefix LIFT
// RUN: tirax-opt %s -p 'lift-transform-params{shared_transform=true}' | filecheck %s --check-prefix SHARED
// RUN: tirax-opt %s -p bundle-model-params | filecheck %s --check-prefix BUNDLE
// RUN: tirax-opt %s -p lazy-get-input,lazy-set-output | filecheck %s --check-prefix LAZY
// RUN: tirax-opt %s -p lift-transform-params,lazy-transform-params | filecheck %s --check-prefix STEPS
// RUN: not tirax-opt %s -p 'lift-transform-params{functions="mian"}' 2>&1 | filecheck %s --check-prefix BAD
// RUN: not tirax-opt %s -p 'lift-transform-params{functions="plain"}' 2>&1 | filecheck %s --check-prefix UNMARKED

// BAD: unknown Relax function 'mian'
// BAD: did you mean 'main'?
// UNMARKED: @plain does not say which parameters are weights
// LIFT: relax.func @main(%x: !relax.tensor<[n, 4], f32>, %wt: !relax.tensor<[4, m], f32>)
// SHARED: relax.func @main(%x: !relax.tensor<[n, 4], f32>, %wt: !relax.tensor<[4, m], f32>)
// BUNDLE: relax.func @main(%x: !relax.tensor<[n, 4], f32>, %model_params: tuple<!relax.tensor<[m, 4], f32>>)
// LAZY: relax.func @main(%x: !relax.tensor<[n, 4], f32>, %fget_param: {{.*}}, %fset_output: {{.*}}) -> tuple<> impure
relax.func @main(%x: !relax.tensor<[n, 4], f32>, %w: !relax.tensor<[m, 4], f32>) -> !relax.tensor<[n, m], f32>
    attributes {num_input = 1 : i64} {
  // LIFT-NOT: relax.permute_dims
  // BUNDLE: %w = relax.tuple_get_item %model_params[0]
  // BUNDLE-NEXT: relax.permute_dims %w
  // LAZY: %w_untyped = relax.call_value %fget_param(
  // LAZY-NEXT: %w = relax.match_cast %w_untyped
  // LAZY: %y = relax.matmul
  // LAZY: relax.prim_value 0
  // LAZY-NEXT: relax.call_value %fset_output({{.*}}) : tuple<>
  // LAZY-NEXT: relax.tuple()
  %gv = relax.dataflow {
    %wt = relax.permute_dims %w : !relax.tensor<[4, m], f32>
    %y = relax.matmul %x, %wt : !relax.tensor<[n, m], f32>
    relax.output %y : !relax.tensor<[n, m], f32>
  }
  relax.return %gv : !relax.tensor<[n, m], f32>
}
// LIFT: relax.func @main_transform_params(%model_params: tuple<!relax.tensor<[m, 4], f32>>) -> tuple<!relax.tensor<[4, m], f32>> attributes {num_input = 0 : i64}
// LIFT: relax.permute_dims
// SHARED: relax.func @transform_params(
// SHARED-NOT: _transform_params
// STEPS: relax.func @main_transform_params() -> tuple<> impure
// STEPS: relax.call_packed "get_item"
// STEPS: relax.call_packed "set_item"
// BUNDLE: relax.func @plain(%x: !relax.tensor<[4], f32>)
relax.func @plain(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
  relax.return %x : !relax.tensor<[4], f32>
}
