// RUN: tirax-opt %s -p dataflow-use-inplace-calls --check-each | filecheck %s --check-prefix PLACE
// RUN: tirax-opt %s -p legalize-ops,rewrite-dataflow-reshape --check-each | filecheck %s --check-prefix SHAPE
// RUN: not tirax-opt %s -p 'dataflow-use-inplace-calls{all=true}' 2>&1 | filecheck %s --check-prefix BAD

// BAD: all
// PLACE: tir.func private @add_inplace(%x: !tir.buffer<[n], f32>, %y: !tir.buffer<[n], f32>)
// PLACE-LABEL: relax.func @main
// SHAPE-LABEL: relax.func @main
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n, 1], f32> {
  %gv = relax.dataflow {
    // PLACE: %y = relax.exp %x
    %y = relax.exp %x : !relax.tensor<[n], f32>
    // PLACE-NEXT: %z = relax.call_tir_inplace @add_inplace(%x, %y) inplace [1] : !relax.tensor<[n], f32>
    %z = relax.add %x, %y : !relax.tensor<[n], f32>
    // PLACE-NEXT: relax.multiply %x, %x
    %w = relax.multiply %x, %x : !relax.tensor<[n], f32>
    %v = relax.subtract %z, %w : !relax.tensor<[n], f32>
    // SHAPE: %[[S:.*]] = relax.shape [n, 1]
    // SHAPE-NEXT: relax.reshape %v, %[[S]] : !relax.tensor<[n, 1], f32>
    %r = relax.expand_dims %v {axis = [1]} : !relax.tensor<[n, 1], f32>
    // SHAPE: relax.call_tir
    %s = relax.exp %r : !relax.tensor<[n, 1], f32>
    relax.output %s : !relax.tensor<[n, 1], f32>
  }
  relax.return %gv : !relax.tensor<[n, 1], f32>
}
