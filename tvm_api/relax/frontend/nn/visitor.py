"""`tvm.relax.frontend.nn.visitor`: changing models."""

from .....frontend.nn import visitor as _visitor
from .....frontend.nn.visitor import *  # noqa: F403

__all__: list[str] = []
__all__ += _visitor.__all__
