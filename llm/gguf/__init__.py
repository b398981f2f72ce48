"""Read and write GGUF files, versions 2 and 3 (ggml's docs/gguf.md)."""

from .errors import GgufError
from .formats import FORMATS, TensorFormat
from .reader import GgufFile, GgufTensor, open_gguf
from .texts import Texts
from .writer import write_gguf

__all__ = ["FORMATS", "GgufError", "GgufFile", "GgufTensor", "TensorFormat", "Texts", "open_gguf", "write_gguf"]
