"""`stablehlo` and `chlo`, the dialects of JAX and OpenXLA, and what they use of `quant` and `sdy`.

`frontend/stablehlo` gives the operations their meaning.
"""

from xdsl.ir import Dialect

from . import attributes, operations
from .attributes import ConvAttr, StructAttr, TokenType, UniformType, WordAttr
from .operations import HloOp

StableHLO = Dialect("stablehlo", [*operations.STABLEHLO], [*attributes.STABLEHLO])
CHLO = Dialect("chlo", [*operations.CHLO], [*attributes.CHLO])
Sdy = Dialect("sdy", [], [*attributes.SHARDY])
Quant = Dialect("quant", [], [UniformType])

__all__ = [
    "CHLO",
    "ConvAttr",
    "HloOp",
    "Quant",
    "Sdy",
    "StableHLO",
    "StructAttr",
    "TokenType",
    "UniformType",
    "WordAttr",
]
