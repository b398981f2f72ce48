"""`tvm.relax.frontend.nn`: models written like torch's."""

from .....frontend import nn as _nn
from .....frontend.nn import *  # noqa: F403
from .extern import ExternModule, ObjectModule, SourceModule

extern = _nn.extern  # the operator: with its import the submodule took its place

__all__ = ["ExternModule", "ObjectModule", "SourceModule", "extern"]
__all__ += _nn.__all__
