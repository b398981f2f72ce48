"""Import of ONNX models: `from_onnx`. Converters are rows of `operators/`; see `table.py`."""

from .importer import from_onnx
from .node import Node
from .stub import converter_stub
from .summary import summary_of
from .table import converter
from .values import Value, op

__all__ = ["Node", "Value", "converter", "converter_stub", "from_onnx", "op", "summary_of"]
