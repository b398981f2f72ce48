// An example of each operation of the dialect: docs/reference/dialects/sym.md is written from this file.

tir.func @last(%X: !tir.buffer<[n], f32>, %Y: !tir.buffer<[1], f32>) {
  %last = sym.value n - 1 : i64
  %first = sym.value 0 : i64
  %value = tir.load %X[%last] : f32
  tir.store %value, %Y[%first]
}
