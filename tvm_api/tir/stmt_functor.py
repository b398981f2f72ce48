"""`tvm.tir.stmt_functor`: walking over tensor functions and rewriting them."""

from ...handles.tir.functor import ir_transform, post_order_visit, pre_order_visit, substitute

__all__ = ["ir_transform", "post_order_visit", "pre_order_visit", "substitute"]
