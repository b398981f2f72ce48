"""Operators of ACME for tirax."""

import numpy as np

from tirax import topi
from tirax.dialects.dtypes import is_float
from tirax.dialects.relax import operator
from tirax.dialects.relax.operator import Operator


@operator("relax.acme.shrink", "x", threshold=0.5)
class Shrink(Operator):
    """Soft shrinkage: x drawn towards zero by `threshold`, and zero where it is nearer."""

    def infer(self):
        x = self.tensor("x")
        if x.element is not None and not is_float(x.element):
            self.fail_dtype("argument x must be of a floating point type", "float16, float32, …", x.element)
        return x

    def reference(self, x):
        return np.sign(x) * np.maximum(np.abs(x) - self.attr("threshold"), 0)

    def compute(self, x):
        t = self.attr("threshold")
        return topi.subtract(x, topi.clip(x, -t, t))
