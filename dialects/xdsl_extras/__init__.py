"""Operations that xDSL's upstream dialects lack, kept separate and ready to go upstream.

`arith_extras`, `func_extras` and `llvm_extras` have the names and semantics of MLIR's operations; only the prefix
differs, because xDSL's own dialects reject vectors there, or do not have the operation.
"""

from .arith_extras import ArithExtras
from .func_extras import FuncExtras
from .llvm_extras import LLVMExtras

__all__ = ["ArithExtras", "FuncExtras", "LLVMExtras"]
