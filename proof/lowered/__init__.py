"""Symbolic execution of kernels below tir: func, scf, memref, vector, arith and math."""

from .kernels import Sources, validate_kernels
from .semantics import named_function

__all__ = ["Sources", "named_function", "validate_kernels"]
