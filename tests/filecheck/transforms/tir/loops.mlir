// RUN: tirax-opt %s -p unroll-loop | filecheck %s --check-prefix UNROLL
// RUN: tirax-opt %s -p mark-unrolled-loops | filecheck %s --check-prefix MARK
// RUN: tirax-opt %s -p vectorize-loop | filecheck %s --check-prefix VECTOR
// RUN: tirax-opt %s -p hoist-if-then-else | filecheck %s --check-prefix HOIST

// UNROLL-LABEL: tir.func @pragma
// UNROLL-NOT:     tir.attr
// UNROLL:         tir.for %i = 0 to 8 {
// UNROLL-NOT:       tir.for
// UNROLL-COUNT-4:   tir.store

// MARK-LABEL: tir.func @pragma
// MARK-NOT:     tir.attr
// MARK:         tir.for %i = 0 to 8 {
// MARK-NEXT:      tir.for unrolled %j = 0 to 4 {
tir.func @pragma(%A: !tir.buffer<[32], f32>, %Y: !tir.buffer<[32], f32>) {
  %four = tir.const 4 : i64
  %limit = tir.const 16 : i32
  tir.attr "pragma_auto_unroll_max_step" %limit {
    tir.for %i = 0 to 8 {
      tir.for %j = 0 to 4 {
        %row = tir.mul %i, %four : i64
        %at = tir.add %row, %j : i64
        %x = tir.load %A[%at] : f32
        tir.store %x, %Y[%at]
      }
    }
  }
}

// VECTOR-LABEL: tir.func @lanes
// VECTOR-NOT:     tir.for
// VECTOR:         %[[AT:.*]] = tir.ramp
// VECTOR:         %[[X:.*]] = tir.load %A[%[[AT]]] : vector<8xf32>
// VECTOR:         %[[TWO:.*]] = tir.broadcast %two : f32 -> vector<8xf32>
// VECTOR:         %[[Y:.*]] = tir.mul %[[X]], %[[TWO]] : vector<8xf32>
// VECTOR:         tir.store %[[Y]], %Y[
tir.func @lanes(%A: !tir.buffer<[32], f32>, %Y: !tir.buffer<[32], f32>) {
  %two = tir.const 2.0 : f32
  tir.for vectorized %i = 0 to 8 {
    %x = tir.load %A[%i] : f32
    %y = tir.mul %x, %two : f32
    tir.store %y, %Y[%i]
  }
}

// all lanes write one place: no vectors

// VECTOR-LABEL: tir.func @one_place
// VECTOR:         tir.for %i_s = 0 to 8 {
tir.func @one_place(%A: !tir.buffer<[32], f32>, %Y: !tir.buffer<[32], f32>) {
  %zero = tir.const 0 : i64
  tir.for vectorized %i = 0 to 8 {
    %x = tir.load %A[%i] : f32
    tir.store %x, %Y[%zero]
  }
}

// HOIST-LABEL: tir.func @branch
// HOIST:         tir.if %c {
// HOIST-NEXT:      tir.for %j = 0 to 8 {
tir.func @branch(%n: i64, %Y: !tir.buffer<[8], f32>) {
  %x = tir.const 1.0 : f32
  %four = tir.const 4 : i64
  tir.for %j = 0 to 8 {
    %c = tir.lt %n, %four : i64
    tir.if %c {
      tir.store %x, %Y[%j]
    }
  }
}

// HOIST-LABEL: tir.func @varying
// HOIST:         tir.for %j = 0 to 8 {
// HOIST:           tir.if
tir.func @varying(%Y: !tir.buffer<[8], f32>) {
  %x = tir.const 1.0 : f32
  %four = tir.const 4 : i64
  tir.for %j = 0 to 8 {
    %c = tir.lt %j, %four : i64
    tir.if %c {
      tir.store %x, %Y[%j]
    }
  }
}
