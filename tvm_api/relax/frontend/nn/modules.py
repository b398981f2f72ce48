"""`tvm.relax.frontend.nn.modules`: layers."""

from .....frontend.nn import modules as _modules
from .....frontend.nn.modules import *  # noqa: F403

__all__: list[str] = []
__all__ += _modules.__all__
