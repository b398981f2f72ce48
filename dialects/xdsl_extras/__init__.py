"""Operations that xDSL's upstream dialects lack, kept separate and ready to go upstream.

They have MLIR's names, properties and text. `extended` has xDSL's dialects with these operations: what reads text has
them instead of xDSL's (`tirax.universe`), since a name can have one meaning only. Nothing is imported here: a build
needs `arith`, `func`, `llvm`, `memref` and `vector`, but not `linalg` or `tosa`.
"""
