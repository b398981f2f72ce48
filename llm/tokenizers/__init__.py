"""Tokenizers: those of GGUF files are implemented here, `tokenizer.json` is read by a package."""

from .base import TextStream, Tokenizer, TokenizerError
from .from_gguf import gguf_tokenizer
from .huggingface import huggingface_tokenizer

__all__ = ["TextStream", "Tokenizer", "TokenizerError", "gguf_tokenizer", "huggingface_tokenizer"]
