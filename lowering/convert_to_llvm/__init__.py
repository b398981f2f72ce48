"""The passes `lower-scf` and `convert-to-llvm`: func, scf, cf, arith, math, memref and vector to the llvm dialect."""

from .driver import ConvertToLLVM
from .scf import LowerScf

__all__ = ["ConvertToLLVM", "LowerScf"]
