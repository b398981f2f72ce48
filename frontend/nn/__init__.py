"""Models written like torch's: modules with parameters, exported to an `IRModule` (TVM's `relax.frontend.nn`)."""

from . import op, spec
from .core import Module, ModuleDict, ModuleList, Parameter, Tensor, wrap_nested
from .modules import GELU, Embedding, Identity, LayerNorm, Linear, ReLU, RMSNorm, SiLU

__all__ = [
    "GELU",
    "Embedding",
    "Identity",
    "LayerNorm",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "RMSNorm",
    "ReLU",
    "SiLU",
    "Tensor",
    "op",
    "spec",
    "wrap_nested",
]
