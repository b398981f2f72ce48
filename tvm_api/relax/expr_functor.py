"""`tvm.relax.expr_functor`: visitors and mutators."""

from ...handles.relax.functor import ExprFunctor, PyExprMutator, PyExprVisitor, mutator, visitor

__all__ = ["ExprFunctor", "PyExprMutator", "PyExprVisitor", "mutator", "visitor"]
