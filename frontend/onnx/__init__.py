"""ONNX models as programs: `from_onnx`. What converts an operator is a row of `operators/`; `table.py` says how."""

from .importer import from_onnx

__all__ = ["from_onnx"]
