// An example of each operation of the dialect.

llvm.func @vectors(%a: vector<4xf32>, %b: vector<4xf32>, %n: vector<4xi32>, %i: i32, %p: !llvm.ptr) {
  %whole = llvm_extras.fptosi %a : vector<4xf32> to vector<4xi32>
  %natural = llvm_extras.fptoui %a : vector<4xf32> to vector<4xi32>
  %real = llvm_extras.uitofp %n : vector<4xi32> to vector<4xf32>
  %undefined = llvm_extras.poison : vector<4xf32>
  %element = llvm_extras.extractelement %a[%i : i32] : vector<4xf32> -> f32
  %places = llvm_extras.getelementptr %p[%n], f32 : !llvm.ptr, vector<4xi32> -> vector<4x!llvm.ptr>
  %less = llvm_extras.fcmp "olt" %a, %b : vector<4xf32>, vector<4xf32> -> vector<4xi1>
  %chosen = llvm_extras.select %less, %a, %b : vector<4xi1>, vector<4xf32>, vector<4xf32> -> vector<4xf32>
  "llvm_extras.switch"(%i)[^bb1, ^bb1, ^bb2] <{cases = array<i64: 0, 7>, segments = array<i32: 0, 0>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> ()
^bb1:
  llvm.return
^bb2:
  llvm.return
}
