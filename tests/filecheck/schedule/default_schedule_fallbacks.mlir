// RUN: tirax-opt %s -p 'default-schedule{target="llvm -mcpu=x86-64-v4 -vector-width=512"}' | filecheck %s

// A running sum along contiguous memory: each vector becomes its prefix sums in four steps, the rest with a mask.
// CHECK-LABEL: tir.func @scan
// CHECK:         tir.for %k_tile = 0 to 2 {
// CHECK:           tir.for vectorized %{{.*}} = 0 to 16 {
// CHECK:             tir.load %X
// CHECK:           tir.shuffle [{{.*}}] [16, 0, 18, 2, 20, 4, 22, 6, 24, 8, 26, 10, 28, 12, 30, 14] : f32
// CHECK:           tir.shuffle [{{.*}}] [16, 17, 1, 1, 20, 21, 5, 5, 24, 25, 9, 9, 28, 29, 13, 13] : f32
// CHECK:           tir.shuffle [{{.*}}] [16, 17, 18, 19, 3, 3, 3, 3, 24, 25, 26, 27, 11, 11, 11, 11] : f32
// CHECK:           tir.shuffle [{{.*}}] [16, 17, 18, 19, 20, 21, 22, 23, 7, 7, 7, 7, 7, 7, 7, 7] : f32
// CHECK:           tir.shuffle [{{.*}}] [15] : f32
// CHECK:             tir.store %{{.*}}, %Y
// CHECK:         tir.if
tir.func @scan(%X: !tir.buffer<[40], f32>, %Y: !tir.buffer<[40], f32>) attributes {tir.noalias = true} {
  tir.block "scan" () {
    %total = tir.alloc_buffer : !tir.buffer<[1], f32>
    %zero = tir.const 0.0 : f32
    %first = tir.const 0 : i64
    tir.store %zero, %total[%first]
    tir.for %k = 0 to 40 {
      %old = tir.load %total[%first] : f32
      %x = tir.load %X[%k] : f32
      %new = tir.add %old, %x : f32
      tir.store %new, %total[%first]
      %sum = tir.load %total[%first] : f32
      tir.store %sum, %Y[%k]
    }
  }
}

// The remainder of a division of the iterator is one of a loop of its own.
// CHECK-LABEL: tir.func @tile
// CHECK:         tir.for %vj_tile = 0 to 3 {
// CHECK:           tir.for vectorized %[[R:.*]] = 0 to 20 {
// CHECK-NOT:         tir.floormod
// CHECK:             tir.load %X[%[[R]]] : f32
tir.func @tile(%X: !tir.buffer<[20], f32>, %Y: !tir.buffer<[60], f32>) {
  tir.for %j = 0 to 60 {
    tir.block "Y" (%vj = spatial(%j, 60)) {
      %n = tir.const 20 : i64
      %r = tir.floormod %vj, %n : i64
      %x = tir.load %X[%r] : f32
      tir.store %x, %Y[%vj]
    }
  }
}

// One that does not divide the extent makes no loop.
// CHECK-LABEL: tir.func @uneven
// CHECK:         tir.for vectorized %{{.*}} = 0 to 61 {
// CHECK:           tir.floormod
tir.func @uneven(%X: !tir.buffer<[20], f32>, %Y: !tir.buffer<[61], f32>) {
  tir.for %j = 0 to 61 {
    tir.block "Y" (%vj = spatial(%j, 61)) {
      %n = tir.const 20 : i64
      %r = tir.floormod %vj, %n : i64
      %x = tir.load %X[%r] : f32
      tir.store %x, %Y[%vj]
    }
  }
}

// Two elements side by side: two vectors, interleaved.
// CHECK-LABEL: tir.func @pairs
// CHECK:         tir.for %j_tile = 0 to 2 {
// CHECK:           tir.for vectorized
// CHECK:             tir.load %X
// CHECK:           tir.for vectorized
// CHECK:             tir.load %X
// CHECK:           tir.shuffle [{{.*}}] [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23] : f32
// CHECK:           tir.shuffle [{{.*}}] [8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31] : f32
tir.func @pairs(%X: !tir.buffer<[2, 32], f32>, %Y: !tir.buffer<[32, 2], f32>) {
  tir.for %i = 0 to 32 { tir.for %c = 0 to 2 {
    tir.block "Y" (%vi = spatial(%i, 32), %vc = spatial(%c, 2)) {
      %x = tir.load %X[%vc, %vi] : f32
      tir.store %x, %Y[%vi, %vc]
    }
  } }
}

// Rows that are added at computed places are vectors; elements at places of their own are not.
// CHECK-LABEL: tir.func @rows
// CHECK:         tir.for %i = 0 to 9 {
// CHECK-NEXT:      tir.for vectorized %j = 0 to 50 {
tir.func @rows(%P: !tir.buffer<[9], i64>, %X: !tir.buffer<[9, 50], f32>, %Y: !tir.buffer<[5, 50], f32>) attributes {tir.noalias = true} {
  tir.block "rows" () {
    tir.for %i = 0 to 9 { tir.for %j = 0 to 50 {
      %p = tir.load %P[%i] : i64
      %y = tir.load %Y[%p, %j] : f32
      %x = tir.load %X[%i, %j] : f32
      %s = tir.add %y, %x : f32
      tir.store %s, %Y[%p, %j]
    } }
  }
}

// CHECK-LABEL: tir.func @elements
// CHECK-NOT:     vectorized
tir.func @elements(%P: !tir.buffer<[9, 50], i64>, %X: !tir.buffer<[9, 50], f32>, %Y: !tir.buffer<[5, 50], f32>) attributes {tir.noalias = true} {
  tir.block "elements" () {
    tir.for %i = 0 to 9 { tir.for %j = 0 to 50 {
      %p = tir.load %P[%i, %j] : i64
      %y = tir.load %Y[%p, %j] : f32
      %x = tir.load %X[%i, %j] : f32
      %s = tir.add %y, %x : f32
      tir.store %s, %Y[%p, %j]
    } }
  }
}
