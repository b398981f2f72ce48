"""Text for MLIR's readers that have IRDL descriptions of our dialects (`tirax-opt --print-irdl`).

A dialect that IRDL describes has no properties and no custom syntax: operations are printed generically, properties
among the attributes, and the text of a type or attribute of ours is one parameter: `!tir.buffer<unit, "[n, 8], f32">`.
Integers of xDSL without a type are in such a parameter, too: `#sym.builtin<unit, "#builtin.int<0>">`.
An operation that IRDL cannot describe is of another dialect, which is not registered: `"tirax.tir.load"`.
IRDL has no terminators either: an operation that is not registered ends each block, as MLIR lets it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import IO, Any, cast

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute, Block, BuiltinAttribute, Operation
from xdsl.irdl import OpDef, OptionalDef, VariadicDef, VarRegionDef

from .text import BLOCK_END, UNDESCRIBED
from .upstream_text import UpstreamPrinter, attribute_text

OWN = ("sym", "relax", "tir", "host", "sched")
"""The dialects that are ours."""
_AS_OPERATIONS = frozenset(("relax.shape",))
"""The types that have the name of an operation, which IRDL does not allow."""
_BODY = re.compile(r"[!#]?[\w.$]+<(.*)>", re.DOTALL)


def is_own(name: str) -> bool:
    """Return whether an operation, a type or an attribute of this name is of one of our dialects."""
    return name.partition(".")[0] in OWN


def described_name(name: str) -> str:
    """Return the name that a type or an attribute has in its description."""
    return f"{name}.type" if name in _AS_OPERATIONS else name


@cache
def is_described(kind: type[Operation]) -> bool:
    """Return whether IRDL can describe an operation: any number of operands have one type, regions have a number."""
    definition: OpDef = cast(Any, kind).get_irdl_definition()
    rows = [row for _, row in (*definition.operands, *definition.results)]
    if any(isinstance(row, VariadicDef) and not isinstance(row, OptionalDef) for row in rows):
        return False
    return not any(isinstance(row, VarRegionDef) for _, row in definition.regions)


class IRDLPrinter(UpstreamPrinter):
    """Prints operations of our dialects as IRDL describes them, and the others generically."""

    def __init__(self, stream: IO[str] | None = None, **options: Any):
        super().__init__(stream, generic=True, **options)
        self._name = ""
        """What an operation that IRDL cannot describe is called, until it is printed."""

    def print_op(self, op: Operation) -> None:
        outer = self._name
        self._name = f'"{op.name}"' if is_own(op.name) and not is_described(type(op)) else ""
        super().print_op(op)
        self._name = outer

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        if self._name and text == self._name:
            text, self._name = f'"{UNDESCRIBED}{text[1:]}', ""
        super().print_string(text, indent=indent)

    def print_op_with_default_format(self, op: Operation) -> None:
        self.print_properties_as_attributes = is_own(op.name)
        super().print_op_with_default_format(op)

    def print_regions(self, regions: Any) -> None:
        outer = self.print_properties_as_attributes  # of an operation whose regions have others
        super().print_regions(regions)
        self.print_properties_as_attributes = outer

    def print_block(self, block: Block, *options: Any, **others: Any) -> None:
        super().print_block(block, *options, **others)
        owner = block.parent_op()
        if owner is not None and is_own(owner.name):
            with self.indented():
                self._print_new_line()
                self.print_string(BLOCK_END)

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, IntAttr):
            self.print_string(f'#sym.builtin<unit, "{attribute_text(attribute)}">')
            return
        if isinstance(attribute, BuiltinAttribute) or not is_own(attribute.name):
            super().print_attribute(attribute)
            return
        text = attribute_text(attribute)
        self.print_string(text[0] + described_name(attribute.name))
        body = _BODY.fullmatch(text)
        if body is not None:
            self.print_string("<unit, ")
            self.print_string_literal(body[1])
            self.print_string(">")
