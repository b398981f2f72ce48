"""`tvm.relax.utils`: small helpers."""

from ...ir.relax_utils import convert_to_expr, copy_with_new_vars

__all__ = ["convert_to_expr", "copy_with_new_vars"]
