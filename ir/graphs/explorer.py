"""Graphs as Model Explorer has them: a graph for each function, groups as namespaces.

What `explorer_graphs` gives has the fields of `model_explorer.graph_builder`; as JSON Model Explorer opens it, too.
"""

from __future__ import annotations

import json
from typing import Any

from .nodes import Edge, Graph, Node


def explorer_graphs(graph: Graph) -> list[dict[str, Any]]:
    """The graphs of the functions, in their order; a call leads to the graph of what it calls."""
    incoming: dict[str, list[Edge]] = {}
    for edge in graph.edges:
        incoming.setdefault(edge.target, []).append(edge)
    nodes: dict[str, list[dict[str, Any]]] = {name: [] for name in graph.functions}
    for node in graph.nodes:
        nodes[node.group[0]].append(_node(node, incoming.get(node.id, []), nodes))
    return [{"id": name, "nodes": members} for name, members in nodes.items()]


def explorer_text(graph: Graph, label: str) -> str:
    """The graphs as a file of JSON, which Model Explorer opens; `label` is what it calls them."""
    return json.dumps({"label": label, "graphs": explorer_graphs(graph)}, indent=1) + "\n"


def _node(node: Node, edges: list[Edge], functions: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": node.id,
        "label": node.label,
        "namespace": "/".join(part.replace("/", "_") for part in node.group[1:]),
        "subgraphIds": [name for name in node.callees if name in functions],
        "attrs": [{"key": key, "value": value} for key, value in node.attributes],
        "incomingEdges": [
            {"sourceNodeId": e.source, "sourceNodeOutputId": str(e.output), "targetNodeInputId": str(e.input)}
            for e in edges
        ],
        "outputsMetadata": [
            {"id": str(index), "attrs": [{"key": "type", "value": text}]} for index, text in enumerate(node.outputs)
        ],
    }
