"""Reductions along axes."""

from ...topi.reduction import all, any, argmax, argmin, max, min, prod, sum

__all__ = ["all", "any", "argmax", "argmin", "max", "min", "prod", "sum"]
