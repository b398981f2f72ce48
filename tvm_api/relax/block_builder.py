"""`tvm.relax.block_builder`: functions built from Python."""

from ...frontend.block_builder import BlockBuilder

__all__ = ["BlockBuilder"]
