"""`tvm.relax.testing`: small layers, packed functions and passes for tests."""

from . import nn, transform, vm

__all__ = ["nn", "transform", "vm"]
