"""A module as a graph: a group for each function, with subgroups for dataflow blocks, branches and local functions.

In Relax, nodes are operations, parameters and results, and edges are values. In a tensor function, nodes are buffers
and blocks, and an edge is a buffer that a block reads or writes. Other functions have a node for each operation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from ...dialects import relax, tir
from ...dialects.dtypes import dtype_name
from ...dialects.names import name_of
from ..functions.lookup import callee_names, symbol_of

Path = tuple[str, ...]
_DTYPE = re.compile(r" : i\d+")
_WRAPPED = re.compile(r"#(?:sym\.expr|builtin\.int)<([^<>]*)>")


@dataclass(frozen=True)
class Node:
    """A node of a graph. `group` is the path from the outermost group; `kind` selects how it is drawn."""

    id: str
    label: str
    kind: str
    """`operation`, `call`, `parameter`, `result`, `constant`, `buffer` or `block`."""
    group: Path
    attributes: tuple[tuple[str, str], ...] = ()
    outputs: tuple[str, ...] = ()
    callees: tuple[str, ...] = ()


@dataclass(frozen=True)
class Edge:
    """A value from an output of one node to an input of another."""

    source: str
    target: str
    label: str = ""
    output: int = 0
    input: int = 0


@dataclass
class Graph:
    """Nodes in program order, the edges between them, and the names of the functions."""

    nodes: list[Node] = field(default_factory=list[Node])
    edges: list[Edge] = field(default_factory=list[Edge])
    functions: list[str] = field(default_factory=list[str])


def graph_of(module: ModuleOp) -> Graph:
    """Return the graph of all functions of a module."""
    graph = Graph()
    for number, op in enumerate(module.body.ops):
        name = symbol_of(op) or f"{op.name} {number}"
        graph.functions.append(name)
        kind = _TensorFunction if isinstance(op, tir.FuncOp) else _Function
        kind(graph, name).add(op)
    return graph


def short_type(t: Attribute) -> str:
    """Return a type as edges show it: `[n, 128] float32`."""
    if isinstance(t, relax.TensorType | tir.BufferType):
        dims = t.dims
        element = t.element if isinstance(t, relax.TensorType) else t.dtype
        shape = "[…]" if dims is None else f"[{', '.join(_DTYPE.sub('', str(d)) for d in dims)}]"
        return shape if element is None else f"{shape} {dtype_name(element)}"
    if isinstance(t, TupleType):
        return f"({', '.join(map(short_type, t.types))})"
    return str(t).removeprefix("!relax.").removeprefix("!tir.")


class _Builder:
    """Builder of the graph of one function."""

    def __init__(self, graph: Graph, function: str):
        self._graph, self._function = graph, function
        self._sources: dict[SSAValue, tuple[str, int]] = {}
        self._count = 0

    def node(self, label: str, kind: str, group: Path, op: Operation | None = None) -> str:
        """Add a node and return its id."""
        self._count += 1
        number = f"{self._function}:{self._count}"
        outputs = tuple(short_type(r.type) for r in op.results) if op is not None else ()
        callees = tuple(callee_names(op)) if op is not None else ()
        attributes = tuple(_attributes(op)) if op is not None else ()
        self._graph.nodes.append(Node(number, label, kind, group, attributes, outputs, callees))
        return number

    def value(self, value: SSAValue, node: str, output: int = 0) -> None:
        """Record the node that produces a value."""
        self._sources[value] = node, output

    def edge(self, value: SSAValue, target: str, index: int = 0) -> None:
        """Add the edge of a value to a node that uses it; none if no node produces the value."""
        source = self._sources.get(value)
        if source is not None:
            self._graph.edges.append(Edge(source[0], target, short_type(value.type), source[1], index))

    def parameters(self, block: Block, group: Path) -> None:
        """Add a node for each argument of a block."""
        for argument in block.args:
            label = f"{name_of(argument) or 'argument'}: {short_type(argument.type)}"
            kind = "buffer" if isinstance(argument.type, tir.BufferType) else "parameter"
            self.value(argument, self.node(label, kind, group))


class _Function(_Builder):
    """A function of Relax, or of another dialect."""

    def add(self, op: Operation) -> None:
        """Add the function."""
        group = (self._function,)
        for region in op.regions:
            for block in region.blocks:
                self.parameters(block, group)
                self._block(block, group)
        if not op.regions or not any(r.blocks for r in op.regions):
            self.node(op.name, "operation", group, op)

    def _block(self, block: Block, group: Path) -> None:
        for op in block.ops:
            if isinstance(op, relax.DataflowOp):
                self._dataflow(op, group)
            elif not _is_leaf(op) and not isinstance(op, relax.OutputOp | relax.YieldOp):
                self._operation(op, group)

    def _dataflow(self, op: relax.DataflowOp, group: Path) -> None:
        body = op.regions[0].block
        self._count += 1
        self._block(body, (*group, f"dataflow {self._count}"))
        last = body.last_op
        for result, inner in zip(op.results, last.operands if last is not None else (), strict=False):
            source = self._sources.get(inner)
            if source is not None:
                self.value(result, *source)

    def _operation(self, op: Operation, group: Path) -> None:
        node = self.node(_label(op), _kind(op), group, op)
        for index, operand in enumerate(op.operands):
            self.edge(operand, node, index)
        for index, result in enumerate(op.results):
            self.value(result, node, index)
        names, own = _REGIONS.get(type(op), ()), f"{_label(op)} {self._count}"
        for number, region in enumerate(op.regions):
            inner = (*group, own, *names[number : number + 1])
            for block in region.blocks:
                self.parameters(block, inner)
                self._block(block, inner)
                if isinstance(block.last_op, relax.YieldOp):
                    self.edge(block.last_op.operands[0], node, number + 1)


class _TensorFunction(_Builder):
    """A tensor function: its buffers and blocks."""

    def add(self, op: Operation) -> None:
        """Add the function."""
        group = (self._function,)
        self.parameters(op.regions[0].block, group)
        for inner in op.walk():
            for result in inner.results:
                if isinstance(result.type, tir.BufferType):
                    label = f"{name_of(result) or 'buffer'}: {short_type(result.type)}"
                    self.value(result, self.node(label, "buffer", group))
            if isinstance(inner, tir.BlockOp):
                self._block(inner, group)

    def _block(self, block: tir.BlockOp, group: Path) -> None:
        node = self.node(block.block_name.data, "block", group, block)
        for op in block.body.block.ops:
            if isinstance(op, tir.ReadsOp):
                self.edge(op.buffer, node)
            elif isinstance(op, tir.WritesOp) and op.buffer in self._sources:
                buffer = self._sources[op.buffer][0]
                self._graph.edges.append(Edge(node, buffer, short_type(op.buffer.type)))


_REGIONS: dict[type[Operation], tuple[str, ...]] = {relax.IfOp: ("then", "else")}


def _is_leaf(op: Operation) -> bool:
    """Return whether an op is shown as an attribute of its users: a shape, a number, a string, a function."""
    return isinstance(op, relax.LEAVES) and not isinstance(op, relax.ConstantOp)


def _label(op: Operation) -> str:
    callees = [f"@{name}" for name in callee_names(op)]
    return " ".join([op.name.removeprefix("relax."), *callees])


def _kind(op: Operation) -> str:
    if isinstance(op, relax.ReturnOp):
        return "result"
    if isinstance(op, relax.ConstantOp):
        return "constant"
    return "call" if any(True for _ in callee_names(op)) else "operation"


def _attributes(op: Operation) -> Iterator[tuple[str, str]]:
    """Yield the attributes of an op as texts: its name in the program, leaf operands, attributes."""
    names = [f"%{name}" for r in op.results if (name := name_of(r)) is not None]
    if names:
        yield "name", ", ".join(names)
    for index, operand in enumerate(op.operands):
        if isinstance(operand, OpResult) and _is_leaf(operand.op):
            yield f"operand {index}", str(operand.op)
    for name, value in (*op.properties.items(), *op.attributes.items()):
        if not isinstance(value, relax.TensorDataAttr) and not name.endswith("SegmentSizes"):
            yield name, _WRAPPED.sub(r"\1", str(value))
