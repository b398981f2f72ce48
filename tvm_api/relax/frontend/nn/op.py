"""`tvm.relax.frontend.nn.op`: operators on tensors of models."""

from .....frontend.nn import op as _op
from .....frontend.nn.op import *  # noqa: F403
from .....frontend.nn.op import __getattr__

__all__ = ["__getattr__"]
__all__ += _op.__all__
