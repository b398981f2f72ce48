// The IR between passes goes to stderr or to files, the output alone to stdout.
// RUN: tirax-opt %S/Inputs/mlp.mlir -p normalize,dead-code-elimination --print-ir-after-all 2>&1 >%t.out | filecheck %s --check-prefix=ALL
// RUN: filecheck %s --check-prefix=OUT < %t.out
// RUN: tirax-opt %S/Inputs/mlp.mlir -p normalize,dead-code-elimination --print-ir-before=dead_code_elimination --print-ir-after=dead-code-elimination 2>&1 >%t.out | filecheck %s --check-prefix=ONE
// RUN: rm -rf %t.dir
// RUN: tirax-opt %S/Inputs/mlp.mlir -p normalize,dead-code-elimination,legalize --print-ir-dir %t.dir -o %t.out
// RUN: ls %t.dir | filecheck %s --check-prefix=FILES
// RUN: tirax-opt %t.dir/02-dead-code-elimination.mlir | filecheck %s --check-prefix=OUT
// RUN: rm -rf %t.dir
// RUN: tirax-opt %S/Inputs/mlp.mlir -p legalize --print-ir-as tvmscript --print-ir-dir %t.dir -t llvm -o %t.out
// RUN: ls %t.dir | filecheck %s --check-prefix=SCRIPTS

// ALL:      // -----// IR Dump After normalize //----- //
// ALL:      relax.exp
// ALL:      // -----// IR Dump After dead-code-elimination //----- //
// ALL-NOT:  relax.exp

// ONE-NOT:  After normalize
// ONE:      // -----// IR Dump Before dead-code-elimination //----- //
// ONE:      relax.exp
// ONE:      // -----// IR Dump After dead-code-elimination //----- //
// ONE-NOT:  relax.exp

// OUT-NOT:  Dump
// OUT-NOT:  relax.exp
// OUT:      relax.nn.relu

// FILES:      00-input.mlir
// FILES-NEXT: 01-normalize.mlir
// FILES-NEXT: 02-dead-code-elimination.mlir
// FILES-NEXT: 03-legalize-ops.mlir

// SCRIPTS:      00-input.py
// SCRIPTS-NEXT: 01-legalize-ops.py
// SCRIPTS:      convert-to-llvm.mlir
