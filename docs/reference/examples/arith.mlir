// An example of each operation of the dialect.

func.func @casts(%a: vector<4xi8>, %f: vector<4xf32>) {
  %wide = arith.extsi %a : vector<4xi8> to vector<4xi32>
  %unsigned = arith.extui %a : vector<4xi8> to vector<4xi32>
  %narrow = arith.trunci %wide : vector<4xi32> to vector<4xi16>
  %real = arith.sitofp %wide : vector<4xi32> to vector<4xf32>
  %positive = arith.uitofp %unsigned : vector<4xi32> to vector<4xf32>
  %whole = arith.fptosi %real : vector<4xf32> to vector<4xi64>
  %natural = arith.fptoui %positive : vector<4xf32> to vector<4xi64>
  %index = arith.index_cast %whole : vector<4xi64> to vector<4xindex>
  %size = arith.index_castui %natural : vector<4xi64> to vector<4xindex>
  %rest = arith.remf %real, %f : vector<4xf32>
  %less = arith.cmpi slt, %index, %size : vector<4xindex>
  %at_least = arith.cmpf oge, %real, %f : vector<4xf32>
  %chosen = arith.select %at_least, %real, %f : vector<4xi1>, vector<4xf32>
  func.return
}
