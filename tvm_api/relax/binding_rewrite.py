"""`tvm.relax.binding_rewrite`: dataflow blocks changed binding by binding."""

from ...handles.relax.binding_rewrite import DataflowBlockRewrite

__all__ = ["DataflowBlockRewrite"]
