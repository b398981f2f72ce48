"""`tvm.relax.utils`: small helpers."""

from ...handles.relax.utils import convert_to_expr, copy_with_new_vars

__all__ = ["convert_to_expr", "copy_with_new_vars"]
