"""tir functions to linalg on memrefs: the inverse of what `frontend/mlir` reads.

`tir.func @f` becomes `func.func @f` with a memref for each buffer, and its scalar parameters, in order. A structured
block becomes `linalg.generic`, or a named operation that is exactly it; its `init` becomes one of its own before it.
`nests.py` decides which blocks are structured. Other statements become loops of scf on the elements of memrefs.
"""

from .convert import ConvertTirToLinalg

__all__ = ["ConvertTirToLinalg"]
