// RUN: tirax-opt %S/Inputs/mlp.mlir --pipeline optimize --check-each --check-sizes 1,2 -o %t.mlir
// RUN: tirax-opt %S/Inputs/mlp.mlir -p legalize,lower-relax-calls --check-each --check-sizes 1 -o %t.mlir 2>&1 | filecheck %s

// What can no longer be compared is said.
// CHECK: note: check-each: no function to compare before and after 'lower-relax-calls'
