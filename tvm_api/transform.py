"""`tvm.transform`: passes and sequences of them."""

from ..ir.transform import Pass, PassContext, PassInfo, Sequential, module_pass

__all__ = ["Pass", "PassContext", "PassInfo", "Sequential", "module_pass"]
