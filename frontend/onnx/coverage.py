"""Coverage of a model: each operator has a converter, is expanded by its definition, or is unsupported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..importing.report import Coverage, Status
from . import operators  # noqa: F401 - its modules fill the table
from .fallback import has_reference
from .functions import has_body, model_function, schema_of
from .model import FunctionKey, all_nodes, domain_of, node_name, versions
from .table import Converters, lookup

if TYPE_CHECKING:
    from onnx import FunctionProto, GraphProto, NodeProto

Functions = Mapping[FunctionKey, "FunctionProto"]


def coverage_of(
    graph: GraphProto,
    opsets: Mapping[str, int],
    functions: Functions,
    converters: Converters | None = None,
    fallback: bool = False,
) -> Coverage:
    """Return the operators of a graph, of its subgraphs, and of the model functions that it may call."""
    report = Coverage()
    converters = converters or Converters()
    _add(report, all_nodes(graph), opsets, functions, converters, fallback)
    for function in functions.values():
        inner = {**opsets, **versions(function.opset_import)}
        _add(report, function.node, inner, functions, converters, fallback)
    return report


def _add(
    report: Coverage,
    nodes: Iterable[NodeProto],
    opsets: Mapping[str, int],
    functions: Functions,
    converters: Converters,
    fallback: bool,
) -> None:
    for i, node in enumerate(nodes):
        name = f"{node.domain}.{node.op_type}" if domain_of(node.domain) else node.op_type
        report.add(name, _status(node, opsets, functions, converters, fallback), node_name(node, i))


def _status(
    node: NodeProto, opsets: Mapping[str, int], functions: Functions, converters: Converters, fallback: bool
) -> Status:
    """Return how a node is handled."""
    domain = domain_of(node.domain)
    version = opsets.get(domain, 1)
    if model_function(functions, node) is not None:
        return Status.EXPANDED
    if converters.lookup(domain, node.op_type, version) is not None:
        return Status.CONVERTED
    schema = schema_of(domain, node.op_type, version)
    if has_body(schema):
        return Status.EXPANDED
    runs = fallback and schema is not None and has_reference(domain, node.op_type, version)
    return Status.FALLBACK if runs else Status.UNSUPPORTED


def has_branches(graph: GraphProto, opsets: Mapping[str, int], functions: Mapping[FunctionKey, FunctionProto]) -> bool:
    """Return whether a graph, a function that it may call, or the definition of an operator contains branches."""
    nodes = [*all_nodes(graph), *(n for f in functions.values() for n in f.node)]
    kinds = {(domain_of(n.domain), n.op_type) for n in nodes}
    return ("", "If") in kinds or any(_defined_by_branches(*kind, opsets) for kind in kinds)


def _defined_by_branches(domain: str, name: str, opsets: Mapping[str, int]) -> bool:
    version = opsets.get(domain, 1)
    schema = None if lookup(domain, name, version) is not None else schema_of(domain, name, version)
    return schema is not None and schema.has_function and any(n.op_type == "If" for n in schema.function_body.node)
