"""The adapter from a file's program to Model Explorer's graphs."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

from xdsl.dialects.builtin import ModuleOp

from ...ir.graphs.explorer import explorer_graphs
from ...ir.graphs.nodes import graph_of
from ..models import format_of, import_model
from ..source import read_program

_api: Any = import_module("model_explorer")  # an extra, without types
_builder: Any = _api.graph_builder


class TiraxAdapter(_api.Adapter):
    """Reads programs in MLIR text and TVMScript, and models that tirax imports."""

    metadata: ClassVar[Any] = _api.AdapterMetadata(
        id="tirax",
        name="tirax",
        description="Programs of relax and tir, and models as tirax imports them",
        fileExts=["mlir", "py", "onnx", "pt2"],
    )

    def convert(self, model_path: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the graphs of a file, one for each function. Raises `TiraxError` for a file that cannot be read."""
        return {"graphs": [_graph(g) for g in explorer_graphs(graph_of(_module(model_path)))]}


def _module(path: str) -> ModuleOp:
    return read_program(path).parse() if format_of(path) is None else import_model(path, {})


def _graph(graph: dict[str, Any]) -> Any:
    return _builder.Graph(id=graph["id"], nodes=[_node(n) for n in graph["nodes"]])


def _node(node: dict[str, Any]) -> Any:
    converted = {
        "attrs": [_builder.KeyValue(**a) for a in node["attrs"]],
        "incomingEdges": [_builder.IncomingEdge(**e) for e in node["incomingEdges"]],
        "outputsMetadata": [
            _builder.MetadataItem(id=m["id"], attrs=[_builder.KeyValue(**a) for a in m["attrs"]])
            for m in node["outputsMetadata"]
        ],
    }
    return _builder.GraphNode(**{**node, **converted})
