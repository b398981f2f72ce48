"""Converters of ONNX's operators: a family a file. `table.py` says how a row is written."""

from . import (
    control_flow,
    convolution,
    creation,
    elementwise,
    indexing,
    linear_algebra,
    manipulation,
    nn,
    normalization,
    pooling,
    reduction,
    resize,
)

__all__ = [
    "control_flow",
    "convolution",
    "creation",
    "elementwise",
    "indexing",
    "linear_algebra",
    "manipulation",
    "nn",
    "normalization",
    "pooling",
    "reduction",
    "resize",
]
