"""A program of two parameters, which do not commute, and arguments."""

import numpy as np

SCRIPT = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        with R.dataflow():
            z = R.subtract(x, y)
            R.output(z)
        return z
"""
X, Y = (np.random.default_rng(i).standard_normal((3, 4)).astype("float32") for i in range(2))
