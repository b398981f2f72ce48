"""The passes `lower-scf` and `convert-to-llvm`: lower func, scf, cf, arith, math, memref and vector to the llvm
dialect.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .driver import ConvertToLLVM
    from .scf import LowerScf

__all__ = ["ConvertToLLVM", "LowerScf"]
_FILES = {"ConvertToLLVM": "driver", "LowerScf": "scf"}


def __getattr__(name: str) -> Any:
    """Import a pass on first use: a build whose object is in the cache needs none."""
    if name not in _FILES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f".{_FILES[name]}", __name__), name)
