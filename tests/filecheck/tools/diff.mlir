// What each pass changed goes to stderr; nothing of a pass that changed nothing.
// RUN: tirax-opt %S/Inputs/mlp.mlir -p normalize,dead-code-elimination,legalize --print-ir-diff 2>&1 >%t.out | filecheck %s
// RUN: tirax-opt %S/Inputs/mlp.mlir -p normalize,dead-code-elimination --print-ir-diff --print-ir-as tvmscript 2>&1 >%t.out | filecheck %s --check-prefix=SCRIPT

// CHECK-NOT:  normalize
// CHECK:      2. dead-code-elimination
// CHECK-NEXT: @@ -{{.*}} @@
// CHECK-NOT:  {{^\+}}
// CHECK:      {{^-}} {{.*}}relax.exp
// CHECK:      3. legalize-ops
// CHECK:      {{^\+}} {{.*}}relax.call_tir @relu

// SCRIPT:     2. dead-code-elimination
// SCRIPT:     {{^-}} {{.*}}R.exp(
