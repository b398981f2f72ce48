"""Compare what tirax prints with what MLIR reads: `python -m tirax.dev.upstream`, see docs/mlir.md."""
