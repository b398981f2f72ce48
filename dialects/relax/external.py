"""Results of code generators, as an attribute of a module: `#relax.external_mods<"fused_lib">`.

It holds Python objects. They print by name, but cannot be parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from xdsl.ir import Data, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

EXTERNAL_MODS = "external_mods"
"""The attribute of a module that holds an `ExternalModsAttr`."""


class ExternalFunctions(Mapping[str, Callable[..., Any]]):
    """Callables in destination passing form, by name. Tables are compared by identity."""

    __slots__ = ("_functions",)

    def __init__(self, functions: Mapping[str, Callable[..., Any]]):
        self._functions = dict(functions)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


@irdl_attr_definition
class ExternalModsAttr(Data[ExternalFunctions]):
    """The functions that take precedence for `call_dps_packed` in a module."""

    name = "relax.external_mods"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ExternalFunctions:
        parser.raise_error("external modules are objects of a running program: they cannot be read from text")

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_list(self.data, printer.print_string_literal)


def external_functions(module: Operation) -> Mapping[str, Callable[..., Any]]:
    """Return the functions compiled by code generators for a module, by name."""
    modules = module.attributes.get(EXTERNAL_MODS)
    return modules.data if isinstance(modules, ExternalModsAttr) else {}
