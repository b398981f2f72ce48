# RUN: tirax-opt %s -t tvmscript | filecheck %s --check-prefix SAME
# RUN: tirax-opt %s -p legalize-ops,annotate-tir-op-pattern,fuse-ops,fuse-tir -t tvmscript | filecheck %s --check-prefix FUSED
# RUN: tirax-opt %s -p legalize-ops,annotate-tir-op-pattern,fuse-ops,fuse-tir -t mlir | filecheck %s --check-prefix MLIR
# RUN: tirax-opt %s -p legalize-ops,annotate-tir-op-pattern,fuse-ops,fuse-tir -t mlir | tirax-opt -t tvmscript | filecheck %s --check-prefix FUSED
# RUN: tirax-opt %s -p legalize-ops,annotate-tir-op-pattern,fuse-ops,fuse-tir --check-each -t mlir | filecheck %s --check-prefix MLIR
# RUN: tirax-opt %s --pipeline default-cpu -t llvm | filecheck %s --check-prefix LLVM
# RUN: tirax-opt %s --pipeline default-cpu -t asm | filecheck %s --check-prefix ASM
# RUN: tirax-opt %s --pipeline default-cpu -t obj -o %t.o
# RUN: %python -c "print([w for w in ('entry_forward',) if w.encode() in open(r'%t.o', 'rb').read()])" | filecheck %s --check-prefix OBJ

from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T


@I.ir_module
class Module:
    @R.function
    def forward(
        x: R.Tensor(("n", 784), dtype="float32"),
        fc1_weight: R.Tensor((128, 784), dtype="float32"),
        fc1_bias: R.Tensor((128,), dtype="float32"),
        fc2_weight: R.Tensor((10, 128), dtype="float32"),
        fc2_bias: R.Tensor((10,), dtype="float32"),
    ) -> R.Tensor(("n", 10), dtype="float32"):
        n = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            permute_dims: R.Tensor((784, 128), dtype="float32") = R.permute_dims(fc1_weight, axes=None)
            matmul: R.Tensor((n, 128), dtype="float32") = R.matmul(x, permute_dims, out_dtype="void")
            add: R.Tensor((n, 128), dtype="float32") = R.add(matmul, fc1_bias)
            relu: R.Tensor((n, 128), dtype="float32") = R.nn.relu(add)
            permute_dims1: R.Tensor((128, 10), dtype="float32") = R.permute_dims(fc2_weight, axes=None)
            matmul1: R.Tensor((n, 10), dtype="float32") = R.matmul(relu, permute_dims1, out_dtype="void")
            add1: R.Tensor((n, 10), dtype="float32") = R.add(matmul1, fc2_bias)
            gv: R.Tensor((n, 10), dtype="float32") = add1
            R.output(gv)
        return gv


# SAME: # from tvm.script import ir as I
# SAME-NEXT: # from tvm.script import tir as T
# SAME-NEXT: # from tvm.script import relax as R
# SAME: def forward(x: R.Tensor(("n", 784), dtype="float32"), fc1_weight: R.Tensor((128, 784), dtype="float32")
# SAME: R.func_attr({"num_input": 1})
# SAME: relu: R.Tensor((n, 128), dtype="float32") = R.nn.relu(add)
# SAME: gv: R.Tensor((n, 10), dtype="float32") = add1

# FUSED: def fused_matmul1_add1(p_relu: T.handle, permute_dims1: T.Buffer((T.int64(128), T.int64(10)), "float32"), fc2_bias: T.Buffer((T.int64(10),), "float32"), p_output0: T.handle):
# FUSED: T_add_intermediate = T.match_buffer(p_output0, (n, T.int64(10)))
# FUSED: def fused_matmul_add_relu(p_x: T.handle,
# FUSED: compute_intermediate[v_i0, v_i1] = T.max(T_add_intermediate[v_i0, v_i1], T.float32(0.0))
# FUSED: T.func_attr({"op_pattern": 2, "tir.noalias": T.bool(True)})
# FUSED: lv = R.call_tir(cls.fused_matmul_add_relu, (x, permute_dims, fc1_bias), out_sinfo=R.Tensor((n, 128), dtype="float32"))
# FUSED: gv = R.call_tir(cls.fused_matmul1_add1, (lv, permute_dims1, fc2_bias), out_sinfo=R.Tensor((n, 10), dtype="float32"))

# MLIR: %lv{{.*}} = relax.call_tir @fused_matmul_add_relu(%x, %permute_dims, %fc1_bias) : !relax.tensor<[n, 128], f32>
# MLIR: tir.func private @fused_matmul_add_relu(%x{{.*}}: !tir.buffer<[n, 784], f32>, %permute_dims{{.*}}: !tir.buffer<[784, 128], f32>

# LLVM: define internal i32 @kernel.fused_NT_matmul_add_relu(ptr noalias %x, ptr noalias %fc1_weight, ptr noalias %fc1_bias, ptr noalias %compute_intermediate, i64 %n)
# LLVM: fmul contract <{{[0-9]+}} x float>
# LLVM: define ptr @entry_forward(ptr

# ASM-DAG: entry_forward:
# ASM-DAG: {{v?}}fmadd

# OBJ: entry_forward
