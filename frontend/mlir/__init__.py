"""Programs of MLIR's own dialects: `func`, `arith`, `math`, `scf`, `memref`, `affine`, `linalg`, `tensor`, `tosa`, ….

docs/mlir.md says what is read.
"""

from .convert import from_mlir, is_of_mlir

__all__ = ["from_mlir", "is_of_mlir"]
