// An example of each operation of the dialect.

llvm.func @vectors(%a: vector<4xf32>, %b: vector<4xf32>, %n: vector<4xi32>, %i: i32, %p: !llvm.ptr) {
  %whole = llvm.fptosi %a : vector<4xf32> to vector<4xi32>
  %natural = llvm.fptoui %a : vector<4xf32> to vector<4xi32>
  %real = llvm.uitofp %n : vector<4xi32> to vector<4xf32>
  %undefined = llvm.mlir.poison : vector<4xf32>
  %element = llvm.extractelement %a[%i : i32] : vector<4xf32>
  %places = llvm.getelementptr %p[%n] : (!llvm.ptr, vector<4xi32>) -> vector<4x!llvm.ptr>, f32
  %less = llvm.fcmp "olt" %a, %b : vector<4xf32>
  %chosen = llvm.select %less, %a, %b : vector<4xi1>, vector<4xf32>
  "llvm.switch"(%i)[^bb1, ^bb1, ^bb2] <{case_values = dense<[0, 7]> : vector<2xi32>, case_operand_segments = array<i32: 0, 0>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> ()
^bb1:
  llvm.return
^bb2:
  llvm.return
}

llvm.func @loop(%p: !llvm.ptr, %again: i1) {
  llvm.br ^bb1
^bb1:
  %once = "llvm.load"(%p) <{nontemporal, ordering = 0 : i64}> : (!llvm.ptr) -> f32
  "llvm.cond_br"(%again)[^bb1, ^bb2] <{loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
^bb2:
  llvm.return
}
