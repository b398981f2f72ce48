"""`tvm.tir.stmt_functor`: walking over tensor functions and rewriting them."""

from ...ir.tir_functor import ir_transform, post_order_visit, pre_order_visit, substitute

__all__ = ["ir_transform", "post_order_visit", "pre_order_visit", "substitute"]
