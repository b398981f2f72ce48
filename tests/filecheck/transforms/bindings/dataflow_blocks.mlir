// RUN: tirax-opt %s -p to-non-dataflow --check-each | filecheck %s --check-prefix PLAIN
// RUN: tirax-opt %s -p convert-to-dataflow --check-each | filecheck %s --check-prefix BLOCK
// RUN: tirax-opt %s -p 'convert-to-dataflow{min_size=4}' --check-each | filecheck %s --check-prefix LARGE
// RUN: not tirax-opt %s -p 'convert-to-dataflow{min_size=0}' 2>&1 | filecheck %s --check-prefix BAD

// BAD: a dataflow block has at least one binding
// PLAIN-LABEL: @main
// A block stays one, however short.
// LARGE-LABEL: @main
// LARGE: relax.dataflow
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  // PLAIN-NEXT: %a = relax.exp %x
  // PLAIN-NEXT: %gv = relax.bind %a
  // PLAIN-NEXT: %b = relax.abs %gv
  // BLOCK: %b = relax.dataflow {
  // BLOCK-NEXT: %a = relax.exp %x
  // BLOCK-NEXT: %b_1 = relax.abs %a
  // BLOCK-NEXT: relax.output %b_1
  %gv = relax.dataflow {
    %a = relax.exp %x : !relax.tensor<[n], f32>
    relax.output %a : !relax.tensor<[n], f32>
  }
  %b = relax.abs %gv : !relax.tensor<[n], f32>
  relax.return %b : !relax.tensor<[n], f32>
}

// LARGE-LABEL: @plain
// LARGE-NOT: relax.dataflow
// BLOCK-LABEL: @plain
// BLOCK: relax.dataflow
relax.func @plain(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %a = relax.exp %x : !relax.tensor<[n], f32>
  %b = relax.abs %a : !relax.tensor<[n], f32>
  relax.return %b : !relax.tensor<[n], f32>
}
