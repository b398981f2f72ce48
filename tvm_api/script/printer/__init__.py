"""`tvm.script.printer`: documents of Python code, and their text."""

from ..._names import refusing
from . import doc, doc_printer

__getattr__ = refusing(__name__)

__all__ = ["doc", "doc_printer"]
