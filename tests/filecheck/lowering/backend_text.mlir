// RUN: tirax-opt %s -p convert-to-llvm -t llvm | filecheck %s
// RUN: tirax-opt %s -p convert-to-llvm -t asm | filecheck %s --check-prefix=ASM

// CHECK-LABEL: define void @axpy(float %a, ptr noalias %x, ptr noalias %y, i64 %n) nounwind {
// CHECK-NEXT:  bb0:
// CHECK-NEXT:    %[[ANY:.*]] = icmp slt i64 0, %n
// CHECK-NEXT:    br i1 %[[ANY]], label %[[BODY:.*]], label %[[END:.*]]
// CHECK-NEXT:  [[BODY]]:
// CHECK-NEXT:    %i = phi i64 [ 0, %bb0 ], [ %[[NEXT:.*]], %[[BODY]] ]
// CHECK:         fmul contract float %a
// CHECK:         br i1 %{{.*}}, label %[[BODY]], label %[[END]], !llvm.loop ![[LOOP:.*]]
// CHECK-NEXT:  [[END]]:
// CHECK-NEXT:    ret void
// CHECK-NEXT:  }
// CHECK:       ![[WIDTH:.*]] = !{!"llvm.loop.vectorize.width", i32 16}
// CHECK-NEXT:  ![[LOOP]] = distinct !{![[LOOP]], ![[WIDTH]]}

// ASM: axpy:
// ASM: ret
func.func @axpy(%a: f32, %x: memref<?xf32>, %y: memref<?xf32>, %n: index) attributes {tirax.noalias} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %0 = memref.load %x[%i] : memref<?xf32>
    %1 = memref.load %y[%i] : memref<?xf32>
    %2 = arith.mulf %a, %0 fastmath<contract> : f32
    %3 = arith.addf %2, %1 fastmath<contract> : f32
    memref.store %3, %y[%i] : memref<?xf32>
  } {loop_annotation = #llvm.loop_annotation<vectorize = <width = 16 : i32>>}
  func.return
}
