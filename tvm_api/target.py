"""`tvm.target`: what code is generated for."""

from ..lowering.target import Target

__all__ = ["Target"]
