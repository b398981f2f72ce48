"""Read model files: opening, versions, names and node order. No code of the model is executed."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...untrusted import FileError, MissingFileError, brief, checked_path
from ..importing.errors import InputError, ModelError
from ..importing.extras import require_onnx
from .mapped import Contents, read_message

if TYPE_CHECKING:
    from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

OLDEST = 7
"""The oldest supported version of the default domain."""

FunctionKey = tuple[str, str, str]


@dataclass(frozen=True)
class OpenedModel:
    """A model, its folder (None if unknown), and its memory-mapped weights (see `mapped.py`)."""

    proto: ModelProto
    folder: Path | None = None
    contents: Contents = field(default_factory=dict)


def open_model(model: Any) -> OpenedModel:
    """Open a model, a `ModelProto` or a path. The file must not be changed while the module is in use.

    Raises `InputError` for other arguments, `ModelError` for a missing file, one that is not a model, or a model of an
    opset before 7 that cannot be converted, and `MissingPackage` without the package onnx.
    """
    if isinstance(model, str | os.PathLike):
        _require_file(model)
    require_onnx()
    from google.protobuf.message import DecodeError
    from onnx import ModelProto

    if isinstance(model, ModelProto):
        _require_text(model)
        return OpenedModel(_upgraded(model))
    if not isinstance(model, str | os.PathLike):
        raise InputError("not a model", expected="an onnx.ModelProto or a path", found=type(model).__name__)
    path, shown = Path(model), brief(os.fspath(model))
    proto = ModelProto()
    with _reading(model):
        message, contents = read_message(path)
    try:
        proto.ParseFromString(message)
    except DecodeError as error:
        raise ModelError("the file is not an ONNX model, or is corrupted", found=shown, notes=[str(error)]) from error
    _require_text(proto)
    return OpenedModel(_upgraded(proto), path.resolve().parent, contents)


def _require_file(path: str | os.PathLike[str]) -> None:
    """Raise `ModelError` if a file cannot be read, whatever packages are installed."""
    with _reading(path):
        checked_path(path)


@contextmanager
def _reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert a `FileError` inside to a `ModelError`."""
    try:
        yield
    except FileError as error:
        problem = "there is no such file" if isinstance(error, MissingFileError) else error.message
        raise ModelError(problem, expected=error.expected, found=brief(os.fspath(path))) from error


def _upgraded(model: ModelProto) -> ModelProto:
    """Return a model of opset 7 for one of an older opset, whose operators broadcast by attributes."""
    version = versions(model.opset_import).get("", OLDEST)
    if not 0 < version < OLDEST:
        return model
    from onnx.version_converter import ConvertError, convert_version

    try:
        return convert_version(model, OLDEST)
    except (ConvertError, RuntimeError) as error:  # the second where an operator has no adapter
        raise ModelError(
            f"the model uses opset {version}, which onnx.version_converter does not convert",
            expected=f"opset {OLDEST} or later",
            notes=[str(error).splitlines()[0].rpartition(": ")[2]],
        ) from error


def _require_text(model: ModelProto) -> None:
    """Raise `ModelError` for names that are not UTF-8, which protobuf returns as bytes."""
    stack: list[Any] = [model]
    while stack:
        for kind, value in stack.pop().ListFields():
            values: Any = [value] if isinstance(value, str | bytes) or hasattr(value, "ListFields") else value
            if kind.type == kind.TYPE_MESSAGE:
                stack += values
            elif kind.type == kind.TYPE_STRING and any(isinstance(text, bytes) for text in values):
                raise ModelError(
                    "the file is not an ONNX model, or is corrupted", found=f"{kind.full_name} {brief(value)}"
                )


def domain_of(text: str) -> str:
    """Return the canonical name of a domain: the default domain has two names."""
    return "" if text == "ai.onnx" else text


def versions(imports: Iterable[Any]) -> dict[str, int]:
    """Return the version of each domain that a model or a function imports."""
    return {domain_of(entry.domain): entry.version for entry in imports}


def model_versions(model: ModelProto, opset: int | None) -> dict[str, int]:
    """Return the version of each domain, with `opset` for the default domain if it is not None.

    Raises `ModelError` if there is no version, or an unknown one.
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
            hint="newer models need a newer onnx",
        )
    return table


def functions_of(model: ModelProto) -> dict[FunctionKey, FunctionProto]:
    """Return the functions of the model by domain, name and overload."""
    return {(domain_of(f.domain), f.name, getattr(f, "overload", "")): f for f in model.functions}


def node_name(node: NodeProto, index: int) -> str:
    """Return the name of a node for messages: its own, else that of its first output, else its position."""
    return node.name or next(filter(None, node.output), f"{node.op_type} {index}")


def subgraphs(node: NodeProto) -> list[GraphProto]:
    """Return the subgraphs of a node."""
    return [graph for a in node.attribute for graph in ([a.g] if a.HasField("g") else a.graphs)]


def all_nodes(graph: GraphProto | FunctionProto) -> Iterable[NodeProto]:
    """Return the nodes of a graph or function, including those of its subgraphs."""
    for node in graph.node:
        yield node
        for body in subgraphs(node):
            yield from all_nodes(body)


def used_around(graph: GraphProto) -> set[str]:
    """Return the names of outer values that a subgraph uses."""
    own = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    used: set[str] = set()
    for node in graph.node:
        used |= (inputs_of(node)) - own
        own |= set(node.output)
    return used | ({v.name for v in graph.output} - own)


def inputs_of(node: NodeProto) -> set[str]:
    """Return the names of all values that a node uses, including those used in its subgraphs."""
    names = {name for name in node.input if name}
    for body in subgraphs(node):
        names |= used_around(body)
    return names


def in_order(nodes: Sequence[NodeProto], known: Collection[str], outputs: Iterable[str]) -> list[NodeProto]:
    """Return the nodes that `outputs` depend on, in topological order.

    Raises `ModelError` if two nodes define the same name, if an input is undefined, and for cycles.
    """
    return _Order(nodes, known).of(outputs)


class _Order:
    """A topological sort of nodes."""

    def __init__(self, nodes: Sequence[NodeProto], known: Collection[str]):
        self._nodes = nodes
        self._known = known
        self._producer = _producers(nodes, known)
        self._done: dict[int, bool] = {}
        """False of a node whose inputs are visited, True of one that has its place."""

    def of(self, outputs: Iterable[str]) -> list[NodeProto]:
        """Return the nodes that `outputs` depend on, sorted."""
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
        """Return the nodes that node i depends on and that are not placed yet."""
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
