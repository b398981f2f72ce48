// A module of relax goes to every target; the native ones lower what is left of relax and tir.
// RUN: tirax-opt %S/Inputs/mlp.mlir -p dead-code-elimination,legalize,annotate,fuse-ops,fuse-tir | filecheck %s --check-prefix=MLIR
// RUN: tirax-opt %S/Inputs/mlp.mlir -p dead-code-elimination,legalize,annotate,fuse-ops,fuse-tir -t tvmscript | filecheck %s --check-prefix=SCRIPT
// RUN: tirax-opt %S/Inputs/mlp.mlir -p dead-code-elimination,legalize,annotate,fuse-ops,fuse-tir -t llvm | filecheck %s --check-prefix=LLVM
// RUN: tirax-opt %S/Inputs/mlp.mlir -p dead-code-elimination,legalize,annotate,fuse-ops,fuse-tir -t 'asm{opt_level=1}' | filecheck %s --check-prefix=ASM
// RUN: tirax-opt %S/Inputs/mlp.mlir -p dead-code-elimination,legalize,annotate,fuse-ops,fuse-tir -t obj -o %t.o
// RUN: tirax-opt %S/Inputs/mlp.mlir -p dead-code-elimination,legalize,annotate,fuse-ops,fuse-tir -t obj > %t.stdout.o
// RUN: cmp %t.o %t.stdout.o
// RUN: %python -c "import sys; print(open(sys.argv[1], 'rb').read(4))" %t.o | filecheck %s --check-prefix=OBJ

// MLIR: relax.call_tir @fused_matmul_relu
// MLIR: tir.func private @fused_matmul_relu

// SCRIPT: @I.ir_module
// SCRIPT: def fused_matmul_relu(
// SCRIPT: R.call_tir(cls.fused_matmul_relu, (x, w)

// LLVM: define {{.*}}fused_matmul_relu
// LLVM: define ptr @entry_main(

// ASM: entry_main:

// OBJ: b'\x7fELF'
