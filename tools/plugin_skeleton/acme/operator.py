"""An operator: its name, its computation, and a numpy reference."""

import numpy as np

from tirax.extend import FloatUnaryOp, operator, topi


@operator("relax.acme.shrink", "x", threshold=0.5)
class Shrink(FloatUnaryOp):
    """Soft shrinkage: x moved towards zero by `threshold`, and zero if it is closer than that."""

    def reference(self, x):
        return np.sign(x) * np.maximum(np.abs(x) - self.attr("threshold"), 0)

    def compute(self, x):
        t = self.attr("threshold")
        return topi.subtract(x, topi.clip(x, -t, t))
