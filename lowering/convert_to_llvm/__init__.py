"""The passes `lower-scf` and `convert-to-llvm`: lower func, scf, cf, arith, math, memref and vector to the llvm
dialect.
"""

from typing import TYPE_CHECKING

from ...lazy import names_of

if TYPE_CHECKING:
    from .driver import ConvertToLLVM
    from .scf import LowerScf

__all__ = ["ConvertToLLVM", "LowerScf"]
_FILES = {"ConvertToLLVM": "driver", "LowerScf": "scf"}
__getattr__ = names_of(__name__, _FILES)
