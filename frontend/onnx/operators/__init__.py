"""Converters of ONNX's operators: a family a file. `table.py` says how a row is written."""

from . import (
    control_flow,
    creation,
    elementwise,
    indexing,
    linear_algebra,
    manipulation,
    nn,
    reduction,
)

__all__ = ["control_flow", "creation", "elementwise", "indexing", "linear_algebra", "manipulation", "nn", "reduction"]
