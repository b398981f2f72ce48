"""Generate docs/reference/operators.md, dialects.md and a page for each dialect."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from xdsl.dialects.builtin import ArrayOfConstraint
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import (
    AnyAttr,
    AnyOf,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    OpDef,
    RangeLengthConstraint,
    RangeOf,
    VarConstraint,
)
from xdsl.traits import HasParent, OpTrait

from ...dialects.dtypes import dtype_name
from ...dialects.relax import OPERATORS
from ...dialects.relax.composite import COMPOSITES
from ...dialects.relax.operator import Operator
from ...dialects.sched import Instruction
from ...dialects.xdsl_extras.forms import PlainOp
from ...handles.relax.calls import operator_function
from ...schedule.registry import PRIMITIVES
from ...universe import EXTENDED, TIRAX_UNIVERSE, full_universe
from .examples import example
from .markdown import NOTE, anchor, first_paragraph, own_doc, row, table
from .syntax import syntax

_HEAD = """\
A page for each dialect, and one for [Relax's operators](operators.md). On them `?` may be absent, `*` is any number.
The examples are out of whole programs, which a test reads and verifies: for instance [tir.mlir](examples/tir.mlir).
"""

_OF_TABLES = frozenset(("affine", "bufferization", "linalg", "memref", "tosa", "vector"))
DIALECTS = (*TIRAX_UNIVERSE.all_dialects, *(name for name in EXTENDED if name not in _OF_TABLES))
"""The dialects that the package defines, and those that it extends by more than rows of a table."""


def operators() -> str:
    """Return the page of Relax operators: a table, and a section for each."""
    lines = [
        NOTE,
        "# Relax operators\n",
        "Each is a function of `R`, and of `relax.op`, by the name behind `relax.`.\n",
    ]
    lines += table(("operator", "meaning"), (_index_row(name, cls) for name, cls in _operators()))
    lines += ["", "Functions that stand for several operators:\n"]
    lines += table(("function", "meaning"), (_composite_row(name) for name in sorted(COMPOSITES)))
    for _, cls in _operators():
        lines += section(cls)
    return "\n".join(lines) + "\n"


def dialects() -> str:
    """Return the overview of dialects with links to their pages."""
    lines = [NOTE, "# Dialects\n", _HEAD]
    rows = ((f"[{n}](dialects/{n}.md)", str(len(operations_of(n))), first_paragraph(_module(n))) for n in DIALECTS)
    return "\n".join([*lines, *table(("dialect", "operations", "what it is"), rows), ""])


def dialect(name: str) -> str:
    """Return the page of a dialect's types, attributes and operations; Relax operators have a separate page."""
    lines = [NOTE, f"# The dialect `{name}`\n", f"{inspect.cleandoc(own_doc(_module(name)))}\n"]
    attributes = [a for a in _dialect(name).attributes if a.__module__.startswith("tirax.")]
    if attributes:
        lines += ["## Types and attributes\n"]
        lines += table(("name", "meaning"), ((f"`{a.name}`", first_paragraph(a)) for a in attributes))
        lines += [""]
    ops = operations_of(name)
    lines += ["## Operations\n", *table(("operation", "meaning"), (_index_row(op.name, op) for op in ops))]
    for op in ops:
        lines += section(op)
    return "\n".join(lines) + "\n"


def _operators() -> list[tuple[str, Any]]:
    """Return the operators without those that only programs of TVM use."""
    return [(n, cls) for n, cls in sorted(OPERATORS.items()) if not cls.__module__.startswith("tirax.tvm_api.")]


def operations_of(name: str) -> list[type[Any]]:
    """Return the operations of a dialect without operators and those of plug-ins."""
    ops: list[Any] = [
        op for op in _dialect(name).operations if name not in EXTENDED or op.__module__.startswith("tirax.")
    ]
    return sorted((op for op in ops if op.name not in OPERATORS and _is_ours(op)), key=lambda op: op.name)


def _dialect(name: str) -> Dialect:
    return full_universe().all_dialects[name]()


def _is_ours(op: type[Any]) -> bool:
    if issubclass(op, PlainOp) or "name" not in vars(op):  # for MLIR's text alone: docs/mlir_operations.md
        return False
    return not issubclass(op, Instruction) or PRIMITIVES[op.SPEC.name].function.__module__.startswith("tirax.")


def _module(name: str) -> Any:
    """Return the module that defines a dialect."""
    from importlib import import_module

    places = {"sym": "sym", "relax": "relax", "tir": "tir", "host": "host", "sched": "sched"}
    return import_module(f"...dialects.{places.get(name) or f'xdsl_extras.{name}_extras'}", __package__)


def _index_row(name: str, op: type[Any]) -> tuple[str, str]:
    return f"[`{name}`](#{anchor(name)})", first_paragraph_of(op)


def _composite_row(name: str) -> tuple[str, str]:
    return f"`{name.removeprefix('relax.')}{inspect.signature(operator_function(name))}`", first_paragraph(
        COMPOSITES[name]
    )


def first_paragraph_of(op: type[Any]) -> str:
    """Return the first paragraph of an operation's documentation: of its primitive, its own, or its base class's."""
    described = PRIMITIVES[op.SPEC.name].function if issubclass(op, Instruction) else op
    return first_paragraph(described) or next(p for c in op.__mro__ if (p := first_paragraph(c)))


def _description(op: type[Any]) -> str:
    described = PRIMITIVES[op.SPEC.name].function if issubclass(op, Instruction) else op
    return _spaced_code(inspect.cleandoc(own_doc(described))) or first_paragraph_of(op)


def _spaced_code(text: str) -> str:
    """Return a docstring as Markdown, with blank lines around indented code."""
    lines: list[str] = []
    for line in text.splitlines():
        if lines and line.strip() and lines[-1].strip() and line.startswith("    ") != lines[-1].startswith("    "):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def section(op: type[Any]) -> list[str]:
    """Return the section of one operation."""
    lines = ["", f"## `{op.name}`\n" if issubclass(op, Operator) else f"### `{op.name}`\n", _description(op), ""]
    if issubclass(op, Operator):
        function = f"R.{op.name.removeprefix('relax.')}{inspect.signature(operator_function(op.name))}"
        lines += ["```text", function, "```", ""]
    lines += ["```text", syntax(op) or "", "```", ""]
    lines += [f"- {title}: {', '.join(rows)}" for title, rows in _parts(op) if rows]
    text = example(op.name)
    return [*lines, "", "```mlir", text, "```"] if text else lines


def _parts(op: type[Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield operands, attributes, results, regions and traits, formatted."""
    definition: OpDef = op.get_irdl_definition()
    is_operator = issubclass(op, Operator)
    yield "operands", _operands(op) if is_operator else [_shown(n, d) for n, d in definition.operands]
    yield "attributes", _operator_attributes(op) if is_operator else [_shown(n, d) for n, d in _attributes(definition)]
    yield "results", [_shown(n, d) for n, d in definition.results]
    yield "regions", [f"`{n}{_mark(d)}`" for n, d in definition.regions]
    yield "traits", sorted(f"`{_trait(t)}`" for t in (op.traits.traits if op.traits is not None else ()))


def _operands(op: type[Operator]) -> list[str]:
    domains = op.DOMAINS
    names = ((name, name.rstrip("*?")) for name in op.ARG_NAMES)
    texts = ((name, domains.get(plain) or domains.get("*")) for name, plain in names)
    return [f"`{name}`" + (f" ({domain.text})" if domain else "") for name, domain in texts]


def _operator_attributes(op: type[Operator]) -> list[str]:
    rows = ((name, spec.expected(), _default(spec.default)) for name, spec in op.ATTR_SPECS.items())
    return [f"`{name} = {default}`" + (f" ({expected})" if expected else "") for name, expected, default in rows]


def _default(default: Any) -> str:
    """Return an attribute's default as text; a data type by its name."""
    return repr(dtype_name(default) if isinstance(default, Attribute) else default)


def _attributes(definition: OpDef) -> list[tuple[str, Any]]:
    named: dict[str, Any] = {**definition.properties, **definition.attributes}
    return [(name, part) for name, part in named.items() if not name.endswith("SegmentSizes")]


def _shown(name: str, part: Any) -> str:
    text = _constraint(part.constr)
    return f"`{name}{_mark(part)}`" + (f" (`{text}`)" if text else "")


def _mark(part: Any) -> str:
    return "?" if "Opt" in type(part).__name__ else "*" if "Var" in type(part).__name__ else ""


def _constraint(constraint: Any) -> str:
    """Return a constraint as text; empty if it accepts anything."""
    match constraint:
        case RangeLengthConstraint():
            return _constraint(constraint.constraint)
        case RangeOf():
            return _constraint(constraint.constr)
        case VarConstraint():
            return _constraint(constraint.constraint) or constraint.name
        case BaseAttr():
            return constraint.attr.name
        case EqAttrConstraint():
            return str(constraint.attr)
        case AnyOf():
            return " or ".join(_constraint(c) for c in constraint.attr_constrs)
        case ArrayOfConstraint():
            return f"{_constraint(constraint.elem_range_constraint) or 'anything'}*"
        case AnyAttr():
            return ""
        case _:
            return ""


def _trait(trait: OpTrait) -> str:
    name = type(trait).__name__.lstrip("_")
    return f"{name}({', '.join(t.name for t in trait.op_types)})" if isinstance(trait, HasParent) else name


__all__ = ["DIALECTS", "IRDLOperation", "dialect", "dialects", "operators", "row", "section"]
