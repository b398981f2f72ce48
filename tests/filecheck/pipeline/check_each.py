# RUN: tirax-opt %s -p legalize-ops,annotate-tir-op-pattern,fuse-ops,fuse-tir --check-each -t mlir | filecheck %s

from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T


@I.ir_module
class Module:
    @R.function
    def forward(
        x: R.Tensor(("n", 5), dtype="float32"),
        fc1_weight: R.Tensor((6, 5), dtype="float32"),
        fc1_bias: R.Tensor((6,), dtype="float32"),
        fc2_weight: R.Tensor((3, 6), dtype="float32"),
        fc2_bias: R.Tensor((3,), dtype="float32"),
    ) -> R.Tensor(("n", 3), dtype="float32"):
        n = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            permute_dims: R.Tensor((5, 6), dtype="float32") = R.permute_dims(fc1_weight, axes=None)
            matmul: R.Tensor((n, 6), dtype="float32") = R.matmul(x, permute_dims, out_dtype="void")
            add: R.Tensor((n, 6), dtype="float32") = R.add(matmul, fc1_bias)
            relu: R.Tensor((n, 6), dtype="float32") = R.nn.relu(add)
            permute_dims1: R.Tensor((6, 3), dtype="float32") = R.permute_dims(fc2_weight, axes=None)
            matmul1: R.Tensor((n, 3), dtype="float32") = R.matmul(relu, permute_dims1, out_dtype="void")
            add1: R.Tensor((n, 3), dtype="float32") = R.add(matmul1, fc2_bias)
            gv: R.Tensor((n, 3), dtype="float32") = add1
            R.output(gv)
        return gv







# CHECK: @fused_matmul_add_relu
