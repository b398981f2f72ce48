"""`tvm.relax.frontend.nn.spec`: what the inputs of methods are."""

from .....frontend.nn import spec as _spec
from .....frontend.nn.spec import *  # noqa: F403

__all__: list[str] = []
__all__ += _spec.__all__
