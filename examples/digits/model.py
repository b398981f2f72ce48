"""The digit classifier as TVMScript: three dense layers on 8x8 images, for any number of images `n`.

Python reads this file as usual, but the body of `main` never runs: the decorators read its source and build the IR.
"""

from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T


@I.ir_module
class Classifier:
    @R.function
    def main(
        x: R.Tensor(("n", 64), dtype="float32"),
        w1: R.Tensor((64, 128), dtype="float32"),
        b1: R.Tensor((128,), dtype="float32"),
        w2: R.Tensor((128, 128), dtype="float32"),
        b2: R.Tensor((128,), dtype="float32"),
        w3: R.Tensor((128, 10), dtype="float32"),
        b3: R.Tensor((10,), dtype="float32"),
    ) -> R.Tensor(("n", 10), dtype="float32"):
        n = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            matmul: R.Tensor((n, 128), dtype="float32") = R.matmul(x, w1)
            add: R.Tensor((n, 128), dtype="float32") = R.add(matmul, b1)
            relu: R.Tensor((n, 128), dtype="float32") = R.nn.relu(add)
            matmul1: R.Tensor((n, 128), dtype="float32") = R.matmul(relu, w2)
            add1: R.Tensor((n, 128), dtype="float32") = R.add(matmul1, b2)
            relu1: R.Tensor((n, 128), dtype="float32") = R.nn.relu(add1)
            matmul2: R.Tensor((n, 10), dtype="float32") = R.matmul(relu1, w3)
            gv: R.Tensor((n, 10), dtype="float32") = R.add(matmul2, b3)
            R.output(gv)
        return gv
