// An example of each operation of the dialect that tirax adds to.

func.func @doubled(%x: memref<8xf32>) {
  %low = arith.constant 0 : index
  %high = arith.constant 8 : index
  %step = arith.constant 1 : index
  scf.parallel (%i) = (%low) to (%high) step (%step) {
    %v = memref.load %x[%i] : memref<8xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %x[%i] : memref<8xf32>
    scf.reduce
  }
  func.return
}
