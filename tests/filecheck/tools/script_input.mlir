// TVMScript is read by extension or by -f, and gives what the MLIR text of the same program gives.
// RUN: tirax-opt %S/Inputs/mlp.py | filecheck %s
// RUN: tirax-opt -f py < %S/Inputs/mlp.py | filecheck %s
// RUN: tirax-opt -f tvmscript < %S/Inputs/mlp.py | filecheck %s
// RUN: tirax-opt %S/Inputs/mlp.py -t tvmscript | tirax-opt -f py | filecheck %s
// RUN: tirax-opt %S/Inputs/mlp.py --print-debuginfo | filecheck %s --check-prefix=LOC
// RUN: tirax-opt %S/Inputs/mlp.py -p legalize,annotate,fuse-ops,fuse-tir -t llvm | filecheck %s --check-prefix=LLVM

// CHECK-LABEL: relax.func @main(%x: !relax.tensor<[n, 6], f32>, %w: !relax.tensor<[6, 4], f32>)
// CHECK:         relax.matmul %x, %w
// CHECK-NEXT:    relax.nn.relu

// LOC: relax.matmul %x, %w {{.*}} loc("{{.*}}mlp.py":12:
// LOC: relax.nn.relu {{.*}} loc("{{.*}}mlp.py":13:

// LLVM: define ptr @entry_main(
