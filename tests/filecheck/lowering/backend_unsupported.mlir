// RUN: not tirax-opt %s -t llvm 2>&1 | filecheck %s
// RUN: not tirax-opt %s -p convert-to-llvm 2>&1 | filecheck %s --check-prefix=LOWER

// Everything that stands in the way is named at once.
// CHECK: cannot write 'func.func' as LLVM text
// CHECK: hint: run convert-to-llvm first

// LOWER: no lowering to llvm for 'memref.rank'
// LOWER: note: 'memref.rank' in @f
// LOWER-NOT: Traceback
func.func @f(%x: memref<4xf32>) {
  %r = "memref.rank"(%x) : (memref<4xf32>) -> index
  func.return
}
