// RUN: tirax-opt %s | filecheck %s
// RUN: tirax-opt %s --print-op-generic | tirax-opt | filecheck %s

// CHECK-LABEL: func.func @casts
// CHECK-NEXT:    %0 = arith.extsi %a : vector<4xi8> to vector<4xi32>
// CHECK-NEXT:    %1 = arith.sitofp %0 : vector<4xi32> to vector<4xf32>
// CHECK-NEXT:    %2 = arith.fptosi %1 : vector<4xf32> to vector<4xi64>
// CHECK-NEXT:    %3 = arith.index_cast %2 : vector<4xi64> to vector<4xindex>
// CHECK-NEXT:    %4 = arith.cmpi slt, %3, %3 : vector<4xindex>
// CHECK-NEXT:    %5 = arith.cmpf oge, %1, %1 : vector<4xf32>
// CHECK-NEXT:    %6 = arith.select %5, %1, %1 : vector<4xi1>, vector<4xf32>
func.func @casts(%a: vector<4xi8>) {
  %0 = arith.extsi %a : vector<4xi8> to vector<4xi32>
  %1 = arith.sitofp %0 : vector<4xi32> to vector<4xf32>
  %2 = arith.fptosi %1 : vector<4xf32> to vector<4xi64>
  %3 = arith.index_cast %2 : vector<4xi64> to vector<4xindex>
  %4 = arith.cmpi slt, %3, %3 : vector<4xindex>
  %5 = arith.cmpf oge, %1, %1 : vector<4xf32>
  %6 = arith.select %5, %1, %1 : vector<4xi1>, vector<4xf32>
  func.return
}
