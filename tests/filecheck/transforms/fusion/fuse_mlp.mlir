// RUN: tirax-opt %s -p legalize-ops,annotate-tir-op-pattern,fuse-ops,fuse-tir -t tvmscript | filecheck %s

// The perceptron of TVM's tutorial, and what is printed there after these passes.
relax.func @forward(%x: !relax.tensor<[n, 784], f32>, %fc1_weight: !relax.tensor<[128, 784], f32>, %fc1_bias: !relax.tensor<[128], f32>, %fc2_weight: !relax.tensor<[10, 128], f32>, %fc2_bias: !relax.tensor<[10], f32>) -> !relax.tensor<[n, 10], f32> attributes {num_input = 1 : i64} {
  %gv = relax.dataflow {
    %permute_dims = relax.permute_dims %fc1_weight : !relax.tensor<[784, 128], f32>
    %matmul = relax.matmul %x, %permute_dims : !relax.tensor<[n, 128], f32>
    %add = relax.add %matmul, %fc1_bias : !relax.tensor<[n, 128], f32>
    %relu = relax.nn.relu %add : !relax.tensor<[n, 128], f32>
    %permute_dims1 = relax.permute_dims %fc2_weight : !relax.tensor<[128, 10], f32>
    %matmul1 = relax.matmul %relu, %permute_dims1 : !relax.tensor<[n, 10], f32>
    %add1 = relax.add %matmul1, %fc2_bias : !relax.tensor<[n, 10], f32>
    relax.output %add1 : !relax.tensor<[n, 10], f32>
  }
  relax.return %gv : !relax.tensor<[n, 10], f32>
}

