// RUN: tirax-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: tirax-opt %s --split-input-file --verify-diagnostics -t tvmscript | filecheck %s --check-prefix SCRIPT

relax.func private @less(%i: !relax.prim<i64, i>, %x: !relax.tensor<[n], f32>, %w: !relax.tensor<[n], f32>) -> !relax.prim<i1> {
  %c = relax.prim_value lt(i, 3)
  relax.return %c : !relax.prim<i1, lt(i, 3)>
}

relax.func private @step(%i: !relax.prim<i64, i>, %x: !relax.tensor<[n], f32>, %w: !relax.tensor<[n], f32>) -> tuple<!relax.prim<i64, i + 1>, !relax.tensor<[n], f32>, !relax.tensor<[n], f32>> {
  %y = relax.add %x, %w : !relax.tensor<[n], f32>
  %j = relax.prim_value i + 1
  %t = relax.tuple(%j, %y, %x)
  relax.return %t : tuple<!relax.prim<i64, i + 1>, !relax.tensor<[n], f32>, !relax.tensor<[n], f32>>
}

// CHECK-LABEL: relax.func @main
relax.func @main(%x: !relax.tensor<[n], f32>, %w: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.function_ref @less : !relax.callable<(!relax.prim<i64, i>, !relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.prim<i1>>
  %1 = relax.function_ref @step : !relax.callable<(!relax.prim<i64, i>, !relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> tuple<!relax.prim<i64, i + 1>, !relax.tensor<[n], f32>, !relax.tensor<[n], f32>>>
  %2 = relax.prim_value 0
  // CHECK: %r = relax.while_loop %0, %1, (%2, %x), invariants = (%w) {collected = 1} : tuple<!relax.prim<i64>, !relax.tensor<[n], f32>, !relax.tensor<ndim = 2, f32>>
  // SCRIPT: r: R.Tuple(R.Prim("int64"), R.Tensor((n,), dtype="float32"), R.Tensor(dtype="float32", ndim=2)) = R.while_loop(cls.less, cls.step, (R.prim_value(0), x), (w,), collected=1)
  %r = relax.while_loop %0, %1, (%2, %x), invariants = (%w) {collected = 1} : tuple<!relax.prim<i64>, !relax.tensor<[n], f32>, !relax.tensor<ndim = 2, f32>>
  relax.return %r : tuple<!relax.prim<i64>, !relax.tensor<[n], f32>, !relax.tensor<ndim = 2, f32>>
}

// -----

relax.func @missing(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error @+1 {{calls @nosuch, which is not in the module}}
  %0 = relax.function_ref @nosuch : !relax.callable<(!relax.tensor<[n], f32>) -> !relax.prim<i1>>
  %1 = relax.function_ref @nosuch : !relax.callable<(!relax.tensor<[n], f32>) -> tuple<!relax.tensor<[n], f32>>>
  %r = relax.while_loop %0, %1, (%x) : tuple<!relax.tensor<[n], f32>>
  relax.return %r : tuple<!relax.tensor<[n], f32>>
}

// -----

relax.func private @other(%x: !relax.tensor<[n], f32>) -> tuple<!relax.tensor<[n], f32>> {
  %t = relax.tuple(%x)
  relax.return %t : tuple<!relax.tensor<[n], f32>>
}

relax.func @number_of_values(%x: !relax.tensor<[n], f32>, %c: !relax.callable<(!relax.tensor<[n], f32>) -> !relax.prim<i1>>) -> !relax.object {
  %1 = relax.function_ref @other : !relax.callable<(!relax.tensor<[n], f32>) -> tuple<!relax.tensor<[n], f32>>>
  // expected-error @+1 {{body must give the carried values and the collected ones}}
  %r = relax.while_loop %c, %1, (%x) {collected = 1} : tuple<!relax.tensor<[n], f32>>
  relax.return %r : tuple<!relax.tensor<[n], f32>>
}

// -----

relax.func @effects(%x: !relax.tensor<[n], f32>, %c: !relax.callable<(!relax.tensor<[n], f32>) -> !relax.prim<i1>>, %f: !relax.callable<(!relax.tensor<[n], f32>) -> tuple<!relax.tensor<[n], f32>>, impure>) -> !relax.object {
  // expected-error @+1 {{argument body may have effects}}
  %r = relax.while_loop %c, %f, (%x) : tuple<!relax.tensor<[n], f32>>
  relax.return %r : tuple<!relax.tensor<[n], f32>>
}

// -----

relax.func private @widens(%x: !relax.tensor<ndim = 1, f32>) -> tuple<!relax.tensor<ndim = 1, f32>> {
  %t = relax.tuple(%x)
  relax.return %t : tuple<!relax.tensor<ndim = 1, f32>>
}

relax.func @stale_reference(%x: !relax.tensor<[n], f32>, %c: !relax.callable<(!relax.tensor<[n], f32>) -> !relax.prim<i1>>) -> !relax.object {
  // expected-error @+1 {{@widens is not what a reference says}}
  %1 = relax.function_ref @widens : !relax.callable<(!relax.tensor<[n], f32>) -> tuple<!relax.tensor<[n], f32>>>
  %r = relax.while_loop %c, %1, (%x) : tuple<!relax.tensor<[n], f32>>
  relax.return %r : tuple<!relax.tensor<[n], f32>>
}
