// An example of each operation of the structure of Relax: docs/reference/dialects/relax.md is written from this file.

relax.extern @shift = "env.shift" : <* -> !relax.object, impure>

relax.func @main(%x: !relax.tensor<[n, 8], f32>, %c: !relax.tensor<[], i1>) -> tuple<!relax.tensor<[n, 8], f32>, !relax.tensor<[n, 8], f32>> {
  %gv = relax.dataflow {
    %one = relax.constant <f32 [] 1.0>
    %lv = relax.add %x, %one : !relax.tensor<[n, 8], f32>
    relax.output %lv : !relax.tensor<[n, 8], f32>
  }
  %y = relax.bind %gv : !relax.tensor<[n, 8], f32> -> !relax.tensor<[n, 8], f32>
  %r = relax.if %c : !relax.tensor<[n, 8], f32> {
    %twice = relax.add %y, %y : !relax.tensor<[n, 8], f32>
    relax.yield %twice : !relax.tensor<[n, 8], f32>
  } else {
    relax.yield %y : !relax.tensor<[n, 8], f32>
  }
  %f = relax.closure(%a: !relax.tensor<[n, 8], f32>) -> !relax.tensor<[n, 8], f32> {
    %sum = relax.add %a, %r : !relax.tensor<[n, 8], f32>
    relax.return %sum : !relax.tensor<[n, 8], f32>
  }
  %v = relax.call_value %f(%y) : !relax.tensor<[n, 8], f32>
  %d = relax.call @doubled(%v) : !relax.tensor<[n, 8], f32>
  %t = relax.tuple(%d, %r)
  %first = relax.tuple_get_item %t[0] : !relax.tensor<[n, 8], f32>
  relax.return %t : tuple<!relax.tensor<[n, 8], f32>, !relax.tensor<[n, 8], f32>>
}

relax.func private @doubled(%x: !relax.tensor<[n, 8], f32>) -> !relax.tensor<[n, 8], f32> {
  %y = relax.add %x, %x : !relax.tensor<[n, 8], f32>
  relax.return %y : !relax.tensor<[n, 8], f32>
}

relax.func @calls(%x: !relax.tensor<[n, 8], f32>) -> !relax.object impure {
  %a = relax.call_tir @relu(%x) : !relax.tensor<[n, 8], f32>
  %b = relax.call_tir_inplace @add_one(%a) inplace [0] : !relax.tensor<[n, 8], f32>
  %c = relax.call_dps_packed "env.relu"(%b) : !relax.tensor<[n, 8], f32>
  %d = relax.call_pure_packed "env.norm"(%c) attributes {epsilon = 1.000000e-05 : f64} : !relax.tensor<[n, 8], f32>
  %e = relax.call_inplace_packed "env.scale"(%d) attributes {inplace_indices = [0]} : !relax.tensor<[n, 8], f32>
  %places = relax.prim_value 4
  %heap = relax.call_builtin_with_ctx "vm.builtin.alloc_shape_heap"(%places) : !relax.tensor<ndim = 1, i64>
  %text = relax.string "a result"
  %o = relax.call_packed "env.show"(%e, %text) : !relax.object
  relax.return %o : !relax.object
}

relax.func @leaves(%x: !relax.tensor<[n, 8], f32>) -> !relax.tensor<[n, 8], f32> impure {
  %shape = relax.shape [n, 8]
  %number = relax.prim_value n + 1
  %half = relax.prim_value float 5.000000e-01 : f32
  %type = relax.dtype f32
  %nothing = relax.null_value : !relax.object
  %packed = relax.extern_func "env.make" : !relax.callable<* -> !relax.object, impure>
  %made = relax.call_value %packed(%shape, %number, %half, %type, %nothing) : !relax.object
  %y = relax.match_cast %made : !relax.object -> !relax.tensor<[n, 8], f32>
  %g = relax.function_ref @doubled : !relax.callable<(!relax.tensor<[n, 8], f32>) -> !relax.tensor<[n, 8], f32>>
  %z = relax.call_value %g(%y) : !relax.tensor<[n, 8], f32>
  relax.return %z : !relax.tensor<[n, 8], f32>
}

tir.func private @relu(%X: !tir.buffer<[n, 8], f32>, %Y: !tir.buffer<[n, 8], f32>) attributes {tir.noalias = true} {
  tir.for %i = 0 to n {
    tir.for %j = 0 to 8 {
      %value = tir.load %X[%i, %j] : f32
      %zero = tir.const 0.0 : f32
      %positive = tir.max %value, %zero : f32
      tir.store %positive, %Y[%i, %j]
    }
  }
}

tir.func private @add_one(%X: !tir.buffer<[n, 8], f32>) {
  tir.for %i = 0 to n {
    tir.for %j = 0 to 8 {
      %value = tir.load %X[%i, %j] : f32
      %one = tir.const 1.0 : f32
      %sum = tir.add %value, %one : f32
      tir.store %sum, %X[%i, %j]
    }
  }
}
