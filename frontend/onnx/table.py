"""The table of converters: which function converts an operator of ONNX, from which version on.

How a row is written (the files of `operators/`, a family a file with the names that the other rooms have):

    rows(simple("nn.relu"), "Relu")                     # y = relax.nn.relu(x); for plain operators of any version

    @converter("Softmax", since=13)                     # opset 13 and later, until a row with a higher `since`
    def softmax(node: Node, x: Value) -> Expr:
        return op("nn.softmax", x, axis=node.attr("axis"))

    @converter("Gelu", domain=MICROSOFT)                # a contrib operator

- **Inputs** come as `Value` by position; one that is absent is None, so give it a default:
  `bias: Value | None = None`. `*xs: Value` takes any number. A `Value` is passed to `op(…)` as it is. `x.dims`
  (symbolic expressions), `x.rank`, `x.dtype` are known or raise; `x.array` is a constant's contents or None;
  `x.elements` the integers of a small tensor as expressions (a shape, axes, pads), constant or not, or None where
  they are computed when the program runs.
- **Attributes**: `node.attr("axis")` is the attribute, or the default of ONNX's schema, or None;
  `node.attr("epsilon", 1e-5)` has a default of its own (contrib operators have no schema). Tensors are arrays,
  strings are `str`.
- **Attributes that became inputs** in later versions: `node.ints("axes", axes)` takes the input where it is there,
  else the attribute; it refuses values that are not known at import. `node.extents(value)` gives a shape as
  expressions, also one that is computed when the program runs (then of new symbolic sizes, which are checked).
- **Results** are an expression, a `Value`, or a tuple of them for several outputs. What is not bound yet is bound by
  the importer: no `emit` is needed, except by what is used by several outputs, which `node.emit(expr)` binds once.
  `node.outputs` says which outputs are asked for (names, "" for those that are not).
- **Constants** need no care: where all operands of a result are small constants, it is computed at import; integers of
  shapes are followed before a converter is asked (`shape_arithmetic.py`).
- **Tensor functions** where Relax has no operator: `node.call_te(function, x, …)` with `te`, or topi's.
- **What cannot be**: `raise node.unsupported("why")`; what is wrong in the model: `raise node.error("what", expected=…,
  found=…)`. Errors of operators (shapes, dtypes) get the node's name by themselves.
- **From outside**: a plug-in (docs/extending) has its rows in a module of its own; `from_onnx(…, custom_convert_map={
  "my.domain.Foo": convert})` takes functions of the same form, which come before the table's.
- An operator without a row is expanded through its function body, if ONNX or the model has one: write a row only where
  the body is slow, loses what a fast kernel would match, or needs what is not here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, signature
from typing import Any

from ...diagnostics import TiraxError
from ...dialects.relax.operator import OPERATORS
from ...handles.relax.expr import Expr
from ...tables import Table
from .node import Node
from .values import Value, op

MICROSOFT = "com.microsoft"

Converter = Callable[..., Any]
"""Of a node and its inputs: what stands for its outputs."""


@dataclass(frozen=True)
class Row:
    """A converter for the versions of an operator from `since` on."""

    since: int
    convert: Converter


CONVERTERS: Table[list[Row]] = Table("converter")
"""The rows of each operator, `Foo` or `domain.Foo`, newest version first."""


def converter(*names: str, since: int = 1, domain: str = "") -> Callable[[Converter], Converter]:
    """Make a function the converter of operators, for versions of the domain from `since` on."""

    def register(convert: Converter) -> Converter:
        for name in names:
            _add(f"{domain}.{name}" if domain else name, Row(since, convert))
        return convert

    return register


def _add(name: str, row: Row) -> None:
    others = [r for r in CONVERTERS.get(name, []) if r.since != row.since]
    if len(others) < len(CONVERTERS.get(name, [])):
        raise TiraxError(f"converter '{name}' of version {row.since} is already registered")
    CONVERTERS.add(name, sorted([*others, row], key=lambda r: -r.since), override=True)


def rows(convert: Converter, names: str, since: int = 1, domain: str = "") -> None:
    """Rows of operators, whose names are a text, that one function converts."""
    converter(*names.split(), since=since, domain=domain)(convert)


def simple(name: str, *attributes: str, **fixed: Any) -> Converter:
    """A converter into one operator with the same operands; `attributes` are passed on, `a=b` under another name."""
    pairs = [(ours, theirs or ours) for ours, _, theirs in (a.partition("=") for a in attributes)]

    def convert(node: Node, *inputs: Value) -> Expr:
        return op(name, *inputs, **{ours: node.attr(theirs) for ours, theirs in pairs}, **fixed)

    return convert


def lookup(domain: str, name: str, version: int) -> Converter | None:
    """The converter of an operator in a version of its domain, None where there is none.

    `operators` fills the table when it is imported, which `graph.py` does.
    """
    table = CONVERTERS.get(f"{domain}.{name}" if domain else name, [])
    return next((row.convert for row in table if row.since <= version), None)


@cache
def _asks(convert: Converter) -> tuple[tuple[str, ...], bool]:
    """The inputs that a converter has as `Value`, "" for those that may be absent; whether all others are needed."""
    params = list(signature(convert).parameters.values())[1:]
    names = [p.name if p.annotation in ("Value", Value) and p.default is Parameter.empty else "" for p in params]
    several = bool(params) and params[-1].kind is Parameter.VAR_POSITIONAL
    return tuple(names[:-1] if several else names), several and bool(names[-1])


def absent_input(convert: Converter, inputs: Sequence[object]) -> str | None:
    """The name of an input that a converter needs and that is not there; None where all are."""
    names, all_others = _asks(convert)
    for i, name in enumerate(names):
        if name and (i >= len(inputs) or inputs[i] is None):
            return name
    rest = range(len(names), len(inputs)) if all_others else ()
    return next((f"number {i}" for i in rest if inputs[i] is None), None)


class Converters:
    """The table, with converters of a user's own before it: by an operator's name, `Foo` or `domain.Foo`.

    Those of plug-ins are in the table: their modules call `converter`.
    """

    def __init__(self, own: Mapping[str, Converter] | None = None):
        self._own = dict(own or {})
        OPERATORS.load()

    def lookup(self, domain: str, name: str, version: int) -> Converter | None:
        """The converter of an operator in a version of its domain, None where there is none."""
        return self._own.get(f"{domain}.{name}" if domain else name) or lookup(domain, name, version)
