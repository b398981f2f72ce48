// Passes run in the order of the command line, whatever way they are named.
// RUN: tirax-opt %S/Inputs/mlp.mlir -p dead-code-elimination | filecheck %s
// RUN: tirax-opt %S/Inputs/mlp.mlir -p 'normalize,dead_code_elimination{entry-functions=main}' | filecheck %s
// RUN: tirax-opt -p dead-code-elimination < %S/Inputs/mlp.mlir | filecheck %s
// RUN: tirax-opt %S/Inputs/mlp.mlir -p dead-code-elimination -o %t.mlir
// RUN: tirax-opt %t.mlir | filecheck %s
// RUN: tirax-opt %S/Inputs/mlp.mlir -p dead-code-elimination --print-op-generic | tirax-opt | filecheck %s

// CHECK-LABEL: relax.func @main
// CHECK:         relax.matmul
// CHECK-NOT:     relax.exp
// CHECK:         relax.nn.relu

// RUN: tirax-opt %S/Inputs/mlp.mlir -p legalize --pipeline optimize -p 'fuse-ops{fuse_opt_level=0}' --timing -o %t.mlir 2>&1 | filecheck %s --check-prefix=ORDER

// ORDER:      {{^}}parse
// ORDER:      {{^}}1. legalize-ops
// ORDER-NEXT: {{^}}  verify
// ORDER:      {{^}}pipeline optimize
// ORDER-NEXT: {{^}}  2. normalize
// ORDER-NEXT: {{^}}    verify
// ORDER:      {{^}}  {{[0-9]+}}. fuse-tir
// ORDER:      {{^}}  {{[0-9]+}}. dead-code-elimination
// ORDER:      {{^}}  {{[0-9]+}}. attach-variable-bounds
// ORDER-NEXT: {{^}}    verify
// ORDER-NEXT: {{^}}{{[0-9]+}}. fuse-ops
// ORDER:      {{^}}total
