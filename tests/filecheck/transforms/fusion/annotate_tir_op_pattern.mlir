// RUN: tirax-opt %s -p annotate-tir-op-pattern | filecheck %s

// CHECK: tir.func private @relu(
// CHECK-SAME: attributes {op_pattern = 0 : i64, tir.noalias = true}
tir.func private @relu(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>) attributes {tir.noalias = true} {
  tir.for %i = 0 to n {
    tir.block "B" (%v = spatial(%i, n)) {
      tir.reads %A[%v]
      tir.writes %B[%v]
      %x = tir.load %A[%v] : f32
      %z = tir.const 0.0 : f32
      %y = tir.max %x, %z : f32
      tir.store %y, %B[%v]
    }
  }
}

// CHECK: tir.func private @sum(
// CHECK-SAME: attributes {op_pattern = 3 : i64}
tir.func private @sum(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[], f32>) {
  tir.for %i = 0 to n {
    tir.block "B" (%v = reduce(%i, n)) {
      tir.reads %A[%v]
      tir.writes %B[]
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %B[]
      }
      %x = tir.load %A[%v] : f32
      %y = tir.load %B[] : f32
      %s = tir.add %y, %x : f32
      tir.store %s, %B[]
    }
  }
}

// An attribute that is there stays.
// CHECK: tir.func private @given(
// CHECK-SAME: attributes {op_pattern = 8 : i64}
tir.func private @given(%A: !tir.buffer<[4], f32>, %B: !tir.buffer<[4], f32>) attributes {op_pattern = 8 : i64} {
  tir.for %i = 0 to 4 {
    tir.block "B" (%v = spatial(%i, 4)) {
      tir.reads %A[%v]
      tir.writes %B[%v]
      %x = tir.load %A[%v] : f32
      tir.store %x, %B[%v]
    }
  }
}
