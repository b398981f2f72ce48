"""Programs of StableHLO and CHLO, the dialects of JAX. docs/jax.md says what is read."""

from .source import from_stablehlo, is_of_stablehlo

__all__ = ["from_stablehlo", "is_of_stablehlo"]
