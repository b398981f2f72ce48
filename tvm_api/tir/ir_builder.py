"""`tvm.tir.ir_builder`: statements written one after the other."""

from ...handles.tir.ir_builder import BufferVar, IRBuilder, create

__all__ = ["BufferVar", "IRBuilder", "create"]
