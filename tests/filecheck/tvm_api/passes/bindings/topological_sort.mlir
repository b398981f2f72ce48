// RUN: tirax-opt %s -p topological-sort --check-each | filecheck %s --check-prefix DEPTH
// RUN: tirax-opt %s -p 'topological-sort{order="breadth-first"}' --check-each | filecheck %s --check-prefix BREADTH
// RUN: not tirax-opt %s -p 'topological-sort{order="width-first"}' 2>&1 | filecheck %s --check-prefix BAD

// BAD: unknown order 'width-first'
relax.func @main(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %gv = relax.dataflow {
    // DEPTH: relax.exp %x
    // DEPTH-NEXT: relax.abs %a
    // DEPTH-NEXT: relax.exp %y
    // BREADTH: relax.exp %x
    // BREADTH-NEXT: relax.exp %y
    // BREADTH-NEXT: relax.abs %a
    %b = relax.exp %y : !relax.tensor<[n], f32>
    %a = relax.exp %x : !relax.tensor<[n], f32>
    %c = relax.abs %a : !relax.tensor<[n], f32>
    %d = relax.add %b, %c : !relax.tensor<[n], f32>
    relax.output %d : !relax.tensor<[n], f32>
  }
  relax.return %gv : !relax.tensor<[n], f32>
}
