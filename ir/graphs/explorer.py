"""Graphs in the format of Model Explorer: a graph for each function, groups as namespaces.

The result of `explorer_graphs` has the fields of `model_explorer.graph_builder`; Model Explorer also opens it as JSON.
"""

from __future__ import annotations

import json
from typing import Any

from .nodes import Edge, Graph, Node


def explorer_graphs(graph: Graph) -> list[dict[str, Any]]:
    """Return the graphs of the functions, in order; a call links to the graph of its callee."""
    incoming: dict[str, list[Edge]] = {}
    for edge in graph.edges:
        incoming.setdefault(edge.target, []).append(edge)
    nodes: dict[str, list[dict[str, Any]]] = {name: [] for name in graph.functions}
    for node in graph.nodes:
        nodes[node.group[0]].append(_node(node, incoming.get(node.id, []), nodes))
    return [{"id": name, "nodes": members} for name, members in nodes.items()]


def explorer_text(graph: Graph, label: str) -> str:
    """Return the graphs as JSON for Model Explorer; `label` is the name of the collection."""
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
