"""Parsed programs of MLIR, of whichever dialects they are."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from .mlir import from_mlir, is_of_mlir
from .stablehlo import from_stablehlo, is_of_stablehlo


def of_relax(module: ModuleOp) -> ModuleOp:
    """Return a module of relax and tir: `module` itself, or what its functions of other dialects become."""
    if is_of_stablehlo(module):
        return from_stablehlo(module)
    return from_mlir(module) if is_of_mlir(module) else module
