"""`tvm.tir.ir_builder`: statements written one after the other."""

from ...ir.tir_builder import BufferVar, IRBuilder, create

__all__ = ["BufferVar", "IRBuilder", "create"]
