// RUN: tirax-opt %s -p lower-scf | filecheck %s

// Loops are tested at the bottom, behind a guard; the annotation goes to the branch that closes the loop.
// CHECK-LABEL: func.func @guarded
// CHECK:         %[[ANY:.*]] = arith.cmpi slt, %c0, %n : index
// CHECK-NEXT:    cf.cond_br %[[ANY]], ^[[BODY:.*]](%c0, %zero : index, f32), ^[[END:.*]](%zero : f32)
// CHECK:       ^[[BODY]](%i: index, %acc: f32):
// CHECK:         %[[NEXT:.*]] = arith.addi %i, %c1 overflow<nsw> : index
// CHECK-NEXT:    %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %n : index
// CHECK-NEXT:    cf.cond_br %[[MORE]], ^[[BODY]](%[[NEXT]], %{{.*}} : index, f32), ^[[END]](%{{.*}} : f32) {loop_annotation = #llvm.loop_annotation<unroll = <count = 4 : i32>>}
// CHECK:       ^[[END]](%sum: f32):
// CHECK-NEXT:    func.return %sum : f32
func.func @guarded(%x: memref<?xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) {
    %v = memref.load %x[%i] : memref<?xf32>
    %s = arith.addf %acc, %v : f32
    scf.yield %s : f32
  } {loop_annotation = #llvm.loop_annotation<unroll = <count = 4 : i32>>}
  func.return %sum : f32
}

// Constant bounds that let the body run need no guard.
// CHECK-LABEL: func.func @constant_bounds
// CHECK-NOT:     cf.cond_br
// CHECK:         cf.br ^[[BODY:.*]](%c0 : index)
// CHECK:       ^[[BODY]](%i: index):
// CHECK:         cf.cond_br
func.func @constant_bounds(%x: memref<8xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %v, %x[%i] : memref<8xf32>
  }
  func.return
}

// What such a loop gives is what its last iteration yields: nothing is passed on to the block behind it.
// CHECK-LABEL: func.func @known_sum
// CHECK:         cf.br ^[[BODY:.*]](%c0, %zero, %zero : index, f32, f32)
// CHECK:       ^[[BODY]](%i: index, %acc: f32, %before: f32):
// CHECK:         %s = arith.addf %acc, %v : f32
// CHECK:         cf.cond_br %{{.*}}, ^[[BODY]](%{{.*}}, %s, %acc : index, f32, f32), ^[[END:[^(]*]]{{$}}
// CHECK:       ^[[END]]:
// CHECK-NEXT:    func.return %s, %acc : f32, f32
func.func @known_sum(%x: memref<8xf32>) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %sum, %last = scf.for %i = %c0 to %c8 step %c1 iter_args(%acc = %zero, %before = %zero) -> (f32, f32) {
    %v = memref.load %x[%i] : memref<8xf32>
    %s = arith.addf %acc, %v : f32
    scf.yield %s, %acc : f32, f32
  }
  func.return %sum, %last : f32, f32
}

// CHECK-LABEL: func.func @conditional
// CHECK:         cf.cond_br %c, ^[[THEN:.*]], ^[[ELSE:.*]]
// CHECK:       ^[[THEN]]:
// CHECK:         cf.br ^[[END:.*]](%a : i64)
// CHECK:       ^[[ELSE]]:
// CHECK:         cf.br ^[[END]](%b : i64)
// CHECK:       ^[[END]](%r: i64):
func.func @conditional(%c: i1, %a: i64, %b: i64) -> i64 {
  %r = scf.if %c -> (i64) {
    scf.yield %a : i64
  } else {
    scf.yield %b : i64
  }
  func.return %r : i64
}

// CHECK-LABEL: func.func @while
// CHECK:         cf.br ^[[BEFORE:.*]](%n : i64)
// CHECK:       ^[[BEFORE]](%i: i64):
// CHECK:         cf.cond_br %{{.*}}, ^[[AFTER:.*]](%i : i64), ^[[END:.*]](%i : i64)
// CHECK:       ^[[AFTER]](%{{.*}}: i64):
// CHECK:         cf.br ^[[BEFORE]](%{{.*}} : i64)
// CHECK:       ^[[END]](%last: i64):
func.func @while(%n: i64) -> i64 {
  %c2 = arith.constant 2 : i64
  %last = scf.while (%i = %n) : (i64) -> i64 {
    %go = arith.cmpi sgt, %i, %c2 : i64
    scf.condition(%go) %i : i64
  } do {
  ^bb0(%i: i64):
    %half = arith.divsi %i, %c2 : i64
    scf.yield %half : i64
  }
  func.return %last : i64
}
