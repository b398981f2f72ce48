"""Language models from their files: what they consist of, their weights, their tokenizers, their chat templates."""

from .config import Rope, TransformerConfig
from .model import LanguageModelFile, load_language_model
from .shapes import expected_shapes
from .weights import Weight, Weights

__all__ = [
    "LanguageModelFile",
    "Rope",
    "TransformerConfig",
    "Weight",
    "Weights",
    "expected_shapes",
    "load_language_model",
]
