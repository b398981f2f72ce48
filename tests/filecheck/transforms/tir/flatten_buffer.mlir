// RUN: tirax-opt %s -p flatten-buffer | filecheck %s
// RUN: tirax-opt %s -p flatten-buffer,unroll-marked-loops | filecheck %s --check-prefix UNROLLED

// An index begins with what changes least often and ends with what will be numbers, so that copies share all else.

// CHECK-LABEL: tir.func @rows
// CHECK:         %[[I:.*]] = tir.mul %i, %{{.*}} : i64
// CHECK:         %[[J:.*]] = tir.mul %j, %{{.*}} : i64
// CHECK:         %[[IJ:.*]] = tir.add %[[I]], %[[J]] : i64
// CHECK:         %[[IJK:.*]] = tir.add %[[IJ]], %k : i64
// CHECK:         %[[R:.*]] = tir.mul %r, %{{.*}} : i64
// CHECK:         %[[AT:.*]] = tir.add %[[IJK]], %[[R]] : i64
// CHECK:         %{{.*}} = tir.load %A_{{[0-9]+}}[%[[AT]]]

// UNROLLED-LABEL: tir.func @rows
// UNROLLED:         tir.for %k
// UNROLLED:           %[[FROM:[0-9]+]] = tir.add %{{.*}}, %k : i64
// UNROLLED:           %[[TO:[0-9]+]] = tir.add %{{.*}}, %k : i64
// UNROLLED:           %x = tir.load %A_{{[0-9]+}}[%[[FROM]]]
// UNROLLED-NEXT:      tir.store %x, %Y_{{[0-9]+}}[%[[TO]]]
// UNROLLED:           %[[NEXT:[0-9]+]] = tir.add %[[FROM]], %{{.*}} : i64
// UNROLLED-NEXT:      %[[X:.*]] = tir.load %A_{{[0-9]+}}[%[[NEXT]]]
// UNROLLED-NEXT:      %[[NEXT:[0-9]+]] = tir.add %[[TO]], %{{.*}} : i64
// UNROLLED-NEXT:      tir.store %[[X]], %Y_{{[0-9]+}}[%[[NEXT]]]
// UNROLLED-NEXT:    }
tir.func @rows(%A: !tir.buffer<[4, 8, 2, 16], f32>, %Y: !tir.buffer<[4, 8, 2, 16], f32>) {
  tir.for %i = 0 to 4 {
    tir.for %j = 0 to 8 {
      tir.for %k = 0 to 16 {
        tir.for unrolled %r = 0 to 2 {
          %x = tir.load %A[%i, %j, %r, %k] : f32
          tir.store %x, %Y[%i, %j, %r, %k]
        }
      }
    }
  }
}

// Loop variables of several widths.

// CHECK-LABEL: tir.func @widths
// CHECK:         %[[R:[0-9]+]] = tir.cast %r : i32 -> i64
// CHECK:         tir.add %i, %[[R]] : i64
tir.func @widths(%Y: !tir.buffer<[8], f32>) {
  tir.for %i = 0 to 4 {
    tir.for unrolled %r = 0 : i32 to 4 : i32 {
      %0 = tir.cast %r : i32 -> i64
      %1 = tir.add %i, %0 : i64
      %2 = tir.const 1.0 : f32
      tir.store %2, %Y[%1]
    }
  }
}
