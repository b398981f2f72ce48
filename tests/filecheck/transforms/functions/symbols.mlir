// RUN: tirax-opt %s -p normalize-global-var | filecheck %s --check-prefix NAMES
// RUN: not tirax-opt %s -p normalize-global-var --check-each 2>&1 | filecheck %s --check-prefix GONE
// RUN: tirax-opt %s -p attach-global-symbol | filecheck %s --check-prefix PUBLIC
// RUN: tirax-opt %s -p lambda-lift --check-each | filecheck %s --check-prefix LIFT

// A function of another name cannot be compared, which --check-each says.
// GONE: error: pass 1, 'normalize-global-var': nothing was compared

// NAMES: relax.func @foo(
// PUBLIC: relax.func @main(
// LIFT: relax.func @main(
relax.func @main(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[m], f32>) -> !relax.tensor<[n], f32>
    attributes {global_symbol = "foo"} {
  // LIFT-NEXT: %0 = relax.shape [m]
  // LIFT-NEXT: %z = relax.call @main_f(%x, %0) : !relax.tensor<[n], f32>
  %f = relax.closure(%a: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    %0 = relax.shape [m]
    %o = relax.ones %0 {dtype = "float32"} : !relax.tensor<[m], f32>
    %s = relax.sum %o : !relax.tensor<[], f32>
    %r = relax.add %a, %s : !relax.tensor<[n], f32>
    relax.return %r : !relax.tensor<[n], f32>
  }
  %z = relax.call_value %f(%x) : !relax.tensor<[n], f32>
  // NAMES: relax.call @foo1(%z)
  %w = relax.call @foo(%z) : !relax.tensor<[n], f32>
  relax.return %w : !relax.tensor<[n], f32>
}
// LIFT: relax.func private @main_f(%a: !relax.tensor<[n], f32>, %shape_vars: !relax.shape<[m]>)
// NAMES: relax.func private @foo1(
// PUBLIC: relax.func @foo(
// LIFT: relax.func private @foo(
relax.func private @foo(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  // LIFT-NEXT: relax.closure(
  %f = relax.closure(%a: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    %r = relax.add %a, %x : !relax.tensor<[n], f32>
    relax.return %r : !relax.tensor<[n], f32>
  }
  %t = relax.tuple(%f)
  %g = relax.tuple_get_item %t[0] : !relax.callable<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>>
  %y = relax.call_value %g(%x) : !relax.tensor<[n], f32>
  relax.return %y : !relax.tensor<[n], f32>
}
