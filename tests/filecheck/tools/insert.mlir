// Passes between those of a pipeline, and where to stop; what runs is told as -p takes it.
// RUN: tirax-opt %S/Inputs/mlp.mlir -p normalize,legalize,annotate,normalize --insert after=normalize:dead-code-elimination --insert 'before=normalize:fuse-ops{fuse_opt_level=0},expand-tuple-arguments' --dump-pass-pipeline 2>&1 >%t.out | filecheck %s --check-prefix=INSERTED
// RUN: tirax-opt %S/Inputs/mlp.mlir --pipeline optimize --stop-after legalize --dump-pass-pipeline 2>%t.err | filecheck %s
// RUN: filecheck %s --check-prefix=STOPPED < %t.err
// RUN: not tirax-opt %S/Inputs/mlp.mlir -p normalize --insert after=legalize:cse 2>&1 | filecheck %s --check-prefix=ABSENT
// RUN: not tirax-opt %S/Inputs/mlp.mlir -p normalize --insert cse 2>&1 | filecheck %s --check-prefix=FORM
// RUN: not tirax-opt %S/Inputs/mlp.mlir -p normalize --insert after=normalize:cze 2>&1 | filecheck %s --check-prefix=MISSPELT
// RUN: not tirax-opt %S/Inputs/mlp.mlir -p normalize --stop-after legalize 2>&1 | filecheck %s --check-prefix=ABSENT

// INSERTED:      passes: fuse-ops{fuse_opt_level=0{{.*}}},expand-tuple-arguments,normalize,legalize-ops{{.*}},annotate-tir-op-pattern,normalize,dead-code-elimination{{.*$}}

// CHECK:     relax.call_tir @relu
// CHECK-NOT: op_pattern

// STOPPED: passes: normalize,{{.*}},legalize-ops{{[^,]*$}}

// ABSENT: error: pass 'legalize-ops' is not among those that run
// ABSENT: expected: normalize

// FORM: error: --insert is not understood
// FORM: expected: after=PASS:PASSES or before=PASS:PASSES
// FORM: found: cse

// MISSPELT: error: unknown pass 'cze'
