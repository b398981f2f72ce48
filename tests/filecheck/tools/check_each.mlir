// RUN: tirax-opt %S/Inputs/mlp.mlir --pipeline optimize --check-each --check-sizes 1,2 -o %t.mlir
// RUN: tirax-opt %S/Inputs/mlp.mlir -p legalize,lower-relax-calls --check-each --check-sizes 1 -o %t.mlir 2>&1 | filecheck %s

// Kernels are compared by themselves where the functions that call them are no longer Relax.
// CHECK: check-each: 2 passes; compared: @main 2 times, @matmul 1 times, @relu 1 times, @tir_exp 1 times
