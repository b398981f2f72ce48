// RUN: tirax-opt %s -p canonicalize-bindings | filecheck %s --check-prefix CANON
// RUN: tirax-opt %s -p eliminate-common-subexpr | filecheck %s --check-prefix CSE
// RUN: tirax-opt %s -p dead-code-elimination | filecheck %s --check-prefix DCE
// RUN: tirax-opt %s -p 'dead-code-elimination{entry_functions="unused"}' | filecheck %s --check-prefix ENTRY
// RUN: tirax-opt %s -p 'bind-symbolic-vars{names="n" values=4 func_name="main"}' | filecheck %s --check-prefix SYM
// RUN: tirax-opt %s -p 'fold-constant,dead-code-elimination' | filecheck %s --check-prefix FOLD
// RUN: tirax-opt %s -p 'normalize,canonicalize-bindings,eliminate-common-subexpr,dead-code-elimination,fold-constant' --check-each | filecheck %s --check-prefix ALL
// RUN: not tirax-opt %s -p 'bind-symbolic-vars{names="k" values=4}' 2>&1 | filecheck %s --check-prefix BAD

// BAD: unknown symbolic variable 'k'
// ENTRY: @unused
// ENTRY: @main
// DCE-NOT: @unused
relax.func private @unused(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
  relax.return %x : !relax.tensor<[4], f32>
}

// SYM-LABEL: relax.func @main(%x: !relax.tensor<[4, 2], f32>) -> !relax.tensor<[4, 2], f32>
relax.func @main(%x: !relax.tensor<[n, 2], f32>) -> !relax.tensor<[n, 2], f32> {
  // ALL: %gv = relax.dataflow {
  %gv, %gone = relax.dataflow {
    // FOLD: %0 = relax.constant <f32 [2] [3.0, 5.0]>
    // FOLD-NOT: relax.add %a, %b
    // FOLD: relax.add %x, %0
    %a = relax.constant <f32 [2] [1.0, 2.0]>
    %b = relax.constant <f32 [2] [2.0, 3.0]>
    %c = relax.add %a, %b : !relax.tensor<[2], f32>
    // CANON: %y = relax.add %x, %c
    %y = relax.add %x, %c : !relax.tensor<[n, 2], f32>
    // CANON-NOT: relax.bind
    %alias = relax.bind %y : !relax.tensor<[n, 2], f32> -> !relax.tensor<[n, 2], f32>
    // CSE: relax.exp
    // CSE-NOT: relax.exp
    %e = relax.exp %alias : !relax.tensor<[n, 2], f32>
    %f = relax.exp %alias : !relax.tensor<[n, 2], f32>
    %g = relax.add %e, %f : !relax.tensor<[n, 2], f32>
    // DCE-NOT: relax.abs
    %h = relax.abs %g : !relax.tensor<[n, 2], f32>
    // DCE: relax.output %g : !relax.tensor<[n, 2], f32>
    relax.output %g, %h : !relax.tensor<[n, 2], f32>, !relax.tensor<[n, 2], f32>
  }
  relax.return %gv : !relax.tensor<[n, 2], f32>
}
