"""A model file as it is read: opened, its versions, its names, the order of its nodes. Nothing in it is run."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...untrusted import FileError, MissingFileError, brief
from ..importing.errors import InputError, ModelError
from ..importing.extras import require_onnx
from .mapped import Contents, read_message

if TYPE_CHECKING:
    from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

OLDEST = 7
"""The oldest version of the default domain that is read."""

FunctionKey = tuple[str, str, str]


@dataclass(frozen=True)
class OpenedModel:
    """A model, the folder in which it lies, None where that is not known, and what of it is mapped (`mapped.py`)."""

    proto: ModelProto
    folder: Path | None = None
    contents: Contents = field(default_factory=dict)


def open_model(model: Any) -> OpenedModel:
    """The model, given as itself or by its path. The file must not be changed as long as the module is in use.

    Raises `InputError` for what is neither, `ModelError` for a file that is missing or no model.
    """
    require_onnx()
    from google.protobuf.message import DecodeError
    from onnx import ModelProto

    if isinstance(model, ModelProto):
        _require_text(model)
        return OpenedModel(model)
    if not isinstance(model, str | os.PathLike):
        raise InputError("not a model", expected="an onnx.ModelProto or a path", found=type(model).__name__)
    path, shown = Path(model), brief(os.fspath(model))
    proto = ModelProto()
    try:
        message, contents = read_message(path)
    except FileError as error:
        problem = "there is no such file" if isinstance(error, MissingFileError) else error.message
        raise ModelError(problem, expected=error.expected, found=shown) from error
    try:
        proto.ParseFromString(message)
    except DecodeError as error:
        raise ModelError("the file is no ONNX model, or a damaged one", found=shown, notes=[str(error)]) from error
    _require_text(proto)
    return OpenedModel(proto, path.resolve().parent, contents)


def _require_text(model: ModelProto) -> None:
    """Raise `ModelError` for names that are no UTF-8: protobuf gives their bytes."""
    stack: list[Any] = [model]
    while stack:
        for kind, value in stack.pop().ListFields():
            values: Any = [value] if isinstance(value, str | bytes) or hasattr(value, "ListFields") else value
            if kind.type == kind.TYPE_MESSAGE:
                stack += values
            elif kind.type == kind.TYPE_STRING and any(isinstance(text, bytes) for text in values):
                raise ModelError(
                    "the file is no ONNX model, or a damaged one", found=f"{kind.full_name} {brief(value)}"
                )


def domain_of(text: str) -> str:
    """The name of a domain: the default one has two."""
    return "" if text == "ai.onnx" else text


def versions(imports: Iterable[Any]) -> dict[str, int]:
    """The version of each domain that a model or a function imports."""
    return {domain_of(entry.domain): entry.version for entry in imports}


def model_versions(model: ModelProto, opset: int | None) -> dict[str, int]:
    """The version of each domain, that of the default one being `opset` where it is given.

    Raises `ModelError` where there is no version, or none that is known here.
    """
    from onnx import defs

    table = versions(model.opset_import)
    if opset is not None:
        table[""] = opset
    newest = defs.onnx_opset_version()
    version = table.get("")
    if version is None and not table:
        raise ModelError("the model does not say which version of the operators it uses", hint="from_onnx(…, opset=…)")
    if version is not None and not OLDEST <= version <= newest:
        raise ModelError(
            f"the model uses opset {version}",
            expected=f"{OLDEST} to {newest}",
            hint="onnx.version_converter converts older models; newer ones need a newer onnx",
        )
    return table


def functions_of(model: ModelProto) -> dict[FunctionKey, FunctionProto]:
    """The functions of the model by domain, name and overload."""
    return {(domain_of(f.domain), f.name, getattr(f, "overload", "")): f for f in model.functions}


def node_name(node: NodeProto, index: int) -> str:
    """The name of a node, for messages: its own, else that of its first output, else its place."""
    return node.name or next(filter(None, node.output), f"{node.op_type} {index}")


def subgraphs(node: NodeProto) -> list[GraphProto]:
    """The bodies of a node."""
    return [graph for a in node.attribute for graph in ([a.g] if a.HasField("g") else a.graphs)]


def all_nodes(graph: GraphProto | FunctionProto) -> Iterable[NodeProto]:
    """The nodes of a graph or a function and of the bodies in it."""
    for node in graph.node:
        yield node
        for body in subgraphs(node):
            yield from all_nodes(body)


def used_around(graph: GraphProto) -> set[str]:
    """The names of values around a body that it uses."""
    own = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    used: set[str] = set()
    for node in graph.node:
        used |= (inputs_of(node)) - own
        own |= set(node.output)
    return used | ({v.name for v in graph.output} - own)


def inputs_of(node: NodeProto) -> set[str]:
    """The names of all values that a node uses, those that only its bodies use as well."""
    names = {name for name in node.input if name}
    for body in subgraphs(node):
        names |= used_around(body)
    return names


def in_order(nodes: Sequence[NodeProto], known: Collection[str], outputs: Iterable[str]) -> list[NodeProto]:
    """The nodes on which `outputs` depend, each after those whose results it uses.

    Raises `ModelError` where two nodes give one name, where nothing gives what a node uses, and for circles.
    """
    return _Order(nodes, known).of(outputs)


class _Order:
    """Nodes in the order of what they need."""

    def __init__(self, nodes: Sequence[NodeProto], known: Collection[str]):
        self._nodes = nodes
        self._known = known
        self._producer = _producers(nodes, known)
        self._done: dict[int, bool] = {}
        """False of a node whose inputs are visited, True of one that has its place."""

    def of(self, outputs: Iterable[str]) -> list[NodeProto]:
        """The nodes that `outputs` need."""
        order: list[int] = []
        for name in outputs:
            if name in self._known:
                continue
            if name not in self._producer:
                raise ModelError(f"nothing gives the output '{name}'")
            self._visit(self._producer[name], order)
        return [self._nodes[i] for i in order]

    def _visit(self, last: int, order: list[int]) -> None:
        stack = [last]
        while stack:
            i = stack[-1]
            if i not in self._done:
                self._done[i] = False
                stack += self._unplaced_producers(i)
                continue
            stack.pop()
            if not self._done[i]:
                self._done[i] = True
                order.append(i)

    def _unplaced_producers(self, i: int) -> list[int]:
        """The nodes without a place yet whose results node i uses."""
        needed: list[int] = []
        for name in sorted(inputs_of(self._nodes[i])):
            if name in self._known:
                continue
            j = self._producer.get(name)
            if j is None:
                raise ModelError(f"nothing gives its input '{name}'", node=node_name(self._nodes[i], i))
            if self._done.get(j) is False:
                raise ModelError("the graph has a circle", node=node_name(self._nodes[i], i), found=f"'{name}'")
            if j not in self._done:
                needed.append(j)
        return needed


def _producers(nodes: Sequence[NodeProto], known: Collection[str]) -> dict[str, int]:
    producer: dict[str, int] = {}
    for i, node in enumerate(nodes):
        for name in filter(None, node.output):
            if name in producer or name in known:
                raise ModelError(f"the value '{name}' is given twice", node=node_name(node, i))
            producer[name] = i
    return producer
