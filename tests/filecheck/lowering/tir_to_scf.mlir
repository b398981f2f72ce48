// RUN: tirax-opt %s -p 'vectorize-for-target{target="llvm -mcpu=x86-64-v4 -vector-width=512"},convert-tir-to-scf' | filecheck %s
// RUN: tirax-opt %s -p 'vectorize-for-target{target="llvm -mcpu=x86-64-v4 -vector-width=512"},convert-tir-to-scf,outline-parallel' | filecheck %s --check-prefix OUTLINED

// Buffers are pointers, then scalars where they stand, then the symbolic variables; a vector of 16 lanes and a masked rest.
// CHECK-LABEL: func.func @double(%A: memref<?xf32>, %x: f32, %Y: memref<?xf32>, %n: i64) -> i32 attributes {tirax.noalias} {
// CHECK:         %[[N:.*]] = arith.index_cast %n : i64 to index
// CHECK:         %[[VECTORS:.*]] = arith.divui %[[N]], %{{.*}} : index
// CHECK:         scf.for %i = %{{.*}} to %[[VECTORS]] step %{{.*}} {
// CHECK-NEXT:      %[[AT:.*]] = arith.muli %i, %{{.*}} : index
// CHECK-NEXT:      %[[A:.*]] = vector.load %A[%[[AT]]] : memref<?xf32>, vector<16xf32>
// CHECK-NEXT:      %[[X:.*]] = vector.broadcast %x : f32 to vector<16xf32>
// CHECK-NEXT:      %[[Y:.*]] = arith.mulf %[[A]], %[[X]] fastmath<contract> : vector<16xf32>
// CHECK-NEXT:      vector.store %[[Y]], %Y[%[[AT]]] : memref<?xf32>, vector<16xf32>
// CHECK:         %[[REST:.*]] = arith.remui %[[N]], %{{.*}} : index
// CHECK:         scf.if %{{.*}} {
// CHECK:           %[[MASK:.*]] = vector.create_mask %[[REST]] : vector<16xi1>
// CHECK:           vector.maskedload %A[%{{.*}}], %[[MASK]]
// CHECK:           vector.maskedstore %Y[%{{.*}}], %[[MASK]]
tir.func @double(%A: !tir.buffer<[n], f32>, %x: f32, %Y: !tir.buffer<[n], f32>) attributes {tir.noalias = true} {
  tir.for vectorized %i = 0 to n {
    %a = tir.load %A[%i] : f32
    %y = tir.mul %a, %x : f32
    tir.store %y, %Y[%i]
  }
}

// Signed and unsigned, floor and trunc.
// CHECK-LABEL: func.func @divisions(%A: memref<?xi32>, %B: memref<?xi32>)
// CHECK-DAG:     arith.floordivsi
// CHECK-DAG:     arith.divsi
// CHECK-DAG:     arith.remsi
// CHECK-DAG:     arith.divui
tir.func @divisions(%A: !tir.buffer<[4], i32>, %B: !tir.buffer<[4], ui32>) {
  %z = tir.const 0 : i64
  %a = tir.load %A[%z] : i32
  %f = tir.floordiv %a, %a : i32
  tir.store %f, %A[%z]
  %t = tir.div %f, %a : i32
  tir.store %t, %A[%z]
  %m = tir.truncmod %f, %a : i32
  tir.store %m, %A[%z]
  %b = tir.load %B[%z] : ui32
  %u = tir.floordiv %b, %b : ui32
  tir.store %u, %B[%z]
}

// A lazy branch of an expression.
// CHECK-LABEL: func.func @lazy
// CHECK:         %[[V:.*]] = scf.if %{{.*}} -> (f32) {
// CHECK:           memref.load %A
// CHECK:           scf.yield
// CHECK-NEXT:    } else {
tir.func @lazy(%A: !tir.buffer<[4], f32>, %i: i64) {
  %z = tir.const 0 : i64
  %in = tir.le %z, %i : i64
  %v = tir.if_then_else %in {
    %a = tir.load %A[%i] : f32
    tir.yield %a : f32
  } else {
    %o = tir.const 1.0 : f32
    tir.yield %o : f32
  }
  tir.store %v, %A[%z]
}

