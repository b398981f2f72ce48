"""`tvm.transform`: passes and sequences of them."""

from .ir.transform import (
    ApplyPassToFunction,
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    PassInstrument,
    PrintIR,
    Sequential,
    module_pass,
)

__all__ = [
    "ApplyPassToFunction",
    "ModulePass",
    "Pass",
    "PassContext",
    "PassInfo",
    "PassInstrument",
    "PrintIR",
    "Sequential",
    "module_pass",
]
