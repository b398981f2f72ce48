"""`tvm.relax.expr_functor`: visitors and mutators."""

from ...ir.functor import PyExprMutator, PyExprVisitor, mutator, visitor

__all__ = ["PyExprMutator", "PyExprVisitor", "mutator", "visitor"]
