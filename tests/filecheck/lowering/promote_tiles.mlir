// RUN: tirax-opt %s -p promote-tiles | filecheck %s

// An accumulator is carried by the loop.
// CHECK-LABEL: func.func @sum
// CHECK-NOT:     memref.alloca
// CHECK:         %[[R:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<16xf32>) {
// CHECK:           %[[NEW:.*]] = arith.addf %[[ACC]],
// CHECK-NEXT:      scf.yield %[[NEW]] : vector<16xf32>
// CHECK:         vector.store %[[R]], %y
func.func @sum(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %acc = memref.alloca() : memref<16xf32>
  vector.store %zero, %acc[%c0] : memref<16xf32>, vector<16xf32>
  scf.for %i = %c0 to %n step %c16 {
    %old = vector.load %acc[%c0] : memref<16xf32>, vector<16xf32>
    %v = vector.load %x[%i] : memref<?xf32>, vector<16xf32>
    %new = arith.addf %old, %v : vector<16xf32>
    vector.store %new, %acc[%c0] : memref<16xf32>, vector<16xf32>
  }
  %r = vector.load %acc[%c0] : memref<16xf32>, vector<16xf32>
  vector.store %r, %y[%c0] : memref<?xf32>, vector<16xf32>
  func.return
}

// A place that is computed: the buffer stays.
// CHECK-LABEL: func.func @computed
// CHECK:         memref.alloca
// CHECK:         vector.store
func.func @computed(%y: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %acc = memref.alloca() : memref<64xf32>
  vector.store %zero, %acc[%n] : memref<64xf32>, vector<16xf32>
  %r = vector.load %acc[%c0] : memref<64xf32>, vector<16xf32>
  vector.store %r, %y[%c0] : memref<?xf32>, vector<16xf32>
  func.return
}
