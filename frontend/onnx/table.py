"""The table of converters: which function converts an ONNX operator, from which version on.

How to write a row (in the files of `operators/`, one for each family):

    rows(simple("nn.relu"), "Relu")                     # y = relax.nn.relu(x); for plain operators of any version

    @converter("Softmax", since=13)                     # opset 13 and later, until a row with a higher `since`
    def softmax(node: Node, x: Value) -> Expr:
        return op("nn.softmax", x, axis=node.attr("axis"))

    @converter("Gelu", domain=MICROSOFT)                # a contrib operator

- **Inputs** are passed by position as `Value`; an absent one is None, so declare a default: `bias: Value | None =
  None`. `*xs: Value` accepts any number. A `Value` can be passed to `op(…)` directly. `x.dims` (symbolic
  expressions), `x.rank` and `x.dtype` are known or raise; `x.array` is a constant's contents or None; `x.elements`
  are the integers of a small tensor as expressions (a shape, axes, pads), constant or not, or None if they are
  computed at run time.
- **Attributes**: `node.attr("axis")` is the attribute, or the default of ONNX's schema, or None;
  `node.attr("epsilon", 1e-5)` has an explicit default (contrib operators have no schema). Tensors are arrays,
  strings are `str`.
- **Attributes that became inputs** in later versions: `node.ints("axes", axes)` reads the input if present, else
  the attribute; it refuses values that are not known at import. `node.extents(value)` returns a shape as
  expressions, even if it is computed at run time (as new symbolic sizes, which are checked).
- **Results** are an expression, a `Value`, or a tuple of them for several outputs. The importer binds unbound
  results: `emit` is only needed for values used by several outputs, which `node.emit(expr)` binds once.
  `node.outputs` are the names of the outputs, "" for unused ones.
- **Constants** need no special care: results whose operands are all small constants are folded at import, and
  integers of shapes are evaluated before the converter is called (`shape_arithmetic.py`).
- **Tensor functions**, if Relax has no operator: `node.call_te(function, x, …)` with `te` or topi.
- **Unsupported cases**: `raise node.unsupported("why")`; errors in the model: `raise node.error("what", expected=…,
  found=…)`. Errors of operators (shapes, dtypes) get the node's name automatically.
- **External converters**: a plug-in (docs/extending) has rows in its own module; `from_onnx(…, custom_convert_map={
  "my.domain.Foo": convert})` takes functions of the same form, which take precedence over the table.
- An operator without a row is expanded through its function body, if ONNX or the model has one: write a row only if
  the body is slow, hides a pattern that a fast kernel matches, or uses unsupported operators.
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
"""Maps a node and its inputs to its outputs."""


@dataclass(frozen=True)
class Row:
    """A converter for the versions of an operator from `since` on."""

    since: int
    convert: Converter


CONVERTERS: Table[list[Row]] = Table("converter")
"""The rows of each operator, `Foo` or `domain.Foo`, newest version first."""


def converter(*names: str, since: int = 1, domain: str = "") -> Callable[[Converter], Converter]:
    """Return a decorator that registers a converter of operators, for versions of the domain from `since` on."""

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
    """Register one converter for the operators in `names`, separated by spaces."""
    converter(*names.split(), since=since, domain=domain)(convert)


def simple(name: str, *attributes: str, **fixed: Any) -> Converter:
    """Return a converter to one operator with the same operands; `attributes` are copied, `a=b` under another name."""
    pairs = [(ours, theirs or ours) for ours, _, theirs in (a.partition("=") for a in attributes)]

    def convert(node: Node, *inputs: Value) -> Expr:
        return op(name, *inputs, **{ours: node.attr(theirs) for ours, theirs in pairs}, **fixed)

    return convert


def lookup(domain: str, name: str, version: int) -> Converter | None:
    """Return the converter of an operator in a version of its domain, or None if there is none.

    The table is filled when `operators` is imported, which `graph.py` does.
    """
    table = CONVERTERS.get(f"{domain}.{name}" if domain else name, [])
    return next((row.convert for row in table if row.since <= version), None)


@cache
def _asks(convert: Converter) -> tuple[tuple[str, ...], bool]:
    """Return the inputs that a converter takes as `Value` ("" for optional ones), and whether all others are
    required.
    """
    params = list(signature(convert).parameters.values())[1:]
    names = [p.name if p.annotation in ("Value", Value) and p.default is Parameter.empty else "" for p in params]
    several = bool(params) and params[-1].kind is Parameter.VAR_POSITIONAL
    return tuple(names[:-1] if several else names), several and bool(names[-1])


def absent_input(convert: Converter, inputs: Sequence[object]) -> str | None:
    """Return the name of a required input that is absent, or None."""
    names, all_others = _asks(convert)
    for i, name in enumerate(names):
        if name and (i >= len(inputs) or inputs[i] is None):
            return name
    rest = range(len(names), len(inputs)) if all_others else ()
    return next((f"number {i}" for i in rest if inputs[i] is None), None)


class Converters:
    """The table, preceded by the user's converters, which are found by operator name, `Foo` or `domain.Foo`.

    Converters of plug-ins are in the table: their modules call `converter`.
    """

    def __init__(self, own: Mapping[str, Converter] | None = None):
        self._own = dict(own or {})
        OPERATORS.load()

    def lookup(self, domain: str, name: str, version: int) -> Converter | None:
        """Return the converter of an operator in a version of its domain, or None if there is none."""
        return self._own.get(f"{domain}.{name}" if domain else name) or lookup(domain, name, version)
