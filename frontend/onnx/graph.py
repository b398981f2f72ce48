"""Conversion of a graph: nodes become bindings, in topological order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult, SSAValue

from ...diagnostics import TiraxError, UnsupportedError
from ...dialects import relax
from ...dialects.relax.types import free_symbolic_vars
from ...dialects.sym.expr import SymExpr
from ...dialects.sym.expr import Var as SizeVar
from ...handles.relax.expr import Expr, Var
from ...handles.struct_info import StructInfo
from ...interpreter.run import InterpreterError, make_interpreter
from ..block_builder import BlockBuilder
from ..importing.errors import ModelError, NotInferred, UnsupportedOperators
from ..importing.extras import MissingPackage
from ..importing.random_numbers import RandomNumbers
from ..importing.report import Coverage, Status
from . import operators  # noqa: F401 - its modules fill the table
from .attributes import attributes_of, default_attributes, with_references
from .branches import RanksDiffer, Side, either
from .expansion import MOST_NESTED
from .fallback import call_reference
from .functions import model_function, schema_body, schema_of
from .model import FunctionKey, domain_of, in_order, inputs_of, node_name, versions
from .node import Node, OnHost
from .shape_arithmetic import fold_shape_node
from .sizes import Declared, Sizes
from .strings import Strings, constant
from .table import Converter, Converters, absent_input
from .tensors import TensorReader
from .values import MOST_KNOWN, Result, TensorSequence, Value

Array = np.ndarray[Any, Any]


_KEPT = frozenset({"relax.dequantize"})
"""Operators that are not folded: later passes match them on integer data."""


class _NotConstant(Exception):
    pass


def evaluate_small(expr: Expr) -> Array | None:
    """Evaluate an unbound expression of small constants, or return None for any other expression."""
    value = expr.ssa
    if not isinstance(value, OpResult) or value.op.parent is not None:
        return None
    if isinstance(value.op, relax.ConstantOp):
        return value.op.value.numpy()
    if not _small(value):
        return None
    try:
        result = _evaluate(value)
    except (_NotConstant, InterpreterError):
        return None
    return result if isinstance(result, np.ndarray) else None


def _small(value: SSAValue) -> bool:
    t = value.type
    if not isinstance(t, relax.TensorType) or t.element is None:
        return False
    extents = [d.constant for d in t.dims] if t.dims is not None else [0]
    return None not in extents and math.prod(e for e in extents if e is not None) <= MOST_KNOWN


def _evaluate(value: SSAValue) -> Any:
    op = value.owner
    if isinstance(op, relax.ConstantOp):
        if not _small(value):
            raise _NotConstant
        return op.value.numpy()
    if isinstance(op, relax.ShapeOp):
        if free_symbolic_vars([value.type]):
            raise _NotConstant
        return tuple(d.data.constant for d in op.values_)
    if isinstance(op, relax.TupleOp):
        return tuple(_evaluate(f) for f in op.fields_)
    if isinstance(op, relax.TupleGetItemOp) and op.parent is None:
        return _evaluate(op.operands[0])[op.index.data]
    if isinstance(op, relax.PrimValueOp | relax.StringOp | relax.DataTypeOp) or (
        isinstance(op, relax.Operator) and op.parent is None and op.PURE and op.name not in _KEPT
    ):
        if free_symbolic_vars([value.type]):
            raise _NotConstant
        interpreter, semantics = _interpreter()
        arguments = tuple(_evaluate(v) for v in op.operands)
        (result,) = semantics.table()[type(op)](interpreter, op, arguments)
        return result
    raise _NotConstant


@cache
def _interpreter() -> Any:
    return make_interpreter(ModuleOp([]))


if TYPE_CHECKING:
    from onnx import FunctionProto, GraphProto, NodeProto

_MOST_FORKS = 64
"""The maximal number of branches after which the rest of a graph is converted twice."""


@dataclass
class World:
    """The state shared by all graphs of a model."""

    builder: BlockBuilder
    random: RandomNumbers
    functions: Mapping[FunctionKey, FunctionProto]
    reader: TensorReader
    sizes: Sizes
    converters: Converters
    declared: Mapping[str, Declared]
    """The declared shapes of intermediate values, by name; those that are used are checked at run time."""
    fallback: bool = False
    """Whether operators without a converter run in the package onnx."""
    depth: int = 0
    forks: int = 0
    copies: int = 1
    coverage: Coverage = field(default_factory=Coverage)
    """The operators that run in the package onnx."""


class Scope:
    """The values of one graph by name; values of enclosing graphs are visible in a subgraph, but not in a function."""

    def __init__(
        self,
        world: World,
        opsets: Mapping[str, int],
        around: Scope | None = None,
        attributes: Mapping[str, Any] | None = None,
        path: str = "",
        *,
        inlined: bool = False,
    ):
        self.world = world
        self.builder = world.builder
        self.random = world.random
        self.opsets = opsets
        self.around = around
        self.attributes = attributes or {}
        self.path = path
        self.inlined = inlined
        """Whether what this graph gives is all that its node does, in the same block."""
        self.values: dict[str, Result] = {}

    # The interface of converters: `node.Graph`.

    def fresh_size(self, hint: str) -> SizeVar:
        """Return a new symbolic size."""
        return self.world.sizes.fresh(hint)

    @property
    def copies(self) -> int:
        """How many copies of the current code are emitted: the product of `copies` of the enclosing subgraphs."""
        return self.world.copies

    def subgraph(
        self, body: GraphProto, inputs: Sequence[Result], *, inlined: bool = False, copies: int = 1
    ) -> list[Result]:
        """Convert a subgraph of a node for these inputs and return its outputs; it may use values of this scope.

        `inlined` means that they are the outputs of the node, in the same block. `copies` is the number of times
        that the node emits the subgraph.
        """
        inner = Scope(self.world, self.opsets, self, self.attributes, self.path, inlined=inlined)
        if len(inputs) != len(body.input):
            raise ModelError(f"the body '{body.name}' has other inputs", expected=len(inputs), found=len(body.input))
        inner.values.update(zip((v.name for v in body.input), inputs, strict=True))
        for tensor in body.initializer:
            inner.values[tensor.name] = constant(self.world.reader.read(tensor))
        self.world.copies *= copies
        try:
            return inner.run_graph(body)
        finally:
            self.world.copies //= copies

    # Values.

    def visible(self) -> dict[str, Result]:
        """Return all values visible in this scope, by name."""
        return self.values if self.around is None else {**self.around.visible(), **self.values}

    def __getitem__(self, name: str) -> Result:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.around
        raise ModelError(f"nothing gives the value '{name}'")

    # Nodes.

    def run_graph(self, graph: GraphProto) -> list[Result]:
        """Convert the nodes of a graph and return its outputs."""
        return self.run(graph.node, [v.name for v in graph.output])

    def run(self, nodes: Sequence[NodeProto], outputs: Sequence[str]) -> list[Result]:
        """Convert the nodes that `outputs` depend on, and return these outputs."""
        return self._run_from(0, in_order(nodes, self.visible(), outputs), outputs)

    def _run_from(self, first: int, nodes: Sequence[NodeProto], outputs: Sequence[str]) -> list[Result]:
        for i in range(first, len(nodes)):
            name = self.path + node_name(nodes[i], i)
            with _at(nodes[i], name):
                try:
                    self._convert(nodes[i], name)
                except RanksDiffer as fork:
                    return self._fork_rest(fork, i, nodes, outputs)
        return [self[name] for name in outputs]

    def _fork_rest(self, fork: RanksDiffer, i: int, nodes: Sequence[NodeProto], outputs: Sequence[str]) -> list[Result]:
        """Convert the rest of the graph in both sides of the branch at node `i`, and return the outputs."""
        self.world.forks += 1
        if self.world.forks > _MOST_FORKS:
            raise UnsupportedOperators(["If"], [f"more than {_MOST_FORKS} branches give tensors of other ranks"])

        def rest(side: Side) -> list[Value]:
            inner = Scope(self.world, self.opsets, self, self.attributes, self.path)
            inner._store(nodes[i], side(), self._sources(nodes[i]))
            values = [v for v in inner._run_from(i + 1, nodes, outputs) if isinstance(v, Value)]
            if len(values) < len(outputs):
                raise UnsupportedOperators(["If"], ["what follows a branch gives sequences or optionals"])
            return values

        try:
            results = either(self.builder, fork.condition, *(partial(rest, side) for side in fork.sides))
        except RanksDiffer as error:
            if self.inlined:
                raise
            text = "the ranks of what its graph gives are known only when the program runs"
            raise UnsupportedOperators(["If"], [f"If at {node_name(nodes[i], i)}: {text}"]) from error
        return [self._materialize(value, self._sources(nodes[i])) for value in results]

    def _convert(self, written: NodeProto, name: str) -> None:
        proto = with_references(written, self.attributes)
        inputs = [self[n] if n else None for n in proto.input]
        while inputs and inputs[-1] is None:
            inputs.pop()
        function = model_function(self.world.functions, proto)
        if function is not None:
            self._store(proto, self._expand(function, proto, inputs, name), self._sources(proto))
            return
        domain = domain_of(proto.domain)
        version = self.opsets.get(domain, 1 if domain else None)
        if version is None:
            raise ModelError(f"the model imports no version of the domain '{domain or 'ai.onnx'}'")
        schema = schema_of(domain, proto.op_type, version)
        _check_count(schema, proto)
        attributes = attributes_of(proto, schema, self.world.reader)
        node = Node(proto.op_type, name, attributes, proto.output, version, self)
        results = fold_shape_node(node, inputs)
        if results is None:
            convert = self.world.converters.lookup(domain, proto.op_type, version)
            if convert is None:
                results = self._by_body(schema, proto, inputs, name, version)
            else:
                _check_present(proto, convert, inputs)
                results = self._by_converter(convert, node, schema, proto, inputs)
        self._store(proto, results, self._sources(proto))

    def _by_converter(self, convert: Converter, node: Node, schema: Any, proto: NodeProto, inputs: list[Result]) -> Any:
        try:
            if any(isinstance(x, Strings) for x in inputs):
                raise node.on_host("it takes strings")
            return convert(node, *inputs)
        except OnHost:
            results = call_reference(self.builder, self.world.sizes, schema, proto, inputs, node.version)
            if results is None:
                raise
            return results
        except (UnsupportedError, UnsupportedOperators, NotInferred):
            results = self._by_reference(schema, proto, inputs, node.version)
            if results is None:
                raise
            return results

    def _by_reference(self, schema: Any, proto: NodeProto, inputs: list[Result], version: int) -> list[Result] | None:
        """Let the package onnx compute a node when the program runs; None if it cannot, or must not."""
        if not self.world.fallback:
            return None
        results = call_reference(self.builder, self.world.sizes, schema, proto, inputs, version)
        if results is not None:
            self.world.coverage.add(proto.op_type, Status.FALLBACK)
        return results

    def _by_body(self, schema: Any, proto: NodeProto, inputs: list[Result], name: str, version: int) -> list[Result]:
        body = None if schema is None else schema_body(schema, proto, inputs, version)
        if body is None:
            results = self._by_reference(schema, proto, inputs, version)
            if results is not None:
                return results
            raise UnsupportedOperators([proto.op_type], [f"{proto.op_type} at {name}: it has no definition for this"])
        return self._expand(body, proto, inputs, name, default_attributes(schema))

    def _expand(
        self,
        body: FunctionProto,
        proto: NodeProto,
        inputs: list[Result],
        name: str,
        defaults: Mapping[str, Any] | None = None,
    ) -> list[Result]:
        """Inline a function for the inputs and attributes of a node, with `defaults` for missing attributes."""
        if self.world.depth == MOST_NESTED:
            raise ModelError(f"the function '{body.name}' calls itself")
        attributes = {a.name: a for a in (*(defaults or {}).values(), *body.attribute_proto, *proto.attribute)}
        opsets = {**self.opsets, **versions(body.opset_import)}
        requested = [n for n, outer in zip(body.output, proto.output, strict=False) if outer]
        inlined = requested == list(body.output)
        inner = Scope(self.world, opsets, None, attributes, f"{name}/", inlined=inlined)
        for i, n in enumerate(body.input):
            inner.values[n] = inputs[i] if i < len(inputs) else None
        inner.values[""] = None
        self.world.depth += 1
        try:
            results = dict(zip(requested, inner.run(body.node, requested), strict=True))
            return [results.get(n) for n in body.output]
        finally:
            self.world.depth -= 1

    def _sources(self, node: NodeProto) -> frozenset[str]:
        """Return the model inputs on whose contents the results of a node depend."""
        used = [self[n] for n in inputs_of(node)]
        return frozenset[str]().union(*(v.sources for v in used if isinstance(v, Value)))

    # Results.

    def _store(self, proto: NodeProto, results: Any, sources: frozenset[str]) -> None:
        values = list(results) if isinstance(results, tuple | list) and not _is_one(results) else [results]
        if len(values) < len(proto.output):
            raise UnsupportedOperators(
                [proto.op_type], [f"{proto.op_type}: {len(values)} of {len(proto.output)} outputs are converted"]
            )
        for name, value in zip(proto.output, values, strict=False):
            if name:
                declared = None if self.around or self.path else self.world.declared.get(name)
                self.values[name] = self._materialize(value, sources, declared)

    def _materialize(self, value: Any, sources: frozenset[str], declared: Declared | None = None) -> Result:
        """Return a value that can be used anywhere: folded if it is constant, else bound, with named extents.

        `sources` are the model inputs that it depends on.
        """
        if isinstance(value, Value):
            value.sources = value.sources or sources
        if value is None or isinstance(value, Value):
            return value
        if isinstance(value, TensorSequence):
            return TensorSequence(self._materialize(v, sources) for v in value)  # pyright: ignore[reportArgumentType]
        constant = evaluate_small(value)
        if constant is not None:
            return Value(array=constant)
        var = value if isinstance(value, Var) else self.builder.emit(value)
        result = Value(self._with_extents(var, declared))
        result.sources = sources
        return result

    def _with_extents(self, var: Var, declared: Declared | None) -> Var:
        """Return a tensor of known rank with named extents.

        Inferred extents that are numbers or single variables are kept; others are those that the model declares, or
        new symbolic sizes.
        """
        t = var.ssa.type
        if not isinstance(t, relax.TensorType) or t.rank is None:
            return var
        nothing: Declared = [None] * t.rank
        known = declared if declared is not None and len(declared) == t.rank else nothing
        inferred = nothing if t.dims is None else list(t.dims)
        dims = [
            i if i is not None and (d is None or _is_simple(i)) else d or self.fresh_size("s")
            for i, d in zip(inferred, known, strict=True)
        ]
        if tuple(dims) == t.dims:
            return var
        return self.builder.match_cast(var, StructInfo.of(relax.TensorType.of(dims, t.element)))


def _is_simple(extent: SymExpr) -> bool:
    return extent.constant is not None or isinstance(extent, SizeVar)


def _is_one(results: Any) -> bool:
    """Return whether a list represents a single result, a sequence of tensors."""
    return isinstance(results, TensorSequence)


@contextmanager
def _at(node: NodeProto, name: str) -> Iterator[None]:
    """Attach the node to errors raised in the body."""
    try:
        yield
    except (UnsupportedOperators, MissingPackage):
        raise
    except ModelError as error:
        if error.node is not None:
            raise
        error.node = name
        error.message = f"{node.op_type}: {error.message} (node '{name}')"
        raise
    except TiraxError as error:
        raise ModelError(
            f"{node.op_type}: {error.message}",
            node=name,
            expected=error.expected,
            found=error.found,
            hint=error.hint,
        ) from error
    except KeyError as error:  # a string looked up in a table
        raise ModelError(
            f"{node.op_type}: an attribute has a value that means nothing here", node=name, found=error.args[0]
        ) from error
    except (LookupError, ValueError, TypeError, ArithmeticError) as error:  # for an attribute that no operator has
        raise ModelError(f"{node.op_type}: {type(error).__name__}: {error}", node=name) from error


def _check_present(node: NodeProto, convert: Converter, inputs: Sequence[Result]) -> None:
    """Raise `ModelError` if a required input is absent."""
    absent = absent_input(convert, inputs)
    if absent is not None:
        raise ModelError(
            f"the input {absent} is absent, which the operator needs", found=", ".join(map(repr, node.input))
        )


def _check_count(schema: Any, proto: NodeProto) -> None:
    """Raise `ModelError` if the number of a node's inputs is not that of its operator."""
    if schema is not None and not schema.min_input <= len(proto.input) <= schema.max_input:
        raise ModelError(
            "the operator takes another number of inputs",
            expected=f"{schema.min_input} to {schema.max_input}",
            found=len(proto.input),
        )
