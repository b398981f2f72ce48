"""`tvm.relax.frontend.nn.extern`: functions from outside of a model."""

from .....frontend.nn.extern import ExternModule, ObjectModule, SourceModule

__all__ = ["ExternModule", "ObjectModule", "SourceModule"]
