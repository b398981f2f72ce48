"""`tvm.relax.frontend.nn.core`: modules, parameters, tensors."""

from .....frontend.nn import core as _core
from .....frontend.nn.core import *  # noqa: F403

__all__: list[str] = []
__all__ += _core.__all__
