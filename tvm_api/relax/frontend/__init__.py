"""`tvm.relax.frontend`: models from elsewhere."""

from . import nn

__all__ = ["nn"]