// CHECK-LABEL: func.func @fill
// CHECK:         scf.parallel
// OUTLINED-LABEL: func.func private @fill_parallel_0_body(%Y: memref<?xf32>,
// OUTLINED-SAME:    no_inline
// OUTLINED:         scf.for %i =
// OUTLINED-LABEL: func.func private @fill_parallel_0(%{{.*}}: memref<?xi64>, %{{.*}}: i64, %{{.*}}: i64) {
// OUTLINED:         llvm.inttoptr
// OUTLINED:         func.call @fill_parallel_0_body
// OUTLINED-LABEL: func.func @fill(%Y: memref<?xf32>, %n: i64)
// OUTLINED:         %[[F:.*]] = func.constant @fill_parallel_0 : (memref<?xi64>, i64, i64) -> ()
// OUTLINED:         func.call @tirax_parallel_for(%[[F]], %{{.*}}) : ((memref<?xi64>, i64, i64) -> (), memref<?xi64>, i64, i64, i64, i64) -> ()
tir.func @fill(%Y: !tir.buffer<[n], f32>) {
  tir.for parallel %i = 0 to n {
    %o = tir.const 1.0 : f32
    tir.store %o, %Y[%i]
  }
}

// What is constant in an index is added last: neighbours share all the rest.
// CHECK-LABEL: func.func @neighbours
// CHECK-DAG:     %[[OFFSET:.*]] = arith.constant 24 : index
// CHECK:         scf.for %i =
// CHECK-NEXT:      scf.for %j =
// CHECK-NEXT:        %[[ROW:.*]] = arith.muli %i, %{{.*}} overflow<nsw> : index
// CHECK-NEXT:        %[[AT:.*]] = arith.addi %[[ROW]], %j overflow<nsw> : index
// CHECK-NEXT:        %[[A:.*]] = memref.load %A[%[[AT]]]
// CHECK-NEXT:        %[[NEXT:.*]] = arith.addi %[[AT]], %[[OFFSET]] overflow<nsw> : index
// CHECK-NEXT:        memref.store %[[A]], %A[%[[NEXT]]]
tir.func @neighbours(%A: !tir.buffer<[256], f32>) {
  tir.for %i = 0 to 4 {
    tir.for %j = 0 to 8 {
      %three = tir.const 3 : i64
      %eight = tir.const 8 : i64
      %row = tir.mul %i, %eight : i64
      %at = tir.add %row, %j : i64
      %a = tir.load %A[%at] : f32
      %k = tir.add %i, %three : i64
      %other = tir.mul %eight, %k : i64
      %next = tir.add %other, %j : i64
      tir.store %a, %A[%next]
    }
  }
}

// Of what only its address is asked for nothing is read, wherever it lies.
// CHECK-LABEL: func.func @ahead
// CHECK-NOT:     memref.load
// CHECK:         %[[FROM:.*]] = builtin.unrealized_conversion_cast %A : memref<?xf32> to !llvm.ptr
// CHECK:         %[[PLACE:.*]] = llvm.getelementptr %[[FROM]][%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, i32
// CHECK-NEXT:    llvm.call_intrinsic "llvm.prefetch"(%[[PLACE]],
tir.func @ahead(%A: !tir.buffer<[256], f32>, %i: i64) {
  %a = tir.load %A[%i] : f32
  %p = tir.call_intrin "address_of"(%a) : !tir.handle<f32>
  %read = tir.const 0 : i32
  %p3 = tir.const 3 : i32
  %p1 = tir.const 1 : i32
  tir.call_llvm_effect "llvm.prefetch"(%p, %read, %p3, %p1) : none
}
