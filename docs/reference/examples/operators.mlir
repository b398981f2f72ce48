// An example of each operator, a function each: docs/reference/operators.md is written from this file.

relax.func @abs(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.abs %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @acos(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.acos %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @acosh(%x: !relax.tensor<[3], f64>) -> !relax.tensor<[3], f64> {
  %y = relax.acosh %x : !relax.tensor<[3], f64>
  relax.return %y : !relax.tensor<[3], f64>
}

relax.func @add(%x1: !relax.tensor<[n, 4], f32>, %x2: !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.add %x1, %x2 : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @arange() -> !relax.tensor<[5], i64> {
  %start = relax.prim_value 1
  %end = relax.prim_value 10
  %step = relax.prim_value 2
  %y = relax.arange %start, %end, %step {dtype = i64} : !relax.tensor<[5], i64>
  relax.return %y : !relax.tensor<[5], i64>
}

relax.func @argmax(%x: !relax.tensor<[n, 4, 5], f32>) -> !relax.tensor<[n, 5], i64> {
  %y = relax.argmax %x {axis = 1} : !relax.tensor<[n, 5], i64>
  relax.return %y : !relax.tensor<[n, 5], i64>
}

relax.func @argmin(%x: !relax.tensor<[n, 4, 5], f32>) -> !relax.tensor<[n, 5], i64> {
  %y = relax.argmin %x {axis = 1} : !relax.tensor<[n, 5], i64>
  relax.return %y : !relax.tensor<[n, 5], i64>
}

relax.func @argsort(%data: !relax.tensor<[2, n, 3], i32>) -> !relax.tensor<[2, n, 3], i64> {
  %y = relax.argsort %data {axis = 1, dtype = i64} : !relax.tensor<[2, n, 3], i64>
  relax.return %y : !relax.tensor<[2, n, 3], i64>
}

relax.func @asin(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.asin %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @asinh(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.asinh %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @assert_op(%condition: !relax.tensor<[], i1>, %format_arg: !relax.tensor<[n], f32>) -> tuple<> impure {
  %y = relax.assert_op %condition, (%format_arg) {format = "x is {}"} : tuple<>
  relax.return %y : tuple<>
}

relax.func @astype(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f16> {
  %y = relax.astype %x {dtype = f16} : !relax.tensor<[n, 4], f16>
  relax.return %y : !relax.tensor<[n, 4], f16>
}

relax.func @atan(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.atan %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @atanh(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.atanh %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @bitwise_and(%x1: !relax.tensor<[n], i32>, %x2: !relax.tensor<[n], i32>) -> !relax.tensor<[n], i32> {
  %y = relax.bitwise_and %x1, %x2 : !relax.tensor<[n], i32>
  relax.return %y : !relax.tensor<[n], i32>
}

relax.func @bitwise_not(%x: !relax.tensor<[n, 3], i32>) -> !relax.tensor<[n, 3], i32> {
  %y = relax.bitwise_not %x : !relax.tensor<[n, 3], i32>
  relax.return %y : !relax.tensor<[n, 3], i32>
}

relax.func @bitwise_or(%x1: !relax.tensor<[n], i32>, %x2: !relax.tensor<[n], i32>) -> !relax.tensor<[n], i32> {
  %y = relax.bitwise_or %x1, %x2 : !relax.tensor<[n], i32>
  relax.return %y : !relax.tensor<[n], i32>
}

relax.func @bitwise_xor(%x1: !relax.tensor<[n], i32>, %x2: !relax.tensor<[n], i32>) -> !relax.tensor<[n], i32> {
  %y = relax.bitwise_xor %x1, %x2 : !relax.tensor<[n], i32>
  relax.return %y : !relax.tensor<[n], i32>
}

relax.func @broadcast_to(%x: !relax.tensor<[n, 1], f32>) -> !relax.tensor<[3, n, n + 2], f32> {
  %shape = relax.shape [3, n, n + 2]
  %y = relax.broadcast_to %x, %shape : !relax.tensor<[3, n, n + 2], f32>
  relax.return %y : !relax.tensor<[3, n, n + 2], f32>
}

relax.func @bucketize(%input_tensor: !relax.tensor<[n], i32>, %boundaries: !relax.tensor<[m], i32>) -> !relax.tensor<[n], i32> {
  %y = relax.bucketize %input_tensor, %boundaries {out_int32 = true, right = true} : !relax.tensor<[n], i32>
  relax.return %y : !relax.tensor<[n], i32>
}

relax.func @builtin_alloc_tensor() -> !relax.tensor<[n, 4], f32> {
  %shape = relax.shape [n, 4]
  %dtype = relax.dtype f32
  %runtime_device_index = relax.prim_value 0
  %storage_scope = relax.string "global"
  %y = relax.builtin.alloc_tensor %shape, %dtype, %runtime_device_index, %storage_scope : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @ceil(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.ceil %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @clip(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %min = relax.prim_value float -2.500000e-01 : f32
  %max = relax.prim_value float 5.000000e-01 : f32
  %y = relax.clip %x, %min, %max : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @collapse_sum_like(%data: !relax.tensor<[2, n, 4], f32>, %collapse_target: !relax.tensor<[n, 1], f32>) -> !relax.tensor<[n, 1], f32> {
  %y = relax.collapse_sum_like %data, %collapse_target : !relax.tensor<[n, 1], f32>
  relax.return %y : !relax.tensor<[n, 1], f32>
}

relax.func @collapse_sum_to(%data: !relax.tensor<[2, n, 4], i32>) -> !relax.tensor<[], i32> {
  %shape = relax.shape []
  %y = relax.collapse_sum_to %data, %shape : !relax.tensor<[], i32>
  relax.return %y : !relax.tensor<[], i32>
}

relax.func @concat(%x: !relax.tensor<[n, 4], f32>, %x1: !relax.tensor<[m, 4], f32>) -> !relax.tensor<[n + m, 4], f32> {
  %y = relax.concat (%x, %x1) : !relax.tensor<[n + m, 4], f32>
  relax.return %y : !relax.tensor<[n + m, 4], f32>
}

relax.func @cos(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.cos %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @cosh(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.cosh %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @cumprod(%data: !relax.tensor<[3, n], f64>) -> !relax.tensor<[3, n], f64> {
  %y = relax.cumprod %data {axis = 1} : !relax.tensor<[3, n], f64>
  relax.return %y : !relax.tensor<[3, n], f64>
}

relax.func @cumsum(%data: !relax.tensor<[n, 5], f32>) -> !relax.tensor<[n, 5], f32> {
  %y = relax.cumsum %data {axis = 1} : !relax.tensor<[n, 5], f32>
  relax.return %y : !relax.tensor<[n, 5], f32>
}

relax.func @blocks(%x: !relax.tensor<[n, 64], f32>, %packed: !relax.tensor<[256, 36], ui8>, %indices: !relax.tensor<[n], i64>) -> !relax.tensor<[n, 256], f32> {
  %rows = relax.take_blocks %packed, %indices {format = "q4_0"} : !relax.tensor<[n, 64], f32>
  %all = relax.dequantize_blocks %packed {format = "q4_0", out_dtype = f16} : !relax.tensor<[256, 64], f16>
  %y = relax.matmul_blocks %x, %packed {format = "q4_0", activation = "int8"} : !relax.tensor<[n, 256], f32>
  relax.return %y : !relax.tensor<[n, 256], f32>
}

relax.func @dequantize(%data: !relax.tensor<[2, n], i8>, %scale: !relax.tensor<[2], f32>, %zero_point: !relax.tensor<[2], i8>) -> !relax.tensor<[2, n], f32> {
  %y = relax.dequantize %data, %scale, %zero_point {axis = 0} : !relax.tensor<[2, n], f32>
  relax.return %y : !relax.tensor<[2, n], f32>
}

relax.func @digamma(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.digamma %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @divide(%x1: !relax.tensor<[n, 4], f32>, %x2: !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.divide %x1, %x2 : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @dynamic_strided_slice(%x: !relax.tensor<[n, 4], f32>, %begin: !relax.tensor<[2], i64>, %end: !relax.tensor<[2], i64>, %strides: !relax.tensor<[2], i64>) -> !relax.tensor<ndim = 2, f32> {
  %y = relax.dynamic_strided_slice %x, %begin, %end, %strides : !relax.tensor<ndim = 2, f32>
  relax.return %y : !relax.tensor<ndim = 2, f32>
}

relax.func @einsum(%x: !relax.tensor<[n, 8], f32>, %x1: !relax.tensor<[8, m], f32>) -> !relax.tensor<[n, m], f32> {
  %y = relax.einsum (%x, %x1) {subscripts = "ij,jk->ik"} : !relax.tensor<[n, m], f32>
  relax.return %y : !relax.tensor<[n, m], f32>
}

relax.func @equal(%x1: !relax.tensor<[n, 4], f32>, %x2: !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], i1> {
  %y = relax.equal %x1, %x2 : !relax.tensor<[n, 4], i1>
  relax.return %y : !relax.tensor<[n, 4], i1>
}

relax.func @erf(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.erf %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @erfinv(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.erfinv %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @ewise_fma(%x1: !relax.tensor<[n], i32>, %x2: !relax.tensor<[n], i32>, %x3: !relax.tensor<[n], i32>) -> !relax.tensor<[n], i32> {
  %y = relax.ewise_fma %x1, %x2, %x3 : !relax.tensor<[n], i32>
  relax.return %y : !relax.tensor<[n], i32>
}

relax.func @exp(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.exp %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @expand_dims(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[1, n, 4], f32> {
  %y = relax.expand_dims %x {axis = [0]} : !relax.tensor<[1, n, 4], f32>
  relax.return %y : !relax.tensor<[1, n, 4], f32>
}

relax.func @expm1(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.expm1 %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @eye() -> !relax.tensor<[3, 5], i8> {
  %n = relax.prim_value 3
  %m = relax.prim_value 5
  %k = relax.prim_value 1
  %y = relax.eye %n, %m, %k {dtype = i8} : !relax.tensor<[3, 5], i8>
  relax.return %y : !relax.tensor<[3, 5], i8>
}

relax.func @eye_like(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %k = relax.prim_value -1
  %y = relax.eye_like %x, %k : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @flatten(%x: !relax.tensor<[n, 4, 5], f32>) -> !relax.tensor<[n * 20], f32> {
  %y = relax.flatten %x : !relax.tensor<[n * 20], f32>
  relax.return %y : !relax.tensor<[n * 20], f32>
}

relax.func @flip(%data: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.flip %data {axis = -2} : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @floor(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.floor %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @floor_divide(%x1: !relax.tensor<[n], i64>) -> !relax.tensor<[n], i64> {
  %x2 = relax.constant <i64 [] 2>
  %y = relax.floor_divide %x1, %x2 : !relax.tensor<[n], i64>
  relax.return %y : !relax.tensor<[n], i64>
}

relax.func @floor_mod(%x1: !relax.tensor<[n], i64>) -> !relax.tensor<[n], i64> {
  %x2 = relax.constant <i64 [] 2>
  %y = relax.floor_mod %x1, %x2 : !relax.tensor<[n], i64>
  relax.return %y : !relax.tensor<[n], i64>
}

relax.func @full(%fill_value: !relax.tensor<[], f32>) -> !relax.tensor<[3], i32> {
  %shape = relax.shape [3]
  %y = relax.full %shape, %fill_value {dtype = i32} : !relax.tensor<[3], i32>
  relax.return %y : !relax.tensor<[3], i32>
}

relax.func @full_like(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], i32> {
  %fill_value = relax.constant <f32 [] 2.5>
  %y = relax.full_like %x, %fill_value {dtype = i32} : !relax.tensor<[n, 4], i32>
  relax.return %y : !relax.tensor<[n, 4], i32>
}

relax.func @gather_elements(%data: !relax.tensor<[2, 3], f32>, %indices: !relax.tensor<[2, 5], i32>) -> !relax.tensor<[2, 5], f32> {
  %y = relax.gather_elements %data, %indices {axis = -1} : !relax.tensor<[2, 5], f32>
  relax.return %y : !relax.tensor<[2, 5], f32>
}

relax.func @gather_nd(%data: !relax.tensor<[n, 4, 3], f32>, %indices: !relax.tensor<[n, 5, 1], i32>) -> !relax.tensor<[n, 5, 3], f32> {
  %y = relax.gather_nd %data, %indices {batch_dims = 1} : !relax.tensor<[n, 5, 3], f32>
  relax.return %y : !relax.tensor<[n, 5, 3], f32>
}

relax.func @grad_avg_pool1d_backward(%output_grad: !relax.tensor<[n, 3, 4], f32>, %data: !relax.tensor<[n, 3, 8], f32>) -> !relax.tensor<[n, 3, 8], f32> {
  %y = relax.grad.avg_pool1d_backward %output_grad, %data {pool_size = [2], strides = [2]} : !relax.tensor<[n, 3, 8], f32>
  relax.return %y : !relax.tensor<[n, 3, 8], f32>
}

relax.func @grad_avg_pool2d_backward(%output_grad: !relax.tensor<[n, 3, 4, 4], f32>, %data: !relax.tensor<[n, 3, 8, 8], f32>) -> !relax.tensor<[n, 3, 8, 8], f32> {
  %y = relax.grad.avg_pool2d_backward %output_grad, %data {pool_size = [2, 2], strides = [2, 2]} : !relax.tensor<[n, 3, 8, 8], f32>
  relax.return %y : !relax.tensor<[n, 3, 8, 8], f32>
}

relax.func @grad_avg_pool3d_backward(%output_grad: !relax.tensor<[n, 3, 4, 4, 4], f32>, %data: !relax.tensor<[n, 3, 8, 8, 8], f32>) -> !relax.tensor<[n, 3, 8, 8, 8], f32> {
  %y = relax.grad.avg_pool3d_backward %output_grad, %data {pool_size = [2, 2, 2], strides = [2, 2, 2]} : !relax.tensor<[n, 3, 8, 8, 8], f32>
  relax.return %y : !relax.tensor<[n, 3, 8, 8, 8], f32>
}

relax.func @grad_end_checkpoint(%input: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.grad.end_checkpoint %input : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @grad_max_pool1d_backward(%output_grad: !relax.tensor<[n, 3, 4], f32>, %data: !relax.tensor<[n, 3, 8], f32>) -> !relax.tensor<[n, 3, 8], f32> {
  %y = relax.grad.max_pool1d_backward %output_grad, %data {pool_size = [2], strides = [2]} : !relax.tensor<[n, 3, 8], f32>
  relax.return %y : !relax.tensor<[n, 3, 8], f32>
}

relax.func @grad_max_pool2d_backward(%output_grad: !relax.tensor<[n, 3, 4, 4], f32>, %data: !relax.tensor<[n, 3, 8, 8], f32>) -> !relax.tensor<[n, 3, 8, 8], f32> {
  %y = relax.grad.max_pool2d_backward %output_grad, %data {pool_size = [2, 2], strides = [2, 2]} : !relax.tensor<[n, 3, 8, 8], f32>
  relax.return %y : !relax.tensor<[n, 3, 8, 8], f32>
}

relax.func @grad_max_pool3d_backward(%output_grad: !relax.tensor<[n, 3, 4, 4, 4], f32>, %data: !relax.tensor<[n, 3, 8, 8, 8], f32>) -> !relax.tensor<[n, 3, 8, 8, 8], f32> {
  %y = relax.grad.max_pool3d_backward %output_grad, %data {pool_size = [2, 2, 2], strides = [2, 2, 2]} : !relax.tensor<[n, 3, 8, 8, 8], f32>
  relax.return %y : !relax.tensor<[n, 3, 8, 8, 8], f32>
}

relax.func @grad_nll_loss_backward(%output_grad: !relax.tensor<[], f32>, %predictions: !relax.tensor<[n, 4], f32>, %targets: !relax.tensor<[n], i64>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.grad.nll_loss_backward %output_grad, %predictions, %targets {reduction = "sum"} : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @grad_no_grad(%input: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.grad.no_grad %input : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @grad_start_checkpoint(%input: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.grad.start_checkpoint %input : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @grad_take_backward(%output_grad: !relax.tensor<[5, 4], f32>, %x: !relax.tensor<[n, 4], f32>, %indices: !relax.tensor<[5], i64>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.grad.take_backward %output_grad, %x, %indices {axis = 0} : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @greater(%x1: !relax.tensor<[n, 4], f32>, %x2: !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], i1> {
  %y = relax.greater %x1, %x2 : !relax.tensor<[n, 4], i1>
  relax.return %y : !relax.tensor<[n, 4], i1>
}

relax.func @greater_equal(%x1: !relax.tensor<[n, 4], f32>, %x2: !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], i1> {
  %y = relax.greater_equal %x1, %x2 : !relax.tensor<[n, 4], i1>
  relax.return %y : !relax.tensor<[n, 4], i1>
}

relax.func @hamming_window() -> !relax.tensor<[7], f64> {
  %window_size = relax.prim_value 7
  %periodic = relax.prim_value 0
  %alpha = relax.prim_value float 5.400000e-01 : f32
  %beta = relax.prim_value float 4.600000e-01 : f32
  %y = relax.hamming_window %window_size, %periodic, %alpha, %beta {dtype = f64} : !relax.tensor<[7], f64>
  relax.return %y : !relax.tensor<[7], f64>
}

relax.func @hint_on_device(%data: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.hint_on_device %data : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @image_affine_grid(%data: !relax.tensor<[n, 2, 3], f32>) -> !relax.tensor<[n, 2, 4, 5], f32> {
  %size = relax.shape [4, 5]
  %y = relax.image.affine_grid %data, %size : !relax.tensor<[n, 2, 4, 5], f32>
  relax.return %y : !relax.tensor<[n, 2, 4, 5], f32>
}

relax.func @image_grid_sample(%data: !relax.tensor<[n, 3, 5, 4], f32>, %grid: !relax.tensor<[n, 2, 6, 7], f32>) -> !relax.tensor<[n, 3, 6, 7], f32> {
  %y = relax.image.grid_sample %data, %grid {padding_mode = "border"} : !relax.tensor<[n, 3, 6, 7], f32>
  relax.return %y : !relax.tensor<[n, 3, 6, 7], f32>
}

relax.func @image_resize2d(%data: !relax.tensor<[n, 2, 5, 4], f32>) -> !relax.tensor<[n, 2, 7, 3], f32> {
  %size = relax.shape [7, 3]
  %y = relax.image.resize2d %data, %size {roi = [0.0, 0.0, 0.0, 0.0]} : !relax.tensor<[n, 2, 7, 3], f32>
  relax.return %y : !relax.tensor<[n, 2, 7, 3], f32>
}

relax.func @index_put(%data: !relax.tensor<[4, n], f32>, %indice: !relax.tensor<[m], i64>, %values: !relax.tensor<[m, n], f32>) -> !relax.tensor<[4, n], f32> {
  %y = relax.index_put %data, (%indice), %values {accumulate = true} : !relax.tensor<[4, n], f32>
  relax.return %y : !relax.tensor<[4, n], f32>
}

relax.func @index_tensor(%data: !relax.tensor<[3, n], f32>, %indice: !relax.tensor<[2], i32>) -> !relax.tensor<[2, n], f32> {
  %y = relax.index_tensor %data, (%indice) : !relax.tensor<[2, n], f32>
  relax.return %y : !relax.tensor<[2, n], f32>
}

relax.func @isfinite(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], i1> {
  %y = relax.isfinite %x : !relax.tensor<[n, 4], i1>
  relax.return %y : !relax.tensor<[n, 4], i1>
}

relax.func @isinf(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], i1> {
  %y = relax.isinf %x : !relax.tensor<[n, 4], i1>
  relax.return %y : !relax.tensor<[n, 4], i1>
}

relax.func @isnan(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], i1> {
  %y = relax.isnan %x : !relax.tensor<[n, 4], i1>
  relax.return %y : !relax.tensor<[n, 4], i1>
}

relax.func @layout_transform(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[4, n], f32> {
  %y = relax.layout_transform %x {index_map = #sym.index_map<(i, j) -> (j, i)>} : !relax.tensor<[4, n], f32>
  relax.return %y : !relax.tensor<[4, n], f32>
}

relax.func @left_shift(%x1: !relax.tensor<[n], i32>, %x2: !relax.tensor<[n], i32>) -> !relax.tensor<[n], i32> {
  %y = relax.left_shift %x1, %x2 : !relax.tensor<[n], i32>
  relax.return %y : !relax.tensor<[n], i32>
}

relax.func @less(%x1: !relax.tensor<[n, 4], f32>, %x2: !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], i1> {
  %y = relax.less %x1, %x2 : !relax.tensor<[n, 4], i1>
  relax.return %y : !relax.tensor<[n, 4], i1>
}

relax.func @less_equal(%x1: !relax.tensor<[n, 4], f32>, %x2: !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], i1> {
  %y = relax.less_equal %x1, %x2 : !relax.tensor<[n, 4], i1>
  relax.return %y : !relax.tensor<[n, 4], i1>
}

relax.func @lgamma(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.lgamma %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @log(%x: !relax.tensor<[3], f64>) -> !relax.tensor<[3], f64> {
  %y = relax.log %x : !relax.tensor<[3], f64>
  relax.return %y : !relax.tensor<[3], f64>
}

relax.func @log10(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.log10 %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @log1p(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.log1p %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @log2(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.log2 %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @logical_and(%x1: !relax.tensor<[n], i1>, %x2: !relax.tensor<[n], i1>) -> !relax.tensor<[n], i1> {
  %y = relax.logical_and %x1, %x2 : !relax.tensor<[n], i1>
  relax.return %y : !relax.tensor<[n], i1>
}

relax.func @logical_not(%x: !relax.tensor<[n, 3], i1>) -> !relax.tensor<[n, 3], i1> {
  %y = relax.logical_not %x : !relax.tensor<[n, 3], i1>
  relax.return %y : !relax.tensor<[n, 3], i1>
}

relax.func @logical_or(%x1: !relax.tensor<[n], i1>, %x2: !relax.tensor<[n], i1>) -> !relax.tensor<[n], i1> {
  %y = relax.logical_or %x1, %x2 : !relax.tensor<[n], i1>
  relax.return %y : !relax.tensor<[n], i1>
}

relax.func @logical_xor(%x1: !relax.tensor<[n], i1>, %x2: !relax.tensor<[n], i1>) -> !relax.tensor<[n], i1> {
  %y = relax.logical_xor %x1, %x2 : !relax.tensor<[n], i1>
  relax.return %y : !relax.tensor<[n], i1>
}

relax.func @matmul(%x1: !relax.tensor<[n, 64], f32>, %x2: !relax.tensor<[64, 32], f32>) -> !relax.tensor<[n, 32], f32> {
  %y = relax.matmul %x1, %x2 : !relax.tensor<[n, 32], f32>
  relax.return %y : !relax.tensor<[n, 32], f32>
}

relax.func @max(%x: !relax.tensor<[3, n], i32>) -> !relax.tensor<[n], i32> {
  %y = relax.max %x {axis = [0]} : !relax.tensor<[n], i32>
  relax.return %y : !relax.tensor<[n], i32>
}

relax.func @maximum(%x1: !relax.tensor<[n, 4], f32>, %x2: !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.maximum %x1, %x2 : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @mean(%x: !relax.tensor<[n, 4, 8], f32>) -> !relax.tensor<[n, 1, 8], f32> {
  %y = relax.mean %x {axis = [1], keepdims = true} : !relax.tensor<[n, 1, 8], f32>
  relax.return %y : !relax.tensor<[n, 1, 8], f32>
}

relax.func @memory_alloc_storage() -> !relax.object {
  %size = relax.shape [1024]
  %virtual_device_index = relax.prim_value 0
  %storage_scope = relax.string "global"
  %dtype = relax.dtype ui8
  %y = relax.memory.alloc_storage %size, %virtual_device_index, %storage_scope, %dtype : !relax.object
  relax.return %y : !relax.object
}

relax.func @memory_ensure_zero_offset(%data: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.memory.ensure_zero_offset %data : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @memory_view(%data: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 2, 2], f32> {
  %shape = relax.shape [n, 2, 2]
  %dtype = relax.dtype f32
  %relative_byte_offset = relax.prim_value 0
  %y = relax.memory.view %data, %shape, %dtype, %relative_byte_offset : !relax.tensor<[n, 2, 2], f32>
  relax.return %y : !relax.tensor<[n, 2, 2], f32>
}

relax.func @meshgrid(%x: !relax.tensor<[n], f32>, %x1: !relax.tensor<[3], f32>) -> tuple<!relax.tensor<[3, n], f32>, !relax.tensor<[3, n], f32>> {
  %y = relax.meshgrid (%x, %x1) {indexing = "xy"} : tuple<!relax.tensor<[3, n], f32>, !relax.tensor<[3, n], f32>>
  relax.return %y : tuple<!relax.tensor<[3, n], f32>, !relax.tensor<[3, n], f32>>
}

relax.func @min(%x: !relax.tensor<[3, n], i32>) -> !relax.tensor<[n], i32> {
  %y = relax.min %x {axis = [0]} : !relax.tensor<[n], i32>
  relax.return %y : !relax.tensor<[n], i32>
}

relax.func @minimum(%x1: !relax.tensor<[n, 4], f32>, %x2: !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.minimum %x1, %x2 : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @mod(%x1: !relax.tensor<[n], i64>) -> !relax.tensor<[n], i64> {
  %x2 = relax.constant <i64 [] 2>
  %y = relax.mod %x1, %x2 : !relax.tensor<[n], i64>
  relax.return %y : !relax.tensor<[n], i64>
}

relax.func @multinomial_from_uniform(%prob: !relax.tensor<[3, 5], f32>, %uniform_sample: !relax.tensor<[n, 1], f32>, %sample_indices: !relax.tensor<[n, 1], i64>) -> !relax.tensor<[n, 1], i64> {
  %y = relax.multinomial_from_uniform %prob, %uniform_sample, %sample_indices : !relax.tensor<[n, 1], i64>
  relax.return %y : !relax.tensor<[n, 1], i64>
}

relax.func @multiply(%x1: !relax.tensor<[n, 4], f32>, %x2: !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.multiply %x1, %x2 : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @negative(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.negative %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @nn_adaptive_avg_pool1d(%data: !relax.tensor<[n, 3, 7], f32>) -> !relax.tensor<[n, 3, 3], f32> {
  %y = relax.nn.adaptive_avg_pool1d %data {output_size = [3]} : !relax.tensor<[n, 3, 3], f32>
  relax.return %y : !relax.tensor<[n, 3, 3], f32>
}

relax.func @nn_adaptive_avg_pool2d(%data: !relax.tensor<[n, 3, 8, 7], f32>) -> !relax.tensor<[n, 3, 2, 3], f32> {
  %y = relax.nn.adaptive_avg_pool2d %data {output_size = [2, 3]} : !relax.tensor<[n, 3, 2, 3], f32>
  relax.return %y : !relax.tensor<[n, 3, 2, 3], f32>
}

relax.func @nn_adaptive_avg_pool3d(%data: !relax.tensor<[n, 1, 4, 5, 3], f32>) -> !relax.tensor<[n, 1, 2, 2, 2], f32> {
  %y = relax.nn.adaptive_avg_pool3d %data {output_size = [2, 2, 2]} : !relax.tensor<[n, 1, 2, 2, 2], f32>
  relax.return %y : !relax.tensor<[n, 1, 2, 2, 2], f32>
}

relax.func @nn_attention(%query: !relax.tensor<[n, 16, 4, 8], f32>, %key: !relax.tensor<[n, 16, 4, 8], f32>, %value: !relax.tensor<[n, 16, 4, 8], f32>) -> !relax.tensor<[n, 16, 4, 8], f32> {
  %y = relax.nn.attention %query, %key, %value : !relax.tensor<[n, 16, 4, 8], f32>
  relax.return %y : !relax.tensor<[n, 16, 4, 8], f32>
}

relax.func @nn_attention_var_len(%queries: !relax.tensor<[1, n, 4, 8], f32>, %keys: !relax.tensor<[1, m, 4, 8], f32>, %values: !relax.tensor<[1, m, 4, 8], f32>, %seqstart_q: !relax.tensor<[3], i32>, %seqstart_k: !relax.tensor<[3], i32>, %max_seqlen_q: !relax.tensor<[], i32>, %max_seqlen_k: !relax.tensor<[], i32>) -> !relax.tensor<[1, n, 4, 8], f32> {
  %y = relax.nn.attention_var_len %queries, %keys, %values, %seqstart_q, %seqstart_k, %max_seqlen_q, %max_seqlen_k : !relax.tensor<[1, n, 4, 8], f32>
  relax.return %y : !relax.tensor<[1, n, 4, 8], f32>
}

relax.func @nn_avg_pool1d(%data: !relax.tensor<[n, 3, 8], f32>) -> !relax.tensor<[n, 3, 8], f32> {
  %y = relax.nn.avg_pool1d %data {pool_size = [3], padding = [1, 1]} : !relax.tensor<[n, 3, 8], f32>
  relax.return %y : !relax.tensor<[n, 3, 8], f32>
}

relax.func @nn_avg_pool2d(%data: !relax.tensor<[n, 3, 8, 7], f32>) -> !relax.tensor<[n, 3, 4, 3], f32> {
  %y = relax.nn.avg_pool2d %data {pool_size = [3, 3], strides = [2, 2], padding = [1, 0, 1, 1]} : !relax.tensor<[n, 3, 4, 3], f32>
  relax.return %y : !relax.tensor<[n, 3, 4, 3], f32>
}

relax.func @nn_avg_pool3d(%data: !relax.tensor<[n, 2, 4, 3, 3], f32>) -> !relax.tensor<[n, 2, 5, 4, 4], f32> {
  %y = relax.nn.avg_pool3d %data {pool_size = [2, 2, 2], padding = [1, 1, 1, 1, 1, 1]} : !relax.tensor<[n, 2, 5, 4, 4], f32>
  relax.return %y : !relax.tensor<[n, 2, 5, 4, 4], f32>
}

relax.func @nn_batch_norm(%data: !relax.tensor<[2, 3, n], f32>, %gamma: !relax.tensor<[3], f32>, %beta: !relax.tensor<[3], f32>, %moving_mean: !relax.tensor<[3], f32>, %moving_var: !relax.tensor<[3], f32>) -> tuple<!relax.tensor<[2, 3, n], f32>, !relax.tensor<[3], f32>, !relax.tensor<[3], f32>> {
  %y = relax.nn.batch_norm %data, %gamma, %beta, %moving_mean, %moving_var {epsilon = 2.0, training = false} : tuple<!relax.tensor<[2, 3, n], f32>, !relax.tensor<[3], f32>, !relax.tensor<[3], f32>>
  relax.return %y : tuple<!relax.tensor<[2, 3, n], f32>, !relax.tensor<[3], f32>, !relax.tensor<[3], f32>>
}

relax.func @nn_conv1d(%data: !relax.tensor<[n, 3, 8], f32>, %weight: !relax.tensor<[4, 3, 3], f32>) -> !relax.tensor<[n, 4, 8], f32> {
  %y = relax.nn.conv1d %data, %weight {padding = [1, 1]} : !relax.tensor<[n, 4, 8], f32>
  relax.return %y : !relax.tensor<[n, 4, 8], f32>
}

relax.func @nn_conv1d_transpose(%data: !relax.tensor<[n, 3, 5], f32>, %weight: !relax.tensor<[3, 4, 3], f32>) -> !relax.tensor<[n, 4, 10], f32> {
  %y = relax.nn.conv1d_transpose %data, %weight {strides = [2], padding = [1, 1], output_padding = [1]} : !relax.tensor<[n, 4, 10], f32>
  relax.return %y : !relax.tensor<[n, 4, 10], f32>
}

relax.func @nn_conv2d(%data: !relax.tensor<[n, 3, h, w], f32>, %weight: !relax.tensor<[16, 3, 3, 3], f32>) -> !relax.tensor<[n, 16, h, w], f32> {
  %y = relax.nn.conv2d %data, %weight {padding = [1, 1, 1, 1]} : !relax.tensor<[n, 16, h, w], f32>
  relax.return %y : !relax.tensor<[n, 16, h, w], f32>
}

relax.func @nn_conv2d_transpose(%data: !relax.tensor<[n, 3, 5, 4], f32>, %weight: !relax.tensor<[3, 4, 3, 2], f32>) -> !relax.tensor<[n, 4, 9, 5], f32> {
  %y = relax.nn.conv2d_transpose %data, %weight {strides = [2, 1], padding = [1, 0, 1, 0]} : !relax.tensor<[n, 4, 9, 5], f32>
  relax.return %y : !relax.tensor<[n, 4, 9, 5], f32>
}

relax.func @nn_conv3d(%data: !relax.tensor<[n, 2, 4, 5, 4], f32>, %weight: !relax.tensor<[3, 2, 2, 3, 2], f32>) -> !relax.tensor<[n, 3, 5, 3, 5], f32> {
  %y = relax.nn.conv3d %data, %weight {strides = [1, 2, 1], padding = [1, 1, 1, 1, 1, 1]} : !relax.tensor<[n, 3, 5, 3, 5], f32>
  relax.return %y : !relax.tensor<[n, 3, 5, 3, 5], f32>
}

relax.func @nn_conv3d_transpose(%data: !relax.tensor<[n, 2, 3, 2, 3], f32>, %weight: !relax.tensor<[2, 3, 2, 2, 2], f32>) -> !relax.tensor<[n, 3, 4, 4, 4], f32> {
  %y = relax.nn.conv3d_transpose %data, %weight {strides = [1, 2, 1]} : !relax.tensor<[n, 3, 4, 4, 4], f32>
  relax.return %y : !relax.tensor<[n, 3, 4, 4, 4], f32>
}

relax.func @nn_cross_entropy_with_logits(%predictions: !relax.tensor<[n, 4], f32>, %labels: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[], f32> {
  %y = relax.nn.cross_entropy_with_logits %predictions, %labels : !relax.tensor<[], f32>
  relax.return %y : !relax.tensor<[], f32>
}

relax.func @nn_dropout(%x: !relax.tensor<[n, 4], f32>) -> tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>> {
  %y = relax.nn.dropout %x : tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>>
  relax.return %y : tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>>
}

relax.func @nn_gelu(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.nn.gelu %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @nn_gelu_tanh(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.nn.gelu_tanh %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @nn_group_norm(%data: !relax.tensor<[n, 4, 3, 2], f32>, %gamma: !relax.tensor<[4], f32>, %beta: !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4, 3, 2], f32> {
  %y = relax.nn.group_norm %data, %gamma, %beta {num_groups = 2, axes = [2, 3]} : !relax.tensor<[n, 4, 3, 2], f32>
  relax.return %y : !relax.tensor<[n, 4, 3, 2], f32>
}

relax.func @nn_instance_norm(%data: !relax.tensor<[n, 3, 4, 5], f32>, %gamma: !relax.tensor<[3], f32>, %beta: !relax.tensor<[3], f32>) -> !relax.tensor<[n, 3, 4, 5], f32> {
  %y = relax.nn.instance_norm %data, %gamma, %beta {axes = [2, 3]} : !relax.tensor<[n, 3, 4, 5], f32>
  relax.return %y : !relax.tensor<[n, 3, 4, 5], f32>
}

relax.func @nn_layer_norm(%data: !relax.tensor<[n, 16], f32>, %gamma: !relax.tensor<[16], f32>, %beta: !relax.tensor<[16], f32>) -> !relax.tensor<[n, 16], f32> {
  %y = relax.nn.layer_norm %data, %gamma, %beta {axes = [-1]} : !relax.tensor<[n, 16], f32>
  relax.return %y : !relax.tensor<[n, 16], f32>
}

relax.func @nn_leakyrelu(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.nn.leakyrelu %x {alpha = 0.2} : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @nn_log_softmax(%x: !relax.tensor<[n, 4, 5], f32>) -> !relax.tensor<[n, 4, 5], f32> {
  %y = relax.nn.log_softmax %x {axis = 1} : !relax.tensor<[n, 4, 5], f32>
  relax.return %y : !relax.tensor<[n, 4, 5], f32>
}

relax.func @nn_max_pool1d(%data: !relax.tensor<[n, 3, 8], f16>) -> !relax.tensor<[n, 3, 4], f16> {
  %y = relax.nn.max_pool1d %data {pool_size = [2], strides = [2]} : !relax.tensor<[n, 3, 4], f16>
  relax.return %y : !relax.tensor<[n, 3, 4], f16>
}

relax.func @nn_max_pool2d(%data: !relax.tensor<[n, 3, h, 8], f32>) -> !relax.tensor<[n, 3, h floordiv 2, 4], f32> {
  %y = relax.nn.max_pool2d %data {pool_size = [2, 2], strides = [2, 2]} : !relax.tensor<[n, 3, h floordiv 2, 4], f32>
  relax.return %y : !relax.tensor<[n, 3, h floordiv 2, 4], f32>
}

relax.func @nn_max_pool3d(%data: !relax.tensor<[n, 2, 4, 5, 3], f32>) -> !relax.tensor<[n, 2, 4, 4, 3], f32> {
  %y = relax.nn.max_pool3d %data {pool_size = [2, 2, 2], dilation = [2, 2, 2], padding = [1, 0, 1, 1, 1, 1]} : !relax.tensor<[n, 2, 4, 4, 3], f32>
  relax.return %y : !relax.tensor<[n, 2, 4, 4, 3], f32>
}

relax.func @nn_nll_loss(%predictions: !relax.tensor<[2, 5, n], f32>, %targets: !relax.tensor<[2, n], i32>) -> !relax.tensor<[2, n], f32> {
  %y = relax.nn.nll_loss %predictions, %targets {reduction = "none"} : !relax.tensor<[2, n], f32>
  relax.return %y : !relax.tensor<[2, n], f32>
}

relax.func @nn_pad(%data: !relax.tensor<[2, n], f32>) -> !relax.tensor<[2, n + 3], f32> {
  %y = relax.nn.pad %data {pad_width = [0, 0, 1, 2]} : !relax.tensor<[2, n + 3], f32>
  relax.return %y : !relax.tensor<[2, n + 3], f32>
}

relax.func @nn_pixel_shuffle(%data: !relax.tensor<[n, 8, 3, 2], f32>) -> !relax.tensor<[n, 2, 6, 4], f32> {
  %y = relax.nn.pixel_shuffle %data {upscale_factor = 2} : !relax.tensor<[n, 2, 6, 4], f32>
  relax.return %y : !relax.tensor<[n, 2, 6, 4], f32>
}

relax.func @nn_prelu(%data: !relax.tensor<[2, n], f16>, %alpha: !relax.tensor<[n], f16>) -> !relax.tensor<[2, n], f16> {
  %y = relax.nn.prelu %data, %alpha {axis = -1} : !relax.tensor<[2, n], f16>
  relax.return %y : !relax.tensor<[2, n], f16>
}

relax.func @nn_relu(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.nn.relu %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @nn_rms_norm(%data: !relax.tensor<[2, n, 3], f16>, %weight: !relax.tensor<[n, 3], f16>) -> !relax.tensor<[2, n, 3], f16> {
  %y = relax.nn.rms_norm %data, %weight {axes = [-2, -1]} : !relax.tensor<[2, n, 3], f16>
  relax.return %y : !relax.tensor<[2, n, 3], f16>
}

relax.func @nn_selu(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.nn.selu %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @nn_silu(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.nn.silu %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @nn_softmax(%x: !relax.tensor<[n, 10], f32>) -> !relax.tensor<[n, 10], f32> {
  %y = relax.nn.softmax %x : !relax.tensor<[n, 10], f32>
  relax.return %y : !relax.tensor<[n, 10], f32>
}

relax.func @nn_softplus(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.nn.softplus %x {beta = 2.0, threshold = 1.0} : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @nonzero(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<ndim = 2, i64> {
  %y = relax.nonzero %x : !relax.tensor<ndim = 2, i64>
  relax.return %y : !relax.tensor<ndim = 2, i64>
}

relax.func @not_equal(%x1: !relax.tensor<[n, 4], f32>, %x2: !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], i1> {
  %y = relax.not_equal %x1, %x2 : !relax.tensor<[n, 4], i1>
  relax.return %y : !relax.tensor<[n, 4], i1>
}

relax.func @one_hot(%indices: !relax.tensor<[n, 2], i32>) -> !relax.tensor<[3, n, 2], i64> {
  %on_value = relax.prim_value 1
  %off_value = relax.prim_value -1
  %y = relax.one_hot %indices, %on_value, %off_value {depth = 3, axis = 0} : !relax.tensor<[3, n, 2], i64>
  relax.return %y : !relax.tensor<[3, n, 2], i64>
}

relax.func @ones() -> !relax.tensor<[2, 3], i8> {
  %shape = relax.shape [2, 3]
  %y = relax.ones %shape {dtype = i8} : !relax.tensor<[2, 3], i8>
  relax.return %y : !relax.tensor<[2, 3], i8>
}

relax.func @ones_like(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], i1> {
  %y = relax.ones_like %x {dtype = i1} : !relax.tensor<[n, 4], i1>
  relax.return %y : !relax.tensor<[n, 4], i1>
}

relax.func @outer(%x1: !relax.tensor<[n], f32>, %x2: !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.outer %x1, %x2 : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @permute_dims(%x: !relax.tensor<[n, 4, 8], f32>) -> !relax.tensor<[n, 8, 4], f32> {
  %y = relax.permute_dims %x {axes = [0, 2, 1]} : !relax.tensor<[n, 8, 4], f32>
  relax.return %y : !relax.tensor<[n, 8, 4], f32>
}

relax.func @power(%x1: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %x2 = relax.constant <f32 [] 2.0>
  %y = relax.power %x1, %x2 : !relax.tensor<[n], f32>
  relax.return %y : !relax.tensor<[n], f32>
}

relax.func @print(%value: !relax.tensor<[n], f32>) -> tuple<> impure {
  %y = relax.print (%value) {format = "x is {}"} : tuple<>
  relax.return %y : tuple<>
}

relax.func @prod(%x: !relax.tensor<[3, n], i32>) -> !relax.tensor<[n], i32> {
  %y = relax.prod %x {axis = [0]} : !relax.tensor<[n], i32>
  relax.return %y : !relax.tensor<[n], i32>
}

relax.func @quantize(%data: !relax.tensor<[2, n], f32>, %scale: !relax.tensor<[2], f32>, %zero_point: !relax.tensor<[2], i8>) -> !relax.tensor<[2, n], i8> {
  %y = relax.quantize %data, %scale, %zero_point {axis = 0} : !relax.tensor<[2, n], i8>
  relax.return %y : !relax.tensor<[2, n], i8>
}

relax.func @repeat(%data: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 12], f32> {
  %y = relax.repeat %data {repeats = 3} : !relax.tensor<[n * 12], f32>
  relax.return %y : !relax.tensor<[n * 12], f32>
}

relax.func @reshape(%x: !relax.tensor<[n, 8], f32>) -> !relax.tensor<[n, 2, 4], f32> {
  %shape = relax.shape [n, 2, 4]
  %y = relax.reshape %x, %shape : !relax.tensor<[n, 2, 4], f32>
  relax.return %y : !relax.tensor<[n, 2, 4], f32>
}

relax.func @right_shift(%x1: !relax.tensor<[n], i32>, %x2: !relax.tensor<[n], i32>) -> !relax.tensor<[n], i32> {
  %y = relax.right_shift %x1, %x2 : !relax.tensor<[n], i32>
  relax.return %y : !relax.tensor<[n], i32>
}

relax.func @round(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.round %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @rsqrt(%x: !relax.tensor<[3], f64>) -> !relax.tensor<[3], f64> {
  %y = relax.rsqrt %x : !relax.tensor<[3], f64>
  relax.return %y : !relax.tensor<[3], f64>
}

relax.func @scatter_elements(%data: !relax.tensor<[n, 4], f32>, %indices: !relax.tensor<[n, 6], i32>, %updates: !relax.tensor<[n, 6], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.scatter_elements %data, %indices, %updates {axis = 1, reduction = "add"} : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @scatter_nd(%data: !relax.tensor<[3, 4, n], f32>, %indices: !relax.tensor<[2, 5, 2], i32>, %updates: !relax.tensor<[2, 5, n], f32>) -> !relax.tensor<[3, 4, n], f32> {
  %y = relax.scatter_nd %data, %indices, %updates {reduction = "add"} : !relax.tensor<[3, 4, n], f32>
  relax.return %y : !relax.tensor<[3, 4, n], f32>
}

relax.func @shape_of(%expr: !relax.tensor<[n, 4], f32>) -> !relax.shape<[n, 4]> {
  %y = relax.shape_of %expr : !relax.shape<[n, 4]>
  relax.return %y : !relax.shape<[n, 4]>
}

relax.func @shape_to_tensor() -> !relax.tensor<[2], i64> {
  %expr = relax.shape [n, 4]
  %y = relax.shape_to_tensor %expr : !relax.tensor<[2], i64>
  relax.return %y : !relax.tensor<[2], i64>
}

relax.func @sigmoid(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.sigmoid %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @sign(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.sign %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @sin(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.sin %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @sinh(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.sinh %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @slice_scatter(%input_tensor: !relax.tensor<[n, 5], f32>, %src: !relax.tensor<[n, 2], f32>) -> !relax.tensor<[n, 5], f32> {
  %start = relax.prim_value -3
  %end = relax.prim_value -1
  %step = relax.prim_value 1
  %y = relax.slice_scatter %input_tensor, %src, %start, %end, %step {axis = 1} : !relax.tensor<[n, 5], f32>
  relax.return %y : !relax.tensor<[n, 5], f32>
}

relax.func @sort(%x: !relax.tensor<[n, 3], i8>) -> !relax.tensor<[n, 3], i8> {
  %y = relax.sort %x {axis = 0, descending = true} : !relax.tensor<[n, 3], i8>
  relax.return %y : !relax.tensor<[n, 3], i8>
}

relax.func @split(%x: !relax.tensor<[n, 8], f32>) -> tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>> {
  %y = relax.split %x {indices_or_sections = 2, axis = 1} : tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>>
  relax.return %y : tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>>
}

relax.func @sqrt(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.sqrt %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @square(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.square %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @squeeze(%x: !relax.tensor<[n, 1, 4, 1], f32>) -> !relax.tensor<[n, 4, 1], f32> {
  %y = relax.squeeze %x {axis = [1]} : !relax.tensor<[n, 4, 1], f32>
  relax.return %y : !relax.tensor<[n, 4, 1], f32>
}

relax.func @stack(%x: !relax.tensor<[n], i64>, %x1: !relax.tensor<[n], i64>) -> !relax.tensor<[n, 2], i64> {
  %y = relax.stack (%x, %x1) {axis = -1} : !relax.tensor<[n, 2], i64>
  relax.return %y : !relax.tensor<[n, 2], i64>
}

relax.func @std(%x: !relax.tensor<[n, 4, 5], f32>) -> !relax.tensor<[n], f32> {
  %y = relax.std %x {axis = [1, 2]} : !relax.tensor<[n], f32>
  relax.return %y : !relax.tensor<[n], f32>
}

relax.func @strided_slice(%x: !relax.tensor<[n, 8], f32>) -> !relax.tensor<[n, 4], f32> {
  %axe = relax.prim_value 1
  %begin = relax.prim_value 0
  %end = relax.prim_value 4
  %y = relax.strided_slice %x, (%axe), (%begin), (%end) : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @subtract(%x1: !relax.tensor<[n, 4], f32>, %x2: !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.subtract %x1, %x2 : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @sum(%x: !relax.tensor<[n, 4, 8], f32>) -> !relax.tensor<[n, 8], f32> {
  %y = relax.sum %x {axis = [1]} : !relax.tensor<[n, 8], f32>
  relax.return %y : !relax.tensor<[n, 8], f32>
}

relax.func @take(%x: !relax.tensor<[n, 4], f32>, %indices: !relax.tensor<[5], i64>) -> !relax.tensor<[5, 4], f32> {
  %y = relax.take %x, %indices {axis = 0} : !relax.tensor<[5, 4], f32>
  relax.return %y : !relax.tensor<[5, 4], f32>
}

relax.func @tan(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.tan %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @tanh(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.tanh %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @tensor_to_shape(%expr: !relax.tensor<[2], i64>) -> !relax.shape<ndim = 2> {
  %y = relax.tensor_to_shape %expr : !relax.shape<ndim = 2>
  relax.return %y : !relax.shape<ndim = 2>
}

relax.func @tile(%data: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 12], f32> {
  %y = relax.tile %data {repeats = [3]} : !relax.tensor<[n, 12], f32>
  relax.return %y : !relax.tensor<[n, 12], f32>
}

relax.func @to_vdevice(%data: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32, vdevice = "llvm:0"> {
  %y = relax.to_vdevice %data {dst_vdevice = "llvm:0"} : !relax.tensor<[n, 4], f32, vdevice = "llvm:0">
  relax.return %y : !relax.tensor<[n, 4], f32, vdevice = "llvm:0">
}

relax.func @topk(%data: !relax.tensor<[2, n], f32>) -> !relax.tensor<[2, n], f32> {
  %y = relax.topk %data {k = -1, ret_type = "values"} : !relax.tensor<[2, n], f32>
  relax.return %y : !relax.tensor<[2, n], f32>
}

relax.func @tril(%x: !relax.tensor<[3, n], i32>) -> !relax.tensor<[3, n], i32> {
  %k = relax.prim_value 1
  %y = relax.tril %x, %k : !relax.tensor<[3, n], i32>
  relax.return %y : !relax.tensor<[3, n], i32>
}

relax.func @triu(%x: !relax.tensor<[n, n], i1>) -> !relax.tensor<[n, n], i1> {
  %k = relax.prim_value 0
  %y = relax.triu %x, %k : !relax.tensor<[n, n], i1>
  relax.return %y : !relax.tensor<[n, n], i1>
}

relax.func @trunc(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.trunc %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @unique(%x: !relax.tensor<[n], i64>) -> !relax.tensor<ndim = 1, i64> {
  %sorted = relax.prim_value 1
  %return_index = relax.prim_value 0
  %return_inverse = relax.prim_value 0
  %return_counts = relax.prim_value 0
  %y = relax.unique %x, %sorted, %return_index, %return_inverse, %return_counts : !relax.tensor<ndim = 1, i64>
  relax.return %y : !relax.tensor<ndim = 1, i64>
}

relax.func @variance(%x: !relax.tensor<[n, 4, 5], f32>) -> !relax.tensor<[n], f32> {
  %y = relax.variance %x {axis = [1, 2]} : !relax.tensor<[n], f32>
  relax.return %y : !relax.tensor<[n], f32>
}

relax.func @vm_alloc_storage() -> !relax.object {
  %shape = relax.shape [1024]
  %runtime_device_index = relax.prim_value 0
  %dtype = relax.dtype ui8
  %storage_scope = relax.string "global"
  %y = relax.vm.alloc_storage %shape, %runtime_device_index, %dtype, %storage_scope : !relax.object
  relax.return %y : !relax.object
}

relax.func @where(%condition: !relax.tensor<[n, 4], i1>, %x1: !relax.tensor<[n, 4], f32>, %x2: !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.where %condition, %x1, %x2 : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @wrap_param(%data: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], i32> {
  %y = relax.wrap_param %data {dtype = i32} : !relax.tensor<[n, 4], i32>
  relax.return %y : !relax.tensor<[n, 4], i32>
}

relax.func @zeros() -> !relax.tensor<[2, 3], f32> {
  %shape = relax.shape [2, 3]
  %y = relax.zeros %shape {dtype = f32} : !relax.tensor<[2, 3], f32>
  relax.return %y : !relax.tensor<[2, 3], f32>
}

relax.func @zeros_like(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.zeros_like %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @storage(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> impure {
  %size = relax.shape [n * 16]
  %shape = relax.shape [n, 4]
  %device = relax.prim_value 0
  %scope = relax.string "global"
  %dtype = relax.dtype f32
  %offset = relax.prim_value 0
  %storage = relax.memory.alloc_storage %size, %device, %scope, %dtype : !relax.object
  %tensor = relax.memory.alloc_tensor %storage, %offset, %shape, %dtype : !relax.tensor<[n, 4], f32>
  %y = relax.add %x, %x : !relax.tensor<[n, 4], f32>
  %dead = relax.memory.kill_tensor %tensor : tuple<>
  %freed = relax.memory.kill_storage %storage : tuple<>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func @vm_storage(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> impure {
  %size = relax.shape [n * 16]
  %shape = relax.shape [n, 4]
  %device = relax.prim_value 0
  %scope = relax.string "global"
  %dtype = relax.dtype f32
  %offset = relax.prim_value 0
  %storage = relax.vm.alloc_storage %size, %device, %dtype, %scope : !relax.object
  %tensor = relax.vm.alloc_tensor %storage, %offset, %shape, %dtype : !relax.tensor<[n, 4], f32>
  %y = relax.add %x, %x : !relax.tensor<[n, 4], f32>
  %freed = relax.vm.kill_object %storage : tuple<>
  relax.return %y : !relax.tensor<[n, 4], f32>
}

relax.func private @less_than_three(%i: !relax.prim<i64, i>, %x: !relax.tensor<[n], f32>) -> !relax.prim<i1> {
  %c = relax.prim_value lt(i, 3)
  relax.return %c : !relax.prim<i1, lt(i, 3)>
}

relax.func private @doubled(%i: !relax.prim<i64, i>, %x: !relax.tensor<[n], f32>) -> tuple<!relax.prim<i64, i + 1>, !relax.tensor<[n], f32>> {
  %y = relax.add %x, %x : !relax.tensor<[n], f32>
  %j = relax.prim_value i + 1
  %t = relax.tuple(%j, %y)
  relax.return %t : tuple<!relax.prim<i64, i + 1>, !relax.tensor<[n], f32>>
}

relax.func @while_loop(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %cond = relax.function_ref @less_than_three : !relax.callable<(!relax.prim<i64, i>, !relax.tensor<[n], f32>) -> !relax.prim<i1>>
  %body = relax.function_ref @doubled : !relax.callable<(!relax.prim<i64, i>, !relax.tensor<[n], f32>) -> tuple<!relax.prim<i64, i + 1>, !relax.tensor<[n], f32>>>
  %i = relax.prim_value 0
  %r = relax.while_loop %cond, %body, (%i, %x) : tuple<!relax.prim<i64>, !relax.tensor<[n], f32>>
  relax.return %r : tuple<!relax.prim<i64>, !relax.tensor<[n], f32>>
}

relax.func @random_numbers(%seed: !relax.tensor<[], i64>, %offset: !relax.tensor<[], i64>, %p: !relax.tensor<[3], f32>) -> tuple<!relax.tensor<[2, 3], f32>, !relax.tensor<[2, 3], f32>, !relax.tensor<[2, 3], f32>, !relax.tensor<[2, 3], i1>, !relax.tensor<[2, 3], i64>, !relax.tensor<[2, 3], ui64>, !relax.tensor<[5], i64>, !relax.tensor<[2], i64>> {
  %0 = relax.shape [2, 3]
  %u = relax.random.uniform %seed, %offset, %0 {low = -1.0} : !relax.tensor<[2, 3], f32>
  %1 = relax.shape [2, 3]
  %z = relax.random.normal %seed, %offset, %1 {std = 0.5} : !relax.tensor<[2, 3], f32>
  %2 = relax.shape [2, 3]
  %e = relax.random.exponential %seed, %offset, %2 {rate = 2.0} : !relax.tensor<[2, 3], f32>
  %3 = relax.shape [2, 3]
  %b = relax.random.bernoulli %seed, %offset, %3, %p : !relax.tensor<[2, 3], i1>
  %4 = relax.shape [2, 3]
  %5 = relax.prim_value 0
  %6 = relax.prim_value 10
  %i = relax.random.randint %seed, %offset, %4, %5, %6 : !relax.tensor<[2, 3], i64>
  %7 = relax.shape [2, 3]
  %w = relax.random.bits %seed, %offset, %7 {dtype = ui64} : !relax.tensor<[2, 3], ui64>
  %8 = relax.prim_value 5
  %o = relax.random.permutation %seed, %offset, %8 : !relax.tensor<[5], i64>
  %k = relax.random.multinomial %seed, %offset, %p {num_samples = 2} : !relax.tensor<[2], i64>
  %9 = relax.tuple(%u, %z, %e, %b, %i, %w, %o, %k)
  relax.return %9 : tuple<!relax.tensor<[2, 3], f32>, !relax.tensor<[2, 3], f32>, !relax.tensor<[2, 3], f32>, !relax.tensor<[2, 3], i1>, !relax.tensor<[2, 3], i64>, !relax.tensor<[2, 3], ui64>, !relax.tensor<[5], i64>, !relax.tensor<[2], i64>>
}

relax.func @matrices(%x: !relax.tensor<[b, n, n], f64>, %y: !relax.tensor<[b, n, k], f64>) -> !relax.tensor<[b, n, k], f64> {
  %c = relax.linalg.cholesky %x {upper = true} : tuple<!relax.tensor<[b, n, n], f64>, !relax.tensor<[b], i32>>
  %i = relax.linalg.inv %x : tuple<!relax.tensor<[b, n, n], f64>, !relax.tensor<[b], i32>>
  %s = relax.linalg.solve %x, %y : tuple<!relax.tensor<[b, n, k], f64>, !relax.tensor<[b], i32>>
  %l = relax.linalg.lu %x : tuple<!relax.tensor<[b, n, n], f64>, !relax.tensor<[b, n], i32>, !relax.tensor<[b], i32>>
  %f = relax.tuple_get_item %l[0] : !relax.tensor<[b, n, n], f64>
  %p = relax.tuple_get_item %l[1] : !relax.tensor<[b, n], i32>
  %o = relax.linalg.pivots_to_order %f, %p : !relax.tensor<[b, n], i64>
  %d = relax.linalg.det %x : !relax.tensor<[b], f64>
  %g = relax.linalg.slogdet %x : tuple<!relax.tensor<[b], f64>, !relax.tensor<[b], f64>>
  %q = relax.linalg.qr %y {mode = "r"} : !relax.tensor<[b, min(n, k), k], f64>
  %u = relax.linalg.svd %x : tuple<!relax.tensor<[b, n, n], f64>, !relax.tensor<[b, n], f64>, !relax.tensor<[b, n, n], f64>>
  %v = relax.linalg.svdvals %x : !relax.tensor<[b, n], f64>
  %e = relax.linalg.eigh %x : tuple<!relax.tensor<[b, n], f64>, !relax.tensor<[b, n, n], f64>>
  %w = relax.linalg.eigvalsh %x : !relax.tensor<[b, n], f64>
  %m = relax.linalg.matrix_exp %x : !relax.tensor<[b, n, n], f64>
  %a = relax.linalg.eig %x : tuple<!relax.tensor<[b, n, 2], f64>, !relax.tensor<[b, n, n, 2], f64>>
  %h = relax.linalg.geqrf %y : tuple<!relax.tensor<[b, n, k], f64>, !relax.tensor<[b, min(n, k)], f64>>
  %j = relax.linalg.ldl %x {check = false} : tuple<!relax.tensor<[b, n, n], f64>, !relax.tensor<[b, n], i32>, !relax.tensor<[b], i32>>
  %z = relax.linalg.ldl_solve %f, %p, %y : !relax.tensor<[b, n, k], f64>
  %t = relax.linalg.solve_triangular %x, %y {upper = true} : !relax.tensor<[b, n, k], f64>
  relax.return %t : !relax.tensor<[b, n, k], f64>
}

relax.func @transforms(%x: !relax.tensor<[b, 8], f32>) -> !relax.tensor<[b, 8], f32> {
  %r = relax.fft.rfft %x : !relax.tensor<[b, 5, 2], f32>
  %f = relax.fft.fft %r {axis = 0, inverse = true} : !relax.tensor<[b, 5, 2], f32>
  %0 = relax.prim_value 8
  %i = relax.fft.irfft %f, length = %0 {norm = "ortho"} : !relax.tensor<[b, 8], f32>
  relax.return %i : !relax.tensor<[b, 8], f32>
}
