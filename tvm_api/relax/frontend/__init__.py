"""`tvm.relax.frontend`: models from elsewhere."""

from ....frontend import nn

__all__ = ["nn"]
