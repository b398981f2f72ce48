// An example of each operation of the dialect: docs/reference/dialects/host.md is written from this file.

relax.func @main(%x: !relax.tensor<[n, 64], f32>) -> !relax.tensor<[n * 64], f32> {
  host.arena n * 256
  %lv = host.tensor arena 0 : !relax.tensor<[n, 64], f32>
  host.kernel @relu(%x, %lv) tir_vars [n]
  %gv = host.tensor : !relax.tensor<[n, 64], f32>
  host.call_dps "env.linear"(%lv, %gv)
  %flat = host.view %gv at 0 : !relax.tensor<[n * 64], f32>
  relax.return %flat : !relax.tensor<[n * 64], f32>
}

tir.func private @relu(%X: !tir.buffer<[n, 64], f32>, %Y: !tir.buffer<[n, 64], f32>, %n: i64) attributes {tir.noalias = true} {
  tir.for %i = 0 to n {
    tir.for %j = 0 to 64 {
      %value = tir.load %X[%i, %j] : f32
      %zero = tir.const 0.0 : f32
      %positive = tir.max %value, %zero : f32
      tir.store %positive, %Y[%i, %j]
    }
  }
}
