"""IRDL descriptions of our dialects, which MLIR's tools load: `--irdl-file`.

    irdl.operation @"tuple_get_item" {
      %0 = irdl.base "!builtin.tuple"
      irdl.operands(value: %0)
      %1 = irdl.any
      irdl.results(result: %1)

IRDL has no optional attributes and no relations of types: it describes what must be there, of which kind, and leaves
the rest open. `ir/irdl_text.py` says which operations it cannot describe.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import builtin
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    AllOf,
    AnyOf,
    BaseAttr,
    EqAttrConstraint,
    OpDef,
    OptionalDef,
    RangeLengthConstraint,
    RangeOf,
)

from ..ir.irdl_text import OWN, described_name, is_described, is_own
from ..ir.upstream_text import attribute_text

_NAMES: dict[type[Attribute], str] = {
    builtin.ArrayAttr: "#builtin.array",
    builtin.DictionaryAttr: "#builtin.dictionary",
    builtin.FloatAttr: "#builtin.float",
    builtin.IntegerAttr: "#builtin.integer",
    builtin.StringAttr: "#builtin.string",
    builtin.SymbolRefAttr: "#builtin.symbol_ref",
    builtin.UnitAttr: "#builtin.unit",
    builtin.FunctionType: "!builtin.function",
    builtin.IndexType: "!builtin.index",
    builtin.IntegerType: "!builtin.integer",
    builtin.TupleType: "!builtin.tuple",
}
"""The names that MLIR has for attributes and types of xDSL's `builtin`."""


def own_descriptions() -> str:
    """Return the descriptions of all dialects of ours."""
    from ..universe import full_universe

    makers = full_universe().all_dialects
    return "\n".join(description(makers[name]()) for name in OWN)


def description(dialect: Dialect) -> str:
    """Return the `irdl.dialect` of a dialect."""
    parts = [_attribute(a) for a in dialect.attributes]
    parts += [_BUILTIN] if dialect.name == "sym" else []
    parts += [_operation(o) for o in dialect.operations if is_described(o)]
    return f"irdl.dialect @{dialect.name} {{\n{''.join(parts)}}}\n"


_BUILTIN = """\
  irdl.attribute @"builtin" {
    %0 = irdl.is unit
    %1 = irdl.base "#builtin.string"
    irdl.parameters(form: %0, text: %1)
  }
"""
"""What holds an attribute of xDSL that MLIR does not have."""


class _Body:
    """The text of a description in the making. Each value is used once: all uses of one would have to be equal."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def value(self, text: str) -> str:
        self.lines.append(f"%{self._count} = irdl.{text}")
        self._count += 1
        return f"%{self._count - 1}"

    def constrained(self, constraint: Any) -> str:
        """Return the value of what IRDL can say of a constraint; the rest is any."""
        if isinstance(constraint, RangeOf | RangeLengthConstraint):
            return self.constrained(_inner(constraint))
        if isinstance(constraint, AllOf):
            constraint = next(filter(_is_said, constraint.attr_constrs), None)
        if not _is_said(constraint):
            return self.value("any")
        if isinstance(constraint, BaseAttr):
            return self.value(f"base {_base(cast('type[Attribute]', constraint.attr))}")
        if isinstance(constraint, EqAttrConstraint):
            return self.value(f"is {attribute_text(cast(Attribute, constraint.attr))}")
        options = [self.constrained(c) for c in constraint.attr_constrs]
        return self.value(f"any_of({', '.join(options)})")

    def text(self, kind: str, name: str) -> str:
        inside = "".join(f"    {line}\n" for line in self.lines)
        return f'  irdl.{kind} @"{name}"' + (f" {{\n{inside}  }}\n" if inside else "\n")


def _inner(constraint: Any) -> Any:
    return constraint.constr if isinstance(constraint, RangeOf) else constraint.constraint


def _base(kind: type[Attribute]) -> str:
    if kind in _NAMES:
        return f'"{_NAMES[kind]}"'
    dialect, _, name = described_name(kind.name).partition(".")
    return f'@{dialect}::@"{name}"'


def _is_said(constraint: Any) -> bool:
    """Return whether IRDL can say what a constraint requires."""
    if isinstance(constraint, AnyOf):
        return all(_is_said(c) for c in constraint.attr_constrs)
    if isinstance(constraint, AllOf):
        return any(_is_said(c) for c in constraint.attr_constrs)
    if isinstance(constraint, EqAttrConstraint):
        return not is_own(cast(Attribute, constraint.attr).name)
    if not isinstance(constraint, BaseAttr):
        return False
    kind = cast("type[Attribute]", constraint.attr)
    return kind in _NAMES or is_own(getattr(kind, "name", ""))


def _attribute(kind: type[Attribute]) -> str:
    """Return the description of a type or an attribute, which has its text as a parameter, or none."""
    body = _Body()
    if not issubclass(kind, ParametrizedAttribute) or kind.get_irdl_definition().parameters:
        form, text = body.value("is unit"), body.value('base "#builtin.string"')
        body.lines.append(f"irdl.parameters(form: {form}, text: {text})")
    word = "type" if issubclass(kind, TypeAttribute) else "attribute"
    return body.text(word, described_name(kind.name).partition(".")[2])


def _operation(kind: type[Operation]) -> str:
    definition: OpDef = cast(Any, kind).get_irdl_definition()
    body = _Body()
    for word, rows in (("operands", definition.operands), ("results", definition.results)):
        if rows:
            parts = [
                f"{name}: {'optional ' * isinstance(row, OptionalDef)}{body.constrained(row.constr)}"
                for name, row in rows
            ]
            body.lines.append(f"irdl.{word}({', '.join(parts)})")
    rows = (*definition.properties.items(), *definition.attributes.items())
    required = [(name, row) for name, row in rows if not isinstance(row, OptionalDef)]
    if required:
        parts = [f'"{name}" = {body.constrained(row.constr)}' for name, row in required]
        body.lines.append(f"irdl.attributes {{{', '.join(parts)}}}")
    if definition.regions:
        parts = [f"{name}: {body.value('region')}" for name, _ in definition.regions]
        body.lines.append(f"irdl.regions({', '.join(parts)})")
    return body.text("operation", kind.name.partition(".")[2])
