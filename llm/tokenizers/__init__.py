"""Texts as numbers of tokens and back: tokenizers of GGUF files, read here, and of `tokenizer.json`, by a package."""

from .base import TextStream, Tokenizer, TokenizerError
from .from_gguf import gguf_tokenizer
from .huggingface import huggingface_tokenizer

__all__ = ["TextStream", "Tokenizer", "TokenizerError", "gguf_tokenizer", "huggingface_tokenizer"]
