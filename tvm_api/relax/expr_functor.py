"""`tvm.relax.expr_functor`: visitors and mutators."""

from ...ir.functor import ExprFunctor, PyExprMutator, PyExprVisitor, mutator, visitor

__all__ = ["ExprFunctor", "PyExprMutator", "PyExprVisitor", "mutator", "visitor"]
