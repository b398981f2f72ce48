// A script is read, never run.
// RUN: rm -rf %t && mkdir -p %t && cd %t && not tirax-opt %S/Inputs/hostile.py > %t/out 2> %t/err
// RUN: filecheck %s < %t/err
// RUN: not ls %t/executed

// CHECK: hostile.py:{{[0-9]+}}:{{[0-9]+}}: error:
// CHECK-NOT: Traceback
