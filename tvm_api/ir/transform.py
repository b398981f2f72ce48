"""`tvm.ir.transform`: passes and sequences of them."""

from ...handles.pass_tools import ApplyPassToFunction, PrintIR
from ...ir.passes.transform import Pass, PassContext, PassInfo, PassInstrument, Sequential, module_pass

ModulePass = Pass

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
