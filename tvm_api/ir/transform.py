"""`tvm.ir.transform`: passes and sequences of them."""

from ...ir.transform import Pass, PassContext, PassInfo, PassInstrument, Sequential, module_pass

ModulePass = Pass

__all__ = ["ModulePass", "Pass", "PassContext", "PassInfo", "PassInstrument", "Sequential", "module_pass"]
