"""Language models from their files: what they consist of, their weights, their tokenizers, their chat templates."""

from .config import Rope, TransformerConfig
from .weights import Weight

__all__ = ["Rope", "TransformerConfig", "Weight"]
