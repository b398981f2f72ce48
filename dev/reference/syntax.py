"""The syntax of operations, from their parsers and printers, or from docstrings if those are code."""

from __future__ import annotations

import inspect
import re
from typing import Any

from xdsl.irdl import IRDLOperation

from ...dialects.assembly import FormattedOp
from ...dialects.relax.operator import Operator
from ...dialects.sched import Instruction
from .markdown import own_doc


def syntax(op: type[IRDLOperation]) -> str | None:
    """Return the syntax of an operation: `…` repeats, `( … )?` is optional. None if it is not documented."""
    if issubclass(op, Operator):
        return _of_operator(op)
    if issubclass(op, Instruction):
        return _of_instruction(op)
    if issubclass(op, FormattedOp):
        return _results(op) + op.name + "".join(p if isinstance(p, str) else p.syntax for p in op.FORMAT)
    declared = op.get_irdl_definition().assembly_format
    return _of_format(op, str(declared)) if declared is not None else _documented(op)


def _of_operator(op: type[Operator]) -> str:
    parts: list[str] = []
    for name in op.ARG_NAMES:
        plain = name.rstrip("*?")
        value = f"(%{plain}, …)" if "*" in name else f"%{plain}"
        comma = ", " if parts else " "
        parts.append(f"({comma}{plain} = {value})?" if name.endswith("?") else comma + value)
    attrs = ", ".join(f"{name} = …" for name in op.ATTR_SPECS)
    return f"%y = {op.name}{''.join(parts)}{f' ({{{attrs}}})?' if attrs else ''} : T"


def _of_instruction(op: type[Instruction]) -> str:
    spec = op.SPEC
    letter = spec.result.value.removesuffix("s")
    more = ", …" if spec.result.many else ""
    results = f"%{letter[0]}{more} = " if letter else ""
    parameters = ", ".join(f"{p} = …" for p in spec.params)
    decision = "( decision …)?" if spec.samples else ""
    return f"{results}{op.name}({parameters}){decision}{f' : {letter}{more}' if letter else ''}"


def _of_format(op: type[IRDLOperation], text: str) -> str:
    definition = op.get_irdl_definition()
    regions = {name for name, _ in definition.regions}

    def part(match: re.Match[str]) -> str:
        name = match[1]
        if name in regions:
            return "{…}"
        kind = str(definition.properties[name].constr) if name in definition.properties else None
        return f"%{name}" if kind is None else f"@{name}" if "SymbolRef" in kind else f'"{name}"'

    text = re.sub(r"`([^`]*)`", r"\1", re.sub(r"type\(\$(\w+)\)", r"T(\1)", text))
    text = re.sub(r"\$(\w+)\^?", part, text).replace("attr-dict", "({…})?").replace(" ,", ",")
    return f"{_results(op)}{op.name} {text}"


def _results(op: type[IRDLOperation]) -> str:
    names = [f"%{name}" for name, _ in op.get_irdl_definition().results]
    return f"{', '.join(names)} = " if names else ""


def _documented(op: type[Any]) -> str | None:
    """Return the code block in the docstring of an operation or its base class."""
    prefix = op.name.partition(".")[0]
    for cls in op.__mro__:
        doc = inspect.cleandoc(own_doc(cls))
        indented = [block for block in re.findall(r"(?:^ {4}.*\n?)+", doc, re.MULTILINE) if f"{prefix}." in block]
        spans = [" ".join(span.split()) for span in re.findall(rf"`([^`]*\b{prefix}\.\w[^`]*)`", doc)]
        spans = [span for span in spans if op.name in span or cls is not op]
        shown = [inspect.cleandoc(indented[0])] if indented else spans[:1]
        if shown:
            return shown[0] if cls is op else re.sub(rf"\b{prefix}\.\w+", op.name, shown[0])
    return None