// CHECK: # from tvm.script import ir as I
// CHECK: # from tvm.script import tir as T
// CHECK: # from tvm.script import relax as R
// CHECK: @I.ir_module
// CHECK: class Module:
// CHECK: @T.prim_func(private=True)
// CHECK: def fused_matmul1_add1(p_relu: T.handle, permute_dims1: T.Buffer((T.int64(128), T.int64(10)), "float32"), fc2_bias: T.Buffer((T.int64(10),), "float32"), p_output0: T.handle):
// CHECK: T.func_attr({"tir.noalias": T.bool(True)})
// CHECK: n = T.int64()
// CHECK: relu = T.match_buffer(p_relu, (n, T.int64(128)))
// CHECK: T_add_intermediate = T.match_buffer(p_output0, (n, T.int64(10)))
// CHECK: # with T.block("root"):
// CHECK: matmul_intermediate = T.alloc_buffer((n, T.int64(10)))
// CHECK: for i0, i1, k in T.grid(n, T.int64(10), T.int64(128)):
// CHECK: with T.block("matmul"):
// CHECK: v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
// CHECK: T.reads(relu[v_i0, v_k], permute_dims1[v_k, v_i1])
// CHECK: T.writes(matmul_intermediate[v_i0, v_i1])
// CHECK: with T.init():
// CHECK: matmul_intermediate[v_i0, v_i1] = T.float32(0.0)
// CHECK: matmul_intermediate[v_i0, v_i1] = matmul_intermediate[v_i0, v_i1] + relu[v_i0, v_k] * permute_dims1[v_k, v_i1]
// CHECK: for ax0, ax1 in T.grid(n, T.int64(10)):
// CHECK: with T.block("T_add"):
// CHECK: v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
// CHECK: T.reads(matmul_intermediate[v_ax0, v_ax1], fc2_bias[v_ax1])
// CHECK: T.writes(T_add_intermediate[v_ax0, v_ax1])
// CHECK: T_add_intermediate[v_ax0, v_ax1] = matmul_intermediate[v_ax0, v_ax1] + fc2_bias[v_ax1]
// CHECK: @T.prim_func(private=True)
// CHECK: def fused_matmul_add_relu(p_x: T.handle, permute_dims: T.Buffer((T.int64(784), T.int64(128)), "float32"), fc1_bias: T.Buffer((T.int64(128),), "float32"), p_output0: T.handle):
// CHECK: T.func_attr({"tir.noalias": T.bool(True)})
// CHECK: n = T.int64()
// CHECK: x = T.match_buffer(p_x, (n, T.int64(784)))
// CHECK: compute_intermediate = T.match_buffer(p_output0, (n, T.int64(128)))
// CHECK: # with T.block("root"):
// CHECK: matmul_intermediate = T.alloc_buffer((n, T.int64(128)))
// CHECK: T_add_intermediate = T.alloc_buffer((n, T.int64(128)))
// CHECK: for i0, i1, k in T.grid(n, T.int64(128), T.int64(784)):
// CHECK: with T.block("matmul"):
// CHECK: v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
// CHECK: T.reads(x[v_i0, v_k], permute_dims[v_k, v_i1])
// CHECK: T.writes(matmul_intermediate[v_i0, v_i1])
// CHECK: with T.init():
// CHECK: matmul_intermediate[v_i0, v_i1] = T.float32(0.0)
// CHECK: matmul_intermediate[v_i0, v_i1] = matmul_intermediate[v_i0, v_i1] + x[v_i0, v_k] * permute_dims[v_k, v_i1]
// CHECK: for ax0, ax1 in T.grid(n, T.int64(128)):
// CHECK: with T.block("T_add"):
// CHECK: v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
// CHECK: T.reads(matmul_intermediate[v_ax0, v_ax1], fc1_bias[v_ax1])
// CHECK: T.writes(T_add_intermediate[v_ax0, v_ax1])
// CHECK: T_add_intermediate[v_ax0, v_ax1] = matmul_intermediate[v_ax0, v_ax1] + fc1_bias[v_ax1]
// CHECK: for i0, i1 in T.grid(n, T.int64(128)):
// CHECK: with T.block("compute"):
// CHECK: v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
// CHECK: T.reads(T_add_intermediate[v_i0, v_i1])
// CHECK: T.writes(compute_intermediate[v_i0, v_i1])
// CHECK: compute_intermediate[v_i0, v_i1] = T.max(T_add_intermediate[v_i0, v_i1], T.float32(0.0))
// CHECK: @T.prim_func(private=True)
// CHECK: def transpose(fc1_weight: T.Buffer((T.int64(128), T.int64(784)), "float32"), T_transpose: T.Buffer((T.int64(784), T.int64(128)), "float32")):
// CHECK: T.func_attr({"op_pattern": 2, "tir.noalias": T.bool(True)})
// CHECK: # with T.block("root"):
// CHECK: for ax0, ax1 in T.grid(T.int64(784), T.int64(128)):
// CHECK: with T.block("T_transpose"):
// CHECK: v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
// CHECK: T.reads(fc1_weight[v_ax1, v_ax0])
// CHECK: T.writes(T_transpose[v_ax0, v_ax1])
// CHECK: T_transpose[v_ax0, v_ax1] = fc1_weight[v_ax1, v_ax0]
// CHECK: @T.prim_func(private=True)
// CHECK: def transpose1(fc2_weight: T.Buffer((T.int64(10), T.int64(128)), "float32"), T_transpose: T.Buffer((T.int64(128), T.int64(10)), "float32")):
// CHECK: T.func_attr({"op_pattern": 2, "tir.noalias": T.bool(True)})
// CHECK: # with T.block("root"):
// CHECK: for ax0, ax1 in T.grid(T.int64(128), T.int64(10)):
// CHECK: with T.block("T_transpose"):
// CHECK: v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
// CHECK: T.reads(fc2_weight[v_ax1, v_ax0])
// CHECK: T.writes(T_transpose[v_ax0, v_ax1])
// CHECK: T_transpose[v_ax0, v_ax1] = fc2_weight[v_ax1, v_ax0]
// CHECK: @R.function
// CHECK: def forward(x: R.Tensor(("n", 784), dtype="float32"), fc1_weight: R.Tensor((128, 784), dtype="float32"), fc1_bias: R.Tensor((128,), dtype="float32"), fc2_weight: R.Tensor((10, 128), dtype="float32"), fc2_bias: R.Tensor((10,), dtype="float32")) -> R.Tensor(("n", 10), dtype="float32"):
// CHECK: n = T.int64()
// CHECK: R.func_attr({"num_input": 1})
// CHECK: cls = Module
// CHECK: with R.dataflow():
// CHECK: permute_dims = R.call_tir(cls.transpose, (fc1_weight,), out_sinfo=R.Tensor((784, 128), dtype="float32"))
// CHECK: lv = R.call_tir(cls.fused_matmul_add_relu, (x, permute_dims, fc1_bias), out_sinfo=R.Tensor((n, 128), dtype="float32"))
// CHECK: permute_dims1 = R.call_tir(cls.transpose1, (fc2_weight,), out_sinfo=R.Tensor((128, 10), dtype="float32"))
// CHECK: gv = R.call_tir(cls.fused_matmul1_add1, (lv, permute_dims1, fc2_bias), out_sinfo=R.Tensor((n, 10), dtype="float32"))
// CHECK: R.output(gv)
// CHECK: return gv
