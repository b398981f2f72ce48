"""`tvm.target`: what code is generated for."""

from ..target import Target

__all__ = ["Target"]
