"""Load language models from files: configuration, weights, tokenizer and chat template."""

from ..chat import CHATML, ChatTemplate, ChatTemplateError, Message
from ..tokenizers import TextStream, Tokenizer, TokenizerError
from .config import Rope, TransformerConfig
from .model import LanguageModelFile, load_language_model
from .shapes import expected_shapes
from .weights import Weight, Weights

__all__ = [
    "CHATML",
    "ChatTemplate",
    "ChatTemplateError",
    "LanguageModelFile",
    "Message",
    "Rope",
    "TextStream",
    "Tokenizer",
    "TokenizerError",
    "TransformerConfig",
    "Weight",
    "Weights",
    "expected_shapes",
    "load_language_model",
]
