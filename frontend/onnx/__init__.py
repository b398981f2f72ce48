"""ONNX models as programs: `from_onnx`. What converts an operator is a row of `operators/`; `table.py` says how."""

from .importer import from_onnx
from .summary import summary_of

__all__ = ["from_onnx", "summary_of"]
