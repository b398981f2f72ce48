// RUN: tirax-opt %s -p isolate-kernels | filecheck %s

// Kernels and what calls them are renamed; C functions keep their names, and so does what entry points call.
// CHECK:      func.func private @kernel.free(%{{.*}}: memref<?xf32>) {
// CHECK-NEXT:   func.call @kernel.part
// CHECK-NEXT:   func.call @memory
// CHECK:      func.func private @kernel.part(
// CHECK:      func.func private @memory(memref<?xf32>) -> ()
// CHECK:      func.func @entry_main(
// CHECK-NEXT:   func.call @Py_DecRef(
func.func @free(%a: memref<?xf32>) {
  func.call @part(%a) : (memref<?xf32>) -> ()
  func.call @memory(%a) : (memref<?xf32>) -> ()
  func.return
}
func.func @part(%a: memref<?xf32>) {
  func.return
}
func.func private @memory(memref<?xf32>) -> ()
func.func private @Py_DecRef(!llvm.ptr) -> ()
func.func @entry_main(%p: !llvm.ptr) {
  func.call @Py_DecRef(%p) : (!llvm.ptr) -> ()
  func.return
}
