// RUN: tirax-opt %s -p convert-host-to-func | filecheck %s

// The table of slots, and one entry point for each function; a kernel is called by a name that no C function has.
// CHECK:      builtin.module attributes {
// CHECK-SAME: host.functions = ["{\22name\22: \22main\22
// CHECK-SAME: host.slots = [{{.*}}"[\22explain\22, \22main\22]"
// CHECK-SAME: host.constants = []
// CHECK: tir.func private @kernel.relu(
// CHECK: llvm.mlir.global external @tirax_table
// CHECK: llvm.mlir.global external constant @tirax_abi
// CHECK:     func.func @entry_main(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[NARGS:.*]]: i64) -> !llvm.ptr
// The number of arguments, then the first one's class.
// CHECK:       arith.cmpi eq, %[[NARGS]],
// CHECK-NEXT:  cf.cond_br
// CHECK:       %[[A:.*]] = arith.cmpi eq,
// CHECK:       %[[B:.*]] = arith.cmpi eq,
// CHECK-NEXT:  arith.ori %[[A]], %[[B]] : i1
// The result is of the pool where it is large.
// CHECK:       %[[SIZE:.*]] = arith.muli
// CHECK-NEXT:  arith.cmpi slt, %[[SIZE]],
// CHECK-NEXT:  scf.if
// CHECK:       else
// CHECK-NEXT:    func.call @tirax_new_result(
// CHECK:       llvm.mlir.addressof @kernel.relu
// The result goes to the caller with the reference that its function had of it.
// CHECK-NOT:   func.call @Py_IncRef
// CHECK:       func.return
// CHECK:     func.func @entry_relu(
// CHECK:     func.func private @PyObject_Vectorcall(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
tir.func @relu(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>) attributes {tir.noalias = true} {
  tir.for %i = 0 for n {
    %0 = tir.load %A[%i] : f32
    tir.store %0, %B[%i]
  }
}
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %y = host.tensor : !relax.tensor<[n], f32>
  host.kernel @relu(%x, %y)
  relax.return %y : !relax.tensor<[n], f32>
}
