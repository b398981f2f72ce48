"""An operator: its name, what it computes, and how."""

import numpy as np

from tirax import topi
from tirax.dialects.relax import operator
from tirax.dialects.relax.elementwise import FloatUnaryOp


@operator("relax.acme.shrink", "x", threshold=0.5)
class Shrink(FloatUnaryOp):
    """Soft shrinkage: x drawn towards zero by `threshold`, and zero where it is nearer than that."""

    def reference(self, x):
        return np.sign(x) * np.maximum(np.abs(x) - self.attr("threshold"), 0)

    def compute(self, x):
        t = self.attr("threshold")
        return topi.subtract(x, topi.clip(x, -t, t))
