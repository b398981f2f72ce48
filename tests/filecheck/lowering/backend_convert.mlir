// RUN: tirax-opt %s -p convert-to-llvm | filecheck %s

// CHECK-LABEL: llvm.func @signature(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias}, %n: i64)
// CHECK:         llvm.return
func.func @signature(%x: memref<?xf32>, %y: memref<4x8xbf16> {llvm.align = 64 : i64}, %n: index) attributes {tirax.noalias} {
  func.return
}

// Indices are linear, with static strides, and constants fold into them.
// CHECK-LABEL: llvm.func @addressing
// CHECK:         %[[ROW:.*]] = llvm.mul %i, %{{.*}} overflow<nsw> : i64
// CHECK-NEXT:    %[[AT:.*]] = llvm.add %[[ROW]], %j overflow<nsw> : i64
// CHECK-NEXT:    %[[P:.*]] = llvm.getelementptr inbounds %{{x.*}}[%[[AT]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT:    "llvm.load"(%[[P]]) <{ordering = 0 : i64, alignment = 4 : i64}> : (!llvm.ptr) -> f32
// CHECK:         llvm.getelementptr inbounds %{{x.*}}[11] : (!llvm.ptr) -> !llvm.ptr, f32
func.func @addressing(%x: memref<?x8xf32>, %i: index, %j: index) -> f32 {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %v = memref.load %x[%i, %j] : memref<?x8xf32>
  memref.store %v, %x[%c1, %c3] : memref<?x8xf32>
  func.return %v : f32
}

// bf16 is computed in f32, extended and rounded to nearest even by integers.
// CHECK-LABEL: llvm.func @narrow
// CHECK-NOT:     llvm.fpext
// CHECK:         %[[BITS:.*]] = llvm.zext %{{.*}} : i16 to i32
// CHECK:         llvm.shl %[[BITS]],
// CHECK:         %[[A:.*]] = llvm.bitcast %{{.*}} : i32 to f32
// CHECK:         %[[B:.*]] = llvm.bitcast %{{.*}} : i32 to f32
// CHECK:         llvm.fadd %[[A]], %[[B]] {{.*}}: f32
// CHECK-NOT:     llvm.fptrunc
// CHECK:         llvm.bitcast %{{.*}} : i16 to bf16
func.func @narrow(%a: bf16, %b: bf16) -> bf16 {
  %0 = arith.addf %a, %b : bf16
  func.return %0 : bf16
}

// CHECK-LABEL: llvm.func @vectors
// CHECK:         llvm.call_intrinsic "llvm.masked.load"
// CHECK-SAME:    (!llvm.ptr, i32, vector<16xi1>, vector<16xf32>) -> vector<16xf32>
// CHECK:         llvm.call_intrinsic "llvm.fma"
// CHECK:         llvm.fcmp "olt"
// CHECK:         llvm.select
// CHECK:         llvm.call_intrinsic "llvm.vector.reduce.fadd"
// CHECK-SAME:    (f32, vector<16xf32>) -> f32
func.func @vectors(%x: memref<?xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : vector<16xf32>
  %mask = vector.create_mask %n : vector<16xi1>
  %v = vector.maskedload %x[%c0], %mask, %zeros : memref<?xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
  %w = vector.fma %v, %v, %v : vector<16xf32>
  %below = arith.cmpf olt, %w, %zeros : vector<16xf32>
  %clipped = arith.select %below, %zeros, %w : vector<16xi1>, vector<16xf32>
  %sum = vector.reduction <add>, %clipped : vector<16xf32> into f32
  func.return %sum : f32
}

// CHECK-LABEL: llvm.func internal @pair
// CHECK-SAME:    -> !llvm.struct<(i64, f32)>
func.func private @pair(%a: i64, %b: f32) -> (i64, f32) {
  func.return %a, %b : i64, f32
}

// What the rules call is declared once.
// CHECK-LABEL: llvm.func @libm
// CHECK:         llvm.call @erff
func.func @libm(%a: f32) -> f32 {
  %0 = math.erf %a : f32
  func.return %0 : f32
}
// CHECK:       llvm.func @erff(f32) -> f32
