// Pieces are compiled one by one; an error in one names the line in the file, and the others are compiled all the same.
// RUN: not tirax-opt %s --split-input-file 2>&1 | filecheck %s
// RUN: not tirax-opt %s 2>&1 | filecheck %s --check-prefix=WHOLE

// WHOLE: split.mlir:8:1: error:
// CHECK-NOT: func.func @fine
// CHECK: split.mlir:8:1: error: unknown operation 'func.fun'
func.fun @one() {}

// -----

func.func @fine() {
  func.return
}

// -----

// CHECK: split.mlir:19:1: error: unknown operation 'func.fanc'
func.fanc @three() {}
