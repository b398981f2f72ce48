// An example of each operation of the dialect.

func.func @casts(%a: vector<4xi8>, %f: vector<4xf32>) {
  %wide = arith_extras.extsi %a : vector<4xi8> to vector<4xi32>
  %unsigned = arith_extras.extui %a : vector<4xi8> to vector<4xi32>
  %narrow = arith_extras.trunci %wide : vector<4xi32> to vector<4xi16>
  %real = arith_extras.sitofp %wide : vector<4xi32> to vector<4xf32>
  %positive = arith_extras.uitofp %unsigned : vector<4xi32> to vector<4xf32>
  %whole = arith_extras.fptosi %real : vector<4xf32> to vector<4xi64>
  %natural = arith_extras.fptoui %positive : vector<4xf32> to vector<4xi64>
  %index = arith_extras.index_cast %whole : vector<4xi64> to vector<4xindex>
  %size = arith_extras.index_castui %natural : vector<4xi64> to vector<4xindex>
  %less = arith_extras.cmpi "slt" %index, %size : vector<4xindex>, vector<4xindex> -> vector<4xi1>
  %at_least = arith_extras.cmpf "oge" %real, %f : vector<4xf32>, vector<4xf32> -> vector<4xi1>
  %chosen = arith_extras.select %at_least, %real, %f : vector<4xi1>, vector<4xf32>, vector<4xf32> -> vector<4xf32>
  func.return
}
