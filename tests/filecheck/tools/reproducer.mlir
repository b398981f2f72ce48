// configuration: -p 'normalize,dead_code_elimination' --dump-pass-pipeline
// A program that says how it is to be run; what the command line says comes after that.
// RUN: tirax-opt %s --run-reproducer 2>%t.err | filecheck %s
// RUN: filecheck %s --check-prefix=PASSES < %t.err
// RUN: tirax-opt %s --run-reproducer -p legalize 2>%t.err | filecheck %s --check-prefix=MORE
// RUN: rm -rf %t.dir
// RUN: mkdir %t.dir
// RUN: cp %s %t.dir/program.mlir
// RUN: tirax-opt %t.dir --run-reproducer 2>%t.err | filecheck %s
// RUN: not tirax-opt %S/Inputs/mlp.mlir --run-reproducer 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not tirax-opt %S/Inputs/writes.mlir --run-reproducer 2>&1 | filecheck %s --check-prefix=WRITES
// RUN: not tirax-opt --run-reproducer 2>&1 < %s | filecheck %s --check-prefix=STDIN

relax.func @main(%x: !relax.tensor<[n, 6], f32>) -> !relax.tensor<[n, 6], f32> {
  %gv = relax.dataflow {
    %lv = relax.exp %x : !relax.tensor<[n, 6], f32>
    %lv1 = relax.nn.relu %x : !relax.tensor<[n, 6], f32>
    relax.output %lv1 : !relax.tensor<[n, 6], f32>
  }
  relax.return %gv : !relax.tensor<[n, 6], f32>
}

// CHECK-NOT: relax.exp
// CHECK:     relax.nn.relu

// PASSES: passes: normalize,dead-code-elimination

// MORE-NOT: relax.exp
// MORE:     relax.call_tir @relu

// NONE: error: {{.*}}mlp.mlir' does not say how to run it
// NONE: expected: // configuration: -p

// WRITES: error: a reproducer names a file

// STDIN: error: --run-reproducer reads a file
