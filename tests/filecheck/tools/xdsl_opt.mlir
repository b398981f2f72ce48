// Plain xdsl-opt knows the dialects and the passes.
// RUN: xdsl-opt %S/Inputs/mlp.mlir -p 'normalize,dead-code-elimination{entry_functions="main"}' | filecheck %s
// RUN: xdsl-opt %S/Inputs/mlp.mlir -p legalize-ops | filecheck %s --check-prefix=TIR

// CHECK: relax.func @main
// CHECK-NOT: relax.exp
// TIR: tir.func private @matmul
// TIR: tir.block "matmul"
