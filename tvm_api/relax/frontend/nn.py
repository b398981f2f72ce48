"""`tvm.relax.frontend.nn`: models written like torch's."""

from ....frontend import nn as _nn
from ....frontend.nn import *  # noqa: F403

__all__: list[str] = []
__all__ += _nn.__all__
