"""Graphs as DOT, the language of Graphviz."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .nodes import Graph, Node, Path

_STYLES = {
    "parameter": 'shape=ellipse, style=filled, fillcolor="#dbe9f6"',
    "result": 'shape=ellipse, style=filled, fillcolor="#f6e3db"',
    "constant": 'shape=note, style=filled, fillcolor="#eeeeee"',
    "call": 'style="rounded,filled", fillcolor="#e2f0d9"',
    "buffer": "shape=cylinder",
    "block": 'style=filled, fillcolor="#fff3cd"',
    "operation": "style=rounded",
}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_LONGEST = 200
"""Maximum length of an attribute in a tooltip."""


def dot_text(graph: Graph) -> str:
    """Return the graph as DOT: a cluster for each group, edges with their types."""
    lines = ["digraph module {", "  node [shape=box, fontname=Helvetica, fontsize=10];", "  edge [fontsize=8];"]
    lines += _group(graph.nodes, (), 0)
    for edge in graph.edges:
        lines.append(f"  {quoted(edge.source)} -> {quoted(edge.target)} [label={quoted(edge.label)}];")
    return "\n".join([*lines, "}", ""])


def quoted(text: str) -> str:
    """Return a DOT string literal with quotes, backslashes and line breaks escaped."""
    text = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + text.replace("\n", "\\n") + '"'


def _group(nodes: Sequence[Node], path: Path, depth: int) -> Iterator[str]:
    """Yield the lines of a group: its own nodes, and its subgroups, in program order."""
    pad = "  " * (depth + 1)
    inner: dict[str, list[Node]] = {}
    for node in nodes:
        if len(node.group) == depth:
            texts = f"label={quoted(node.label)}, tooltip={quoted(_tooltip(node))}"
            yield f"{pad}{quoted(node.id)} [{texts}, {_STYLES[node.kind]}];"
        else:
            inner.setdefault(node.group[depth], []).append(node)
    for name, members in inner.items():
        yield f"{pad}subgraph {quoted('cluster ' + '/'.join((*path, name)))} {{"
        yield f"{pad}  label={quoted(name)}; color={'black' if depth == 0 else 'gray'};"
        yield from _group(members, (*path, name), depth + 1)
        yield f"{pad}}}"


def _tooltip(node: Node) -> str:
    lines = [f"{name}: {value[:_LONGEST]}" for name, value in node.attributes]
    return "\n".join([*lines, *(f"gives {t}" for t in node.outputs)]) or node.label
