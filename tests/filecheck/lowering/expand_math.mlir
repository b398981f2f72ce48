// RUN: tirax-opt %s -p 'expand-math{target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3"}' | filecheck %s
// RUN: tirax-opt %s -p 'expand-math{target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64"}' | filecheck %s --check-prefix=NO-FMA
// RUN: tirax-opt %s -p 'expand-math{target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4"}' | filecheck %s --check-prefix=AVX512
// RUN: tirax-opt %s -p 'expand-math{target="llvm -math=libm"}' | filecheck %s --check-prefix=LIBM
// RUN: not tirax-opt %s -p 'expand-math{target="llvm -math=fast"}' 2>&1 | filecheck %s --check-prefix=ERROR

// x log2(e) + 1.5 * 2^23 has n in its lowest bits; r = x - n ln 2 in two steps; a polynomial; 2^n in two factors.
// CHECK-LABEL: func.func @exp(%x: vector<8xf32>)
// CHECK:         %[[LOW:.*]] = arith.constant dense<-1.060000e+02> : vector<8xf32>
// CHECK:         %[[BELOW:.*]] = arith.cmpf olt, %x, %[[LOW]]
// CHECK:         arith.select %[[BELOW]], %[[LOW]], %x
// CHECK:         %[[SHIFTED:.*]] = math.fma
// CHECK-NEXT:    %[[N:.*]] = arith.subf %[[SHIFTED]]
// CHECK-NEXT:    %[[R1:.*]] = math.fma %[[N]]
// CHECK-NEXT:    %[[R:.*]] = math.fma %[[N]], %{{.*}}, %[[R1]]
// CHECK-NEXT:    %[[BITS:.*]] = arith.bitcast %[[SHIFTED]] : vector<8xf32> to vector<8xi32>
// CHECK-COUNT-6: math.fma %[[R]]
// CHECK:         arith.constant dense<-1.500000e+02>
// CHECK:         arith.cmpf olt, %[[N]]
// CHECK:         arith.shli %[[BITS]]
// CHECK-COUNT-2: arith.mulf
// CHECK-NEXT:    func.return
// CHECK-NOT:     math.exp

// NO-FMA-LABEL:  func.func @exp
// NO-FMA-NOT:    math.{{fma|exp}}
// NO-FMA:        func.return

// AVX512-LABEL:  func.func @exp_512
// AVX512:        llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// AVX512-NEXT:   func.return

// LIBM-LABEL:    func.func @exp(%x
// LIBM-NEXT:    %y = math.exp %x : vector<8xf32>
// LIBM:          math.sin
// LIBM:          math.cbrt

// ERROR: option -math in target
// ERROR: expected: polynomial or libm
func.func @exp(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.exp %x : vector<8xf32>
  func.return %y : vector<8xf32>
}

func.func @exp_512(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.exp %x : vector<16xf32>
  func.return %y : vector<16xf32>
}

// The C library is asked for large angles only, and only where there is one.
// CHECK-LABEL: func.func @sin(%x: f64)
// CHECK:         %[[BEYOND:.*]] = arith.cmpf ugt,
// CHECK:         scf.if %[[BEYOND]] -> (f64) {
// CHECK-NEXT:      %[[LIBRARY:.*]] = math.sin %x : f64
// CHECK-NEXT:      %[[EITHER:.*]] = arith.select %[[BEYOND]], %[[LIBRARY]], %[[USUAL:.*]] : f64
// CHECK-NEXT:      scf.yield %[[EITHER]] : f64
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %[[USUAL]] : f64
func.func @sin(%x: f64) -> f64 {
  %y = math.sin %x : f64
  func.return %y : f64
}

// f16 is computed in f32.
// CHECK-LABEL: func.func @narrow(%x: f16)
// CHECK:         arith.extf %x : f16 to f32
// CHECK:         arith.truncf %{{.*}} : f32 to f16
// CHECK-NEXT:    func.return
func.func @narrow(%x: f16) -> f16 {
  %y = math.exp2 %x : f16
  func.return %y : f16
}

// 1 + tanh(x) is 2 / (1 + exp(-2 x)), which keeps its digits where it is small.
// CHECK-LABEL: func.func @one_plus_tanh
// CHECK:         arith.constant -2.000000e+00 : f32
// CHECK-NOT:     math.copysign
// CHECK:         arith.divf
// CHECK-NEXT:    func.return
func.func @one_plus_tanh(%x: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %t = math.tanh %x : f32
  %y = arith.addf %one, %t : f32
  func.return %y : f32
}

// What has no formula, or is one instruction, stays.
// CHECK-LABEL: func.func @others(%x: f32)
// CHECK-NEXT:    math.cbrt %x
// CHECK-NEXT:    math.sqrt %x
// CHECK-NEXT:    math.floor %x
func.func @others(%x: f32) -> (f32, f32, f32) {
  %a = math.cbrt %x : f32
  %b = math.sqrt %x : f32
  %c = math.floor %x : f32
  func.return %a, %b, %c : f32, f32, f32
}
