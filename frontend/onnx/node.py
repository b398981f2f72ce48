"""The view that a converter has of its node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ...diagnostics import UnsupportedError
from ...dialects import relax
from ...dialects.sym.expr import SymExpr, Var
from ...handles.relax.expr import Expr
from ...handles.struct_info import ShapeStructInfo, StructInfo
from ..block_builder import BlockBuilder
from ..importing.errors import ModelError, UnsupportedOperators
from ..importing.random_numbers import RandomNumbers
from .values import Result, Value, op


class NotConstant(UnsupportedOperators):
    """A value that determines axes or a rank is only known at run time.

    `sources` are the names of the model inputs whose contents it depends on.
    """

    def __init__(self, operators: Sequence[str], notes: Sequence[str], sources: frozenset[str]):
        self.sources = sources
        super().__init__(operators, notes)


class OnHost(UnsupportedOperators):
    """A node on strings or files: the package onnx computes it when the program runs, whatever the fallback is."""


class Graph(Protocol):
    """The interface to the enclosing graph that converters use; implemented in `graph.py`."""

    builder: BlockBuilder
    random: RandomNumbers

    def fresh_size(self, hint: str) -> Var:
        """Return a new symbolic size."""
        ...

    @property
    def copies(self) -> int:
        """How many copies of the current code are emitted: the product of `copies` of the enclosing subgraphs."""
        ...

    def subgraph(self, body: Any, inputs: Sequence[Result], *, inlined: bool = False, copies: int = 1) -> list[Result]:
        """Convert a subgraph of a node (an attribute) for these inputs, and return its outputs; it may use outer
        values.

        `inlined` means that they are the outputs of the node, in the same block. `copies` is the number of times
        that the node emits the subgraph.
        """
        ...


class Node:
    """A node of the graph: its attributes, and helpers with which a converter builds the results.

    `outputs` are the names of its outputs, `""` for an unused one; `version` is that of its domain.
    """

    def __init__(
        self,
        op_type: str,
        name: str,
        attributes: Mapping[str, Any],
        outputs: Sequence[str],
        version: int,
        graph: Graph,
    ):
        self.op_type = op_type
        self.name = name
        self.outputs = list(outputs)
        self.version = version
        self.graph = graph
        self._attributes = attributes

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes by name, with the defaults of ONNX's schema."""
        return self._attributes

    def attr(self, name: str, default: Any = None) -> Any:
        """Return an attribute, else its default in ONNX's schema, else `default`."""
        return self._attributes.get(name, default)

    def with_attributes(self, attributes: Mapping[str, Any]) -> Node:
        """Return the node with additional attributes."""
        own = {**self._attributes, **attributes}
        return Node(self.op_type, self.name, own, self.outputs, self.version, self.graph)

    def has(self, name: str) -> bool:
        """Return whether an attribute is present or has a default in ONNX's schema."""
        return name in self._attributes

    def wants(self, index: int) -> bool:
        """Return whether an output is used."""
        return index < len(self.outputs) and bool(self.outputs[index])

    def ints(self, name: str, value: Value | None = None, default: Any = None) -> Any:
        """Return the integers of the input `value`, else of the attribute `name`, else `default`.

        Raises `UnsupportedOperators` if the input is not known at import.
        """
        if value is None:
            return self.attr(name, default)
        if value.elements is None or any(e.constant is None for e in value.elements):
            raise self.not_constant(value, f"its input {name}")
        return [e.constant for e in value.elements]

    def number(self, value: Value | None, default: Any = None) -> Any:
        """Return the only element of a constant, or `default` if it is absent.

        Raises `UnsupportedOperators` if it is not known at import.
        """
        if value is None:
            return default
        if value.array is None or value.array.size != 1:
            raise self.not_constant(value, "a scalar among its inputs")
        return value.array.reshape(-1)[0].item()

    def extents(self, value: Value) -> list[SymExpr]:
        """Return an integer tensor as extents: the known ones, and new symbolic sizes read from the tensor."""
        if value.elements is not None:
            return value.elements
        count = value.sizes[0] if value.rank == 1 else None
        if count is None:
            raise self.not_constant(value, "a shape whose rank is not known")
        sizes: list[SymExpr] = [self.graph.fresh_size("d") for _ in range(count)]
        plain = value if value.dtype == "int64" else op("astype", value, dtype="int64")
        self.graph.builder.match_cast(self.emit(op("tensor_to_shape", plain)), ShapeStructInfo(sizes))
        return sizes

    def extent(self, value: Value) -> SymExpr:
        """Return the only element of an integer tensor as an extent, as `extents` does."""
        if value.elements is not None:
            return value.elements[0]
        return self.extents(Value(op("reshape", value, (1,))))[0]

    def with_extents(self, expr: Expr) -> Expr:
        """Bind a tensor whose extents are only known at run time, with new symbolic sizes."""
        bound = self.emit(expr)
        t = bound.ssa.type
        if not isinstance(t, relax.TensorType) or t.dims is not None or t.rank is None:
            return bound
        sizes = [self.graph.fresh_size("s") for _ in range(t.rank)]
        return self.graph.builder.match_cast(bound, StructInfo.of(relax.TensorType.of(sizes, t.element)))

    def emit(self, expr: Expr) -> Expr:
        """Bind an expression to a variable, so that it can be used several times."""
        return self.graph.builder.emit(expr)

    def draw(self) -> tuple[Expr, Expr]:
        """Return the seed and the offset of a random node; its attribute `seed` overrides the seed."""
        seed = self.attr("seed")
        fixed = None if seed is None else int(np.float32(seed).view(np.int32)) if isinstance(seed, float) else seed
        try:
            return self.graph.random.draw(fixed)
        except UnsupportedError as error:
            raise self.unsupported(error.message) from error

    def call_te(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Expr:
        """Call a tensor function; `Value`s and expressions among the arguments are passed as tensors."""
        return self.graph.builder.call_te(function, *args, **kwargs)

    def error(
        self, message: str, *, expected: object = None, found: object = None, hint: str | None = None
    ) -> ModelError:
        """Return an error for a model that is invalid at this node."""
        return ModelError(f"{self.op_type}: {message}", node=self.name, expected=expected, found=found, hint=hint)

    def not_constant(self, value: Result, what: str) -> NotConstant:
        """Return an error for a `value` that must be known at import; `what` describes it."""
        reason = f"{self.op_type} at {self.name}: {what} is computed when the program runs"
        return NotConstant([self.op_type], [reason], value.sources if isinstance(value, Value) else frozenset())

    def on_host(self, reason: str) -> OnHost:
        """Return what to raise where onnx's implementation is to compute the node when the program runs."""
        return OnHost([self.op_type], [f"{self.op_type} at {self.name}: {reason}"])

    def unsupported(self, reason: str) -> UnsupportedOperators:
        """Return an error for a valid node that cannot be converted."""
        return UnsupportedOperators([self.op_type], [f"{self.op_type} at {self.name}: {reason}"])
